"""Lists and objects as the Table that `kubectl get` prints.

The server decides the columns, so kubectl shows our CRDs like its own kinds. CRDs bring their
columns as JSONPath; those of built-in kinds are computed (`table_pods`, `table_builtin`). Rows
carry only the object's metadata unless more is asked for, which keeps a table of 500 pods small.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from vc_model.ages import age
from vc_model.struct import Json, JsonObject
from vc_simcluster.resource import PrinterColumn, Resource
from vc_simcluster.table_builtin import BUILT_IN
from vc_simcluster.table_columns import AGE, NAME, Printer
from vc_simcluster.table_paths import find_first

TABLE_TYPE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_DEFAULT: Final = Printer(
    columns=(NAME, AGE),
    cells=lambda o, now: [
        o["metadata"].get("name", ""),
        age(o["metadata"].get("creationTimestamp"), now=now),
    ],
)


UNKNOWN_CELL: Final = "<unknown>"


class Tables:
    """Makes tables of one resource, as one request wants them."""

    def __init__(self, resource: Resource, *, include_object: str, version: str = "v1") -> None:
        """`include_object` is None, Metadata (also when empty) or Object."""
        self._printer = printer_of(resource)
        self._include = include_object or "Metadata"
        self._api_version = f"meta.k8s.io/{version or 'v1'}"

    def table(
        self,
        objects: Iterable[JsonObject],
        *,
        now: float,
        metadata: JsonObject,
        with_columns: bool = True,
    ) -> JsonObject:
        """The whole table; later events of a watch leave out the columns."""
        columns = [_definition(c) for c in self._printer.columns] if with_columns else []
        return {
            "kind": "Table",
            "apiVersion": self._api_version,
            "metadata": metadata,
            "columnDefinitions": columns,
            "rows": [self._row(o, now) for o in objects],
        }

    def _row(self, obj: JsonObject, now: float) -> JsonObject:
        row: JsonObject = {"cells": self._cells(obj, now)}
        if self._include == "Object":
            row["object"] = obj
        elif self._include != "None":
            row["object"] = partial_metadata(obj)
        return row

    def _cells(self, obj: JsonObject, now: float) -> list[Json]:
        """One object that cannot be shown has its name shown; the table has the others too."""
        try:
            return self._printer.cells(obj, now)
        except Exception:  # noqa: BLE001 - of one object, whatever it is
            name = str((obj.get("metadata") or {}).get("name", ""))
            return [name, *([UNKNOWN_CELL] * (len(self._printer.columns) - 1))]


def partial_metadata(obj: JsonObject) -> JsonObject:
    """The object without spec and status, for clients that only track identity."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj.get("metadata", {}),
    }


def printer_of(resource: Resource) -> Printer:
    """The columns of a resource: its own, Kubernetes', or name and age."""
    if resource.columns:
        return _custom(resource.columns)
    return BUILT_IN.get((resource.group, resource.plural), _DEFAULT)


def _custom(columns: Sequence[PrinterColumn]) -> Printer:
    readers = [_reader(column) for column in columns]

    def cells(obj: JsonObject, now: float) -> list[Json]:
        return [obj["metadata"].get("name", ""), *(read(obj, now) for read in readers)]

    return Printer(columns=(NAME, *columns), cells=cells)


def _reader(column: PrinterColumn) -> Callable[[JsonObject, float], Json]:
    """How one column is read; an absent value stays empty, a structure is shown as JSON."""

    def read(obj: JsonObject, now: float) -> Json:
        value = find_first(obj, column.json_path)
        if value is None:
            return None
        if column.type == "date":
            return age(value, now=now)
        if column.type == "string" and not isinstance(value, str):
            return msgspec.json.encode(value).decode()
        return value

    return read


def _definition(column: PrinterColumn) -> JsonObject:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }
