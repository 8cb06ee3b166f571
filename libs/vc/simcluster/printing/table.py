"""Lists and objects as Tables, which `kubectl get` prints.

The server defines the columns, so kubectl shows custom resources like built-in kinds. The columns
of CRDs are JSONPaths; those of built-in kinds are computed (`pods`, `builtin`). By default rows
have only the metadata of the object, which keeps the table of a large list small.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from vc.model.api.struct import Json, JsonObject
from vc.model.values.ages import age
from vc.simcluster.printing.builtin import BUILT_IN
from vc.simcluster.printing.columns import AGE, NAME, Printer
from vc.simcluster.printing.json_paths import find_first
from vc.simcluster.store.resource import PrinterColumn, Resource

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
    """Builds the tables of one resource for one request."""

    def __init__(self, resource: Resource, *, include_object: str, version: str = "v1") -> None:
        """`include_object` is None, Metadata (the default) or Object."""
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
        """The whole table. Later events of a watch have no column definitions."""
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
        """The cells of one object.

        If an object cannot be printed, only its name is shown, so that the other rows are not lost.
        """
        try:
            return self._printer.cells(obj, now)
        except Exception:  # noqa: BLE001 - of one object, whatever it is
            name = str((obj.get("metadata") or {}).get("name", ""))
            return [name, *([UNKNOWN_CELL] * (len(self._printer.columns) - 1))]


def partial_metadata(obj: JsonObject) -> JsonObject:
    """The object without spec and status, for clients that need only its identity."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj.get("metadata", {}),
    }


def printer_of(resource: Resource) -> Printer:
    """The printer of a resource: CRD columns, built-in columns, or name and age."""
    if resource.columns:
        return _custom(resource.columns)
    return BUILT_IN.get((resource.group, resource.plural), _DEFAULT)


def _custom(columns: Sequence[PrinterColumn]) -> Printer:
    readers = [_reader(column) for column in columns]

    def cells(obj: JsonObject, now: float) -> list[Json]:
        return [obj["metadata"].get("name", ""), *(read(obj, now) for read in readers)]

    return Printer(columns=(NAME, *columns), cells=cells)


def _reader(column: PrinterColumn) -> Callable[[JsonObject, float], Json]:
    """A function that reads one column.

    An absent value is None, and a structured value in a string column is shown as JSON.
    """

    def read(obj: JsonObject, now: float) -> Json:
        value = find_first(obj, column.json_path)
        if value is None:
            return None
        # Dates are shown as ages relative to the server's clock.
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
