"""The tree, pyproject, the topic table and the documents say the same."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from vc.cli.pyroclast.services import SERVICES
from vc.messages import topics

ROOT = Path(__file__).parents[2]
README_LINES_MAX = 40
ENGINE_IN_A_LIBRARY = "scheduler"
"""Its decisions are `vc.scheduling`: the dashboard, vcctl and benches run them too."""


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def package_of(service: str) -> str:
    return "vc." + service.replace("-", "_")


def folder_of(service: str) -> Path:
    return ROOT / "services" / service / package_of(service).replace(".", "/")


def folders() -> list[str]:
    return sorted(path.name for path in (ROOT / "services").iterdir() if path.is_dir())


def libraries() -> list[str]:
    return sorted(path.name for path in (ROOT / "libs/vc").iterdir() if path.is_dir())


def test_the_command_line_knows_every_service() -> None:
    assert sorted(SERVICES) == folders()
    assert all(SERVICES[name] == package_of(name) for name in folders())


def test_every_service_has_its_script_its_package_and_its_place_on_the_path() -> None:
    project = pyproject()
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    editable = project["tool"]["hatch"]["build"]["dev-mode-dirs"]
    types = project["tool"]["mypy"]["mypy_path"].split(":")
    for service in folders():
        package = package_of(service)
        assert project["project"]["scripts"][f"vc-{service}"] == f"{package}.__main__:main"
        assert f"services/{service}/vc" in wheel
        assert f"services/{service}" in editable
        assert f"services/{service}" in types


def test_every_library_is_packaged_and_has_a_layer() -> None:
    project = pyproject()
    assert "libs/vc" in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert project["tool"]["importlinter"]["root_package"] == "vc"
    (layers,) = [
        c for c in project["tool"]["importlinter"]["contracts"] if c["name"].startswith("Low never")
    ]
    placed = {name for layer in layers["layers"] for name in layer.split(" | ")}
    assert set(libraries()) <= placed


@pytest.mark.parametrize("root", ["libs", *(f"services/{name}" for name in folders())])
def test_the_one_import_root_is_a_namespace(root: str) -> None:
    """An `__init__.py` in one of them would hide all others."""
    assert not (ROOT / root / "vc" / "__init__.py").exists()


def test_the_rules_for_logic_cover_every_service() -> None:
    contracts = pyproject()["tool"]["importlinter"]["contracts"]
    (logic,) = [c for c in contracts if c["name"].startswith("Decision logic")]
    expected = {f"{package_of(s)}.logic" for s in folders() if s != ENGINE_IN_A_LIBRARY}
    assert set(logic["source_modules"]) == expected | {"vc.scheduling", "vc.jobs", "vc.validation"}


@pytest.mark.parametrize("service", folders())
def test_a_service_has_the_modules_of_its_shape(service: str) -> None:
    package = folder_of(service)
    for module in ("__init__.py", "__main__.py", "config.py", "service.py"):
        assert (package / module).is_file(), f"{service} lacks {module}"
    has_logic = (package / "logic.py").is_file() or (package / "logic" / "__init__.py").is_file()
    assert has_logic is (service != ENGINE_IN_A_LIBRARY)


@pytest.mark.parametrize("service", folders())
def test_a_service_readme_is_short_and_begins_with_what_it_reads_and_writes(service: str) -> None:
    lines = (ROOT / "services" / service / "README.md").read_text().splitlines()
    assert lines[0].startswith("reads: ")
    assert lines[1].startswith("writes: ")
    assert len(lines) <= README_LINES_MAX


def _concrete(topic: topics.Topic) -> str:
    """The way documents write a topic's name."""
    if topic in topics.FACTS:
        return "cluster.<kind>"
    return re.sub(r"plugin\.\w+\.requests", "plugin.<name>.requests", topic.name)


def _rows() -> dict[str, list[str]]:
    """The topic table of ARCHITECTURE.md, by name."""
    section = (ROOT / "ARCHITECTURE.md").read_text().split("## Topics")[1].split("\n## ")[0]
    rows: dict[str, list[str]] = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0].startswith("`"):
            rows[cells[0].strip("`")] = cells[1:]
    return rows


def test_the_architecture_names_every_topic_and_no_other() -> None:
    assert set(_rows()) == {_concrete(topic) for topic in topics.ALL}


@pytest.mark.parametrize("topic", topics.ALL, ids=lambda topic: topic.name)
def test_the_architecture_says_of_a_topic_what_the_code_says(topic: topics.Topic) -> None:
    key, policy, producer, consumers = _rows()[_concrete(topic)]
    if topic not in topics.FACTS:
        assert key == topic.key
    assert policy.startswith("compacted" if topic.compacted else "delete")
    if not topic.compacted:
        days = topic.retention_seconds // 86_400
        assert policy == f"delete, {days} day" + ("s" if days > 1 else "")
    assert producer == topic.producer
    plain = [re.sub(r"plugin-\w+", "plugin-<name>", c) for c in topic.consumers]
    assert consumers.split(", ") == plain


def _head(service: str, line: int) -> str:
    return (ROOT / "services" / service / "README.md").read_text().splitlines()[line]


@pytest.mark.parametrize("topic", topics.ALL, ids=lambda topic: topic.name)
def test_the_readme_of_a_producer_and_of_a_named_consumer_mentions_the_topic(
    topic: topics.Topic,
) -> None:
    written = re.escape(topic.name) if topic not in topics.FACTS else r"cluster\.\*"
    pattern = (
        rf"`({written}|plugin\.<name>\.requests)`" if "requests" in topic.name else f"`{written}`"
    )
    producers = {
        "everyone": [],
        "plugins": [s for s in folders() if s.startswith("plugin-")],
    }.get(topic.producer, [topic.producer])
    for service in producers:
        assert re.search(pattern, _head(service, 1)), f"{service} writes {topic.name}"
    for service in topic.consumers:
        if service in folders():
            assert re.search(pattern, _head(service, 0)), f"{service} reads {topic.name}"
