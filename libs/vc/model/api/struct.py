"""The base of all API structs: camelCase in JSON, immutable, defaults omitted."""

from typing import Any, TypeAlias

import msgspec

Json: TypeAlias = Any
"""Any JSON value; used for templates and other parts that we do not decode."""

JsonObject: TypeAlias = dict[str, Any]

ResourceList: TypeAlias = dict[str, str | int | float]
"""Quantities by resource name, as written; `vc.model.values.quantity` parses them."""


class ApiStruct(
    msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False
):
    """An object or a part of one, as in the Kubernetes API.

    Decoded immutable objects form no cycles, so the garbage collector need not track them: with
    50,000 pods in memory its walks would take most of the time of a start.
    """
