"""Parsing of resource paths.

The paths of the API depend on data (any CRD adds some), so they are not registered with the router.
This module parses them: `/apis/<group>/<version>/namespaces/<ns>/<plural>/<name>/<sub>`.
"""

from typing import Final
from urllib.parse import unquote

import msgspec

from vc.cluster.errors import NotFoundError
from vc.simcluster.schema.registry import Registry
from vc.simcluster.store.resource import Resource

_UNKNOWN: Final = "the server could not find the requested resource"
_NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The resource, object or subresource that a request addresses."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    """Empty for a collection."""
    subresource: str = ""
    rest: str = ""
    """The path after the subresource. Only proxies use it."""


def parse_target(raw_path: str, registry: Registry) -> Target:
    """Parse a path. NotFoundError, with the API server's message, if nothing is served there."""
    parts = [unquote(part) for part in raw_path.split("/")[1:]]
    match parts:
        case ["api", version, *rest] if rest:
            return _in_group(registry, "", version, rest=rest)
        case ["apis", group, version, *rest] if rest:
            return _in_group(registry, group, version, rest=rest)
        case _:
            raise NotFoundError(_UNKNOWN)


def _in_group(registry: Registry, group: str, version: str, *, rest: list[str]) -> Target:
    """Parse the path after the version."""
    namespace = ""
    is_scoped = rest[0] == "namespaces" and len(rest) > 2
    # `/namespaces/x/status` is a subresource of the namespace, not a resource in it.
    if is_scoped and not (group == "" and len(rest) == 3 and rest[2] in _NAMESPACE_SUBRESOURCES):
        namespace, rest = rest[1], rest[2:]
    # Missing parts are empty: a path may end after the plural or the name.
    plural, name, subresource = (rest + ["", ""])[:3]
    resource = registry.lookup(group, version, plural)
    if namespace and not resource.namespaced:
        raise NotFoundError(_UNKNOWN)
    # A namespaced object cannot be addressed without its namespace; only the collection can.
    if name and resource.namespaced and not namespace:
        raise NotFoundError(_UNKNOWN)
    return Target(
        resource=resource,
        namespace=namespace,
        name=name,
        subresource=subresource,
        rest="/".join(rest[3:]),
    )
