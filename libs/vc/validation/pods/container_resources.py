"""Requests and limits of a container.

Extended resources (a GPU) cannot be over-committed: the API server refuses a pod whose request has
no equal limit. The users' documents write `requests: {nvidia.com/gpu: "1"}` alone, so in `lenient`
mode the limit is filled in. `upstream` mode refuses it, as Volcano does.
"""

from typing import Final

from vc.model.api.struct import Json, JsonObject, ResourceList
from vc.model.compat import Compat
from vc.model.values.quantity import MILLI, decimals_of
from vc.validation.amounts import read_amounts, text
from vc.validation.names import is_label_key
from vc.validation.result import ValidationResult

_NATIVE_DOMAIN: Final = "kubernetes.io/"
_CONTAINER_LISTS: Final = ("initContainers", "containers")


def is_extended(resource: str) -> bool:
    """Whether the resource is a device or another resource that is never over-committed."""
    if resource.startswith("hugepages-"):
        return True
    return "/" in resource and _NATIVE_DOMAIN not in resource


def check_resources(
    found: ValidationResult,
    path: str,
    *,
    requests: ResourceList,
    limits: ResourceList,
    compat: Compat,
) -> None:
    """Check that quantities are valid, requests within limits, and
    extended resources whole and equal."""
    for kind, amounts in (("requests", requests), ("limits", limits)):
        for resource in sorted(amounts):
            if not is_label_key(resource):
                found.refuse(
                    f"{path}.{kind}", "is not a resource name; write cpu or example.com/gpu",
                    value=resource,
                )  # fmt: skip
    wanted = read_amounts(found, f"{path}.requests", requests)
    capped = read_amounts(found, f"{path}.limits", limits)
    for resource in sorted(wanted):
        limit = capped.get(resource)
        if limit is not None and wanted[resource] > limit:
            found.refuse(
                f"{path}.requests[{resource}]",
                f"is more than the limit {text(resource, limit)}; lower it or raise the limit",
                value=text(resource, wanted[resource]),
            )
    _check_extended(found, path, wanted=wanted, capped=capped, compat=compat)


def _check_extended(
    found: ValidationResult,
    path: str,
    *,
    wanted: dict[str, int],
    capped: dict[str, int],
    compat: Compat,
) -> None:
    for resource in sorted(wanted.keys() | capped.keys()):
        if not is_extended(resource):
            continue
        amount, limit = wanted.get(resource), capped.get(resource)
        # The limit counts if both are given, because the request must equal it.
        units = limit if limit is not None else amount
        if decimals_of(resource) == MILLI and units is not None and units % 1000:
            found.refuse(
                f"{path}[{resource}]",
                "must be a whole number; devices are not divided",
                value=text(resource, units),
            )
        # In lenient mode the mutating webhook fills in the limit, so it is not required here.
        if limit is None and compat is Compat.UPSTREAM:
            found.refuse(
                f"{path}.limits[{resource}]",
                "must be set for a resource that cannot be over-committed; write the request here",
            )
        # The API server requires equality for resources that cannot be over-committed.
        if limit is not None and amount is not None and amount < limit:
            found.refuse(
                f"{path}.requests[{resource}]",
                f"must equal the limit {text(resource, limit)}; leave the request out",
                value=text(resource, amount),
            )


def fill_extended_limits(template: Json) -> Json:
    """The raw template with each extended request that has no limit copied to the limits."""
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        return template
    spec = dict(template["spec"])
    for kind in _CONTAINER_LISTS:
        if isinstance(spec.get(kind), list):
            spec[kind] = [_fill(container) for container in spec[kind]]
    return {**template, "spec": spec}


def _fill(container: Json) -> Json:
    resources = container.get("resources") if isinstance(container, dict) else None
    if not isinstance(resources, dict) or not isinstance(resources.get("requests"), dict):
        return container
    written = resources.get("limits") or {}
    if not isinstance(written, dict):  # validation reports it
        return container
    limits: JsonObject = dict(written)
    missing = {
        resource: amount
        for resource, amount in resources["requests"].items()
        if is_extended(resource) and resource not in limits
    }
    if not missing:
        return container
    return {**container, "resources": {**resources, "limits": {**limits, **missing}}}
