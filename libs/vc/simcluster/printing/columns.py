"""The type of table printers, and the columns that most of them share."""

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from vc.model.api.struct import Json, JsonObject
from vc.simcluster.store.resource import PrinterColumn

Cells: TypeAlias = Callable[[JsonObject, float], list[Json]]
"""Computes the cells of one object at a given time."""


class Printer(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a table and the function that fills them."""

    columns: tuple[PrinterColumn, ...]
    cells: Cells


def column(name: str, kind: str = "string", *, wide: bool = False) -> PrinterColumn:
    """A column of a built-in kind. Its cells are computed, so it has no JSONPath."""
    return PrinterColumn(name=name, type=kind, json_path="", priority=1 if wide else 0)


NAME: Final = PrinterColumn(
    name="Name",
    type="string",
    json_path=".metadata.name",
    format="name",
    description="The name of the object, unique among its kind and namespace.",
)
AGE: Final = PrinterColumn(
    name="Age",
    type="string",
    json_path=".metadata.creationTimestamp",
    description="How long ago the object was created.",
)
