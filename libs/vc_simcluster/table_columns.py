"""What a printer of tables is, and the columns that most have."""

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from vc_model.struct import Json, JsonObject
from vc_simcluster.resource import PrinterColumn

Cells: TypeAlias = Callable[[JsonObject, float], list[Json]]
"""The cells of one object at a time of day."""


class Printer(msgspec.Struct, frozen=True, kw_only=True):
    """Columns, and how to fill them."""

    columns: tuple[PrinterColumn, ...]
    cells: Cells


def column(name: str, kind: str = "string", *, wide: bool = False) -> PrinterColumn:
    """A column of a built-in kind; it is computed, so it has no path."""
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
