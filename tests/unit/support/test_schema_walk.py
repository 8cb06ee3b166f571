"""Every field, key and argument has an answer, and every answer has a field.

These tests walk the schemas, the code and the registries. They name what has no entry in the table
(`vc.model.support`), and entries whose field is gone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.unit.support.schemas import (
    UPSTREAM_ACTIONS,
    UPSTREAM_ARGUMENTS,
    UPSTREAM_KEYS,
    UPSTREAM_PLUGINS,
    UPSTREAM_SWITCHES,
    all_fields,
    keys_in_code,
    kinds,
)
from vc.model.support import ENTRIES, Entry
from vc.model.support.answers import always
from vc.model.support.configuration import (
    ABSENT_ACTIONS,
    ABSENT_PLUGINS,
    EFFECTIVE_SWITCHES,
    IDLE_SWITCHES,
    OTHER_NAMES,
    OWN_ACTIONS,
    OWN_PLUGINS,
    known_arguments,
)
from vc.scheduling import actions, plugins

KINDS = tuple(kinds())


def answers_to(kind: str, path: str) -> list[Entry]:
    """The entry of the path itself, else the nearest above it that answers for what lies below."""
    entries = {entry.path: entry for entry in ENTRIES if entry.scope == kind}
    for exact in (path, path.removesuffix("[]")):
        if exact in entries:
            return [entries[exact]]
    steps = path
    while steps:
        steps = steps.rpartition(".")[0] if "." in steps else ""
        for above in (steps, steps.removesuffix("[]").removesuffix("{}")):
            if above in entries and entries[above].below:
                return [entries[above]]
    return []


def test_every_field_of_every_schema_has_an_answer() -> None:
    without = [f"{kind} {path}" for kind, path in all_fields() if not answers_to(kind, path)]
    assert without == [], "add them to libs/vc/model/support"


def test_every_entry_names_a_field_that_is_there() -> None:
    there = {*all_fields(), *((kind, "") for kind in KINDS)}
    gone = [
        f"{entry.scope} {entry.path}"
        for entry in ENTRIES
        if entry.scope in KINDS and (entry.scope, entry.path) not in there
    ]
    assert gone == [], "remove them from libs/vc/model/support"


def test_the_walk_sees_the_schemas() -> None:
    """It would pass on nothing, too."""
    found = all_fields()
    assert len(found) > 300
    for field in (
        ("Job", "spec.tasks[].partitionPolicy.networkTopology.mode"),
        ("PodGroup", "spec.subGroupPolicy[].minSubGroups"),
        ("Queue", "spec.extendClusters[].weight"),
        ("JobFlow", "spec.flows[].dependsOn.targets"),
    ):
        assert field in found


def test_a_new_field_would_be_noticed() -> None:
    assert not answers_to("Job", "spec.brandNew")
    assert not answers_to("Queue", "spec.weight.below")
    assert answers_to("Job", "spec.tasks[].template.spec")


def test_every_label_and_annotation_has_an_answer() -> None:
    known = {entry.path for entry in ENTRIES if entry.scope == "Label or annotation"}
    assert sorted({*keys_in_code(), *UPSTREAM_KEYS} - known) == []
    assert len(keys_in_code()) > 35, "the scan finds what is written in the code"


def test_entries_are_unique_and_end_with_an_answer_to_every_value() -> None:
    counted = Counter((entry.scope, entry.path) for entry in ENTRIES)
    assert [key for key, count in counted.items() if count > 1] == []
    for entry in ENTRIES:
        last = entry.cases[-1]
        assert last.match is always, entry
        assert all(case.text for case in entry.cases)


def test_every_action_plugin_and_switch_of_upstream_and_of_ours_has_one_answer() -> None:
    assert sorted(OWN_ACTIONS) == sorted(actions.REGISTRY)
    assert sorted(OWN_PLUGINS) == sorted(plugins.REGISTRY)
    assert not set(OWN_ACTIONS) & set(ABSENT_ACTIONS)
    assert not set(OWN_PLUGINS) & set(ABSENT_PLUGINS)
    assert set(UPSTREAM_ACTIONS) <= {*OWN_ACTIONS, *OTHER_NAMES, *ABSENT_ACTIONS}
    assert set(UPSTREAM_PLUGINS) <= {*OWN_PLUGINS, *ABSENT_PLUGINS}
    short = [s.lower().removeprefix("enable").removeprefix("d") for s in UPSTREAM_SWITCHES]
    assert sorted(short) == sorted((*EFFECTIVE_SWITCHES, *IDLE_SWITCHES))


class _Recording(Mapping[str, str]):
    """Arguments that note which of them a plugin asks for."""

    def __init__(self, given: dict[str, str]) -> None:
        self._given = given
        self.asked: set[str] = set()

    def __getitem__(self, key: str) -> str:
        self.asked.add(key)
        return self._given[key]

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return key in self._given

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return self._given.get(key, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


@pytest.mark.parametrize("name", sorted(plugins.REGISTRY))
def test_what_a_plugin_reads_is_what_the_table_says_it_reads(name: str) -> None:
    listed = {"binpack.resources": "example.com/fpga"}
    arguments = _Recording(listed)
    plugins.REGISTRY[name](arguments)
    asked = {key.replace("example.com/fpga", "<name>") for key in arguments.asked}
    effective = {a.name for a in known_arguments(name) if a.case.answer.value == "effect"}
    assert asked - {"hierarchy"} == effective


@pytest.mark.parametrize("owner", sorted(UPSTREAM_ARGUMENTS))
def test_every_argument_of_upstream_is_known(owner: str) -> None:
    known = {argument.name for argument in known_arguments(owner)}
    assert set(UPSTREAM_ARGUMENTS[owner].split()) <= known
