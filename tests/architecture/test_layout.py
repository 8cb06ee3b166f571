"""The tree, pyproject, the topic table and the documents say the same."""

import re
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.service_contracts import IndependentServices, LayeredServices
from tests.architecture.test_repository import tracked
from vc.cli.pyroclast.services import SERVICES
from vc.messages import topics
from vc.messages.job_plugins import JOB_PLUGINS

ROOT = Path(__file__).parents[2]
README_LINES_MAX = 40
ENGINE_IN_A_LIBRARY = "scheduler"
"""Its decisions are `vc.scheduling`: the dashboard, vcctl and benches run them too."""


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def contracts() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pyproject()["tool"]["importlinter"]["contracts"]
    return found


def package_of(service: str) -> str:
    return "vc." + service.replace("-", "_")


def folder_of(service: str) -> Path:
    return ROOT / "services" / service / package_of(service).replace(".", "/")


def folders() -> list[str]:
    return sorted(path.name for path in (ROOT / "services").iterdir() if path.is_dir())


def libraries() -> list[str]:
    return sorted(path.name for path in (ROOT / "libs/vc").iterdir() if path.is_dir())


def test_the_table_of_services_has_every_service() -> None:
    assert sorted(SERVICES) == folders()
    assert all(SERVICES[name] == package_of(name) for name in folders())


LISTS = {
    "deploy/helm/pyroclast/services.yaml": "the table of services: part, addresses, rights",
    "libs/vc/messages/access.py": "for a service: what it reads on the bus and in the cache",
    "libs/vc/messages/job_plugins.py": "for a job plugin: its flags",
}
"""The lists that a new service or plugin is added to; CONTRIBUTING.md names the same."""
WRITTEN_BY_MAKE = (
    "docker-compose.yml",
    "deploy/helm/pyroclast/acls/",
    "deploy/manifests/",
)
CHECKED_DOCUMENTS = (".md", ".txt")
"""Documents describe the service; tests compare their tables."""


@pytest.mark.parametrize(
    ("service", "also_in"),
    [
        ("usage-ledger", "libs/vc/messages/access.py"),
        ("plugin-mpi", "libs/vc/messages/job_plugins.py"),
        ("plugin-tensorflow", "libs/vc/messages/job_plugins.py"),
    ],
)
def test_a_service_is_in_two_lists_outside_its_folder(service: str, also_in: str) -> None:
    """No other file names it, except its tests, documents, and what `make` writes."""
    anywhere = re.compile(rf"\b({service}|{package_of(service)})\b")
    in_code = re.compile(
        rf"[\"']{service}[\"']|^ *(from|import) {package_of(service)}\b", re.MULTILINE
    )
    naming = set()
    for path in tracked():
        name = str(path.relative_to(ROOT))
        is_apart = name.startswith(("tests/", f"services/{service}/", *WRITTEN_BY_MAKE))
        if is_apart or name.endswith(CHECKED_DOCUMENTS) or not path.is_file():
            continue
        # Docstrings and comments may mention a service; lists and imports are code.
        names = in_code if path.suffix == ".py" else anywhere
        if names.search(path.read_text(errors="replace")):
            naming.add(name)
    assert naming - set(LISTS) - PRODUCERS == set()
    assert "deploy/helm/pyroclast/services.yaml" in naming
    # The table of plugins has their names without the prefix.
    assert (also_in in naming) or service.removeprefix("plugin-") in JOB_PLUGINS


PRODUCERS = {"libs/vc/messages/topics.py"}
"""A topic names its producer: a new topic is declared there, not a new service."""


def test_contributing_names_the_lists_and_no_other() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.split("## Lists that name services")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)) == set(LISTS)


def test_every_folder_of_services_is_installed_with_its_command() -> None:
    """By hatch_build.py, which finds them without a list."""
    commands = {point.name: point.value for point in entry_points(group="console_scripts")}
    for service in folders():
        assert commands[f"vc-{service}"] == f"{package_of(service)}.__main__:main"


def test_contracts_cover_every_service() -> None:
    (independent,) = [c for c in contracts() if c["name"].startswith("Services never")]
    (layers,) = [c for c in contracts() if c["name"].startswith("Low never")]
    found: Any = IndependentServices("", {}, {"modules": independent["modules"]})
    assert {m.expression for m in found.modules} == {package_of(s) for s in folders()}
    layered: Any = LayeredServices("", {}, {k: layers[k] for k in ("layers", "containers")})
    placed = {tail.name for layer in layered.layers for tail in layer.module_tails}
    assert {package_of(s).removeprefix("vc.") for s in folders()} <= placed


def test_every_library_is_packaged_and_has_a_layer() -> None:
    project = pyproject()
    assert "libs/vc" in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert project["tool"]["importlinter"]["root_package"] == "vc"
    (layers,) = [c for c in contracts() if c["name"].startswith("Low never")]
    placed = {name for layer in layers["layers"] for name in layer.split(" | ")}
    assert set(libraries()) <= placed


@pytest.mark.parametrize("root", ["libs", *(f"services/{name}" for name in folders())])
def test_the_one_import_root_is_a_namespace(root: str) -> None:
    """An `__init__.py` in one of them would hide all others."""
    assert not (ROOT / root / "vc" / "__init__.py").exists()


def test_the_rules_for_logic_cover_every_service() -> None:
    (logic,) = [c for c in contracts() if c["name"].startswith("Decision logic")]
    assert set(logic["source_modules"]) == {
        "vc.scheduling",
        "vc.jobs",
        "vc.validation",
        "vc.*.logic",
    }


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
