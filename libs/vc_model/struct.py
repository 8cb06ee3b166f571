"""The ground of every API struct: camelCase outside, immutable inside, defaults left out."""

from typing import Any, TypeAlias

import msgspec

Json: TypeAlias = Any
"""Any JSON value. Templates and other things we carry but do not read are kept like this."""

JsonObject: TypeAlias = dict[str, Any]

ResourceList: TypeAlias = dict[str, str | int | float]
"""Resource name to quantity as written; `vc_model.quantity` turns it into integers."""


class ApiStruct(
    msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False
):
    """An object or part of one, as the Kubernetes API spells it.

    What was decoded and is immutable forms no cycles, so the collector need not walk it: with 50,000
    pods in memory its walks would take most of the time of a start.
    """
