"""Printer columns of custom resources: their JSONPaths, types and empty cells.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#additional-printer-columns
"""

import msgspec
import pytest

from vc.model.api.struct import Json, JsonObject
from vc.simcluster.printing.json_paths import PathError, find_all, find_first, parse_path
from vc.simcluster.printing.table import Tables
from vc.simcluster.store.resource import PrinterColumn, Resource

NOW = 1_700_000_000.0

OBJECT: JsonObject = {
    "metadata": {
        "name": "w", "creationTimestamp": "2023-11-14T21:13:20Z",
        "annotations": {"example.com/note": "n", "a b": "c"},
    },
    "spec": {"size": 3, "ready": False, "zero": 0, "empty": "", "list": [1, 2, 3], "none": None},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "Idle", "status": "False"},
        ]
    },
}  # fmt: skip


class Path(msgspec.Struct, frozen=True):
    """A JSONPath and all values that it finds."""

    id: str
    path: str
    found: list[Json]


PATHS = [
    Path("a field", ".spec.size", [3]),
    Path("false is a value", ".spec.ready", [False]),
    Path("zero is a value", ".spec.zero", [0]),
    Path("an empty text is a value", ".spec.empty", [""]),
    Path("null is no value", ".spec.none", []),
    Path("an absent field", ".spec.absent", []),
    Path("an absent parent", ".x.y.z", []),
    Path("a field of a number", ".spec.size.x", []),
    Path("an index", ".spec.list[1]", [2]),
    Path("a negative index", ".spec.list[-1]", [3]),
    Path("an index beyond the end", ".spec.list[9]", []),
    Path("an index of an object", ".spec[0]", []),
    Path("all elements", ".spec.list[*]", [1, 2, 3]),
    Path("members of all elements", ".status.conditions[*].type", ["Ready", "Idle"]),
    Path("a filter", '.status.conditions[?(@.type=="Ready")].status', ["True"]),
    Path("a filter with single quotes", ".status.conditions[?(@.type=='Idle')].status", ["False"]),
    Path("a filter without a match", '.status.conditions[?(@.type=="X")].status', []),
    Path("a quoted field", ".metadata.annotations['example.com/note']", ["n"]),
    Path("a quoted field with a space", '.metadata.annotations["a b"]', ["c"]),
    Path("an escaped dot", r".metadata.annotations.example\.com/note", ["n"]),
]


@pytest.mark.parametrize("case", PATHS, ids=lambda case: case.id)
def test_what_a_path_finds(case: Path) -> None:
    assert find_all(OBJECT, case.path) == case.found
    assert find_first(OBJECT, case.path) == (case.found[0] if case.found else None)


@pytest.mark.parametrize("path", ["spec", ".spec[", ".spec[a]", ".a..b", '.x[?(@.y>"1")]'])
def test_a_path_outside_of_the_subset_is_an_error(path: str) -> None:
    with pytest.raises(PathError, match="cannot read it"):
        parse_path(path)


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A column and its cell."""

    id: str
    type: str = "string"
    path: str
    cell: Json


CELLS = [
    Cell(id="a text", path=".metadata.name", cell="w"),
    Cell(id="an integer", type="integer", path=".spec.size", cell=3),
    Cell(id="a boolean", type="boolean", path=".spec.ready", cell=False),
    Cell(id="an integer in a text column", path=".spec.size", cell="3"),
    Cell(id="a list in a text column", path=".spec.list", cell="[1,2,3]"),
    Cell(id="an absent value is an empty cell", path=".spec.absent", cell=None),
    Cell(id="a date is shown as an age", type="date", path=".metadata.creationTimestamp", cell="60m"),
    Cell(id="an absent date is an empty cell", type="date", path=".metadata.deletionTimestamp", cell=None),
]  # fmt: skip


def table(*columns: PrinterColumn, include: str = "None") -> JsonObject:
    resource = Resource(
        group="example.com", version="v1", kind="W", plural="ws", singular="w", namespaced=True,
        custom=True, columns=columns,
    )  # fmt: skip
    tables = Tables(resource, include_object=include)
    return tables.table([OBJECT], now=NOW, metadata={"resourceVersion": "1"})


@pytest.mark.parametrize("case", CELLS, ids=lambda case: case.id)
def test_the_cell_of_a_column(case: Cell) -> None:
    shown = table(PrinterColumn(name="X", type=case.type, json_path=case.path))
    assert shown["rows"] == [{"cells": ["w", case.cell]}]


def test_the_name_is_the_first_column() -> None:
    shown = table(PrinterColumn(name="X", type="integer", json_path=".spec.size", priority=1))
    names = [(one["name"], one["type"], one["priority"]) for one in shown["columnDefinitions"]]
    assert names == [("Name", "string", 0), ("X", "integer", 1)]
    assert (shown["kind"], shown["apiVersion"]) == ("Table", "meta.k8s.io/v1")


def test_without_columns_there_are_name_and_age() -> None:
    shown = table()
    assert [one["name"] for one in shown["columnDefinitions"]] == ["Name", "Age"]
    assert shown["rows"] == [{"cells": ["w", "60m"]}]


def test_an_object_that_cannot_be_printed_keeps_its_row() -> None:
    shown = table(PrinterColumn(name="X", type="date", json_path=".spec[bad"))
    assert shown["rows"] == [{"cells": ["w", "<unknown>"]}]


INCLUDED = [
    ("None", None),
    ("", "PartialObjectMetadata"),
    ("Metadata", "PartialObjectMetadata"),
    ("Object", "whole"),
]


@pytest.mark.parametrize(("include", "expected"), INCLUDED)
def test_what_a_row_includes(include: str, expected: str | None) -> None:
    (row,) = table(include=include)["rows"]
    if expected == "whole":
        assert row["object"] == OBJECT
    elif expected is None:
        assert "object" not in row
    else:
        assert row["object"]["kind"] == expected
        assert "spec" not in row["object"]
