"""The examples run on a real cluster: their images are public, and the documents name the same ones."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))

PUBLIC_IMAGES = {
    "apache/spark:3.5.3": ("/opt/spark/bin/spark-submit",),
    "busybox:1.36.1": ("sleep",),
    "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime": ("/bin/bash",),
    "volcanosh/example-mpi:0.0.3": ("/bin/sh",),
}
"""Reviewed: images on Docker Hub that public projects use under this tag and with these programs. Tests
pull nothing: a new image is reviewed the same way before it is added here."""


def documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def containers(path: Path) -> Iterator[dict[str, Any]]:
    for document in documents(path):
        for task in document["spec"].get("tasks", []) if document["kind"] == "Job" else []:
            spec = task["template"]["spec"]
            yield from [*spec["containers"], *spec.get("initContainers", [])]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_image_is_public_and_has_the_command(path: Path) -> None:
    for container in containers(path):
        programs = PUBLIC_IMAGES.get(container["image"])
        assert programs is not None, f"{container['image']} is not on the reviewed list"
        assert container["command"][0] in programs, "an image need not do what the example means"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_readme_names_the_images_of_each_file(path: Path) -> None:
    readme = (ROOT / "examples" / "README.md").read_text()
    [row] = [line for line in readme.splitlines() if line.startswith(f"| `{path.name}`")]
    named = set(re.findall(r"`([^`\s|]+:[^`\s|]+)`", row))
    assert named == {container["image"] for container in containers(path)}


def test_every_reviewed_image_is_used() -> None:
    used = {container["image"] for path in EXAMPLES for container in containers(path)}
    assert used == set(PUBLIC_IMAGES)


def test_a_script_uses_only_variables_that_both_modes_give() -> None:
    """`VC_<TASK>_HOST` is ours alone; `VC_<TASK>_HOSTS` is Volcano's."""
    for path in EXAMPLES:
        assert not re.findall(r"VC_[A-Z_]+_HOST\b", path.read_text()), path.name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_no_script_is_expanded_by_kubernetes_by_accident(path: Path) -> None:
    """Kubernetes puts variables into `$(NAME)`; a shell would run a program there."""
    for container in containers(path):
        words = [*container["command"], *container.get("args", [])]
        assert not any("$(" in word for word in words)
