"""Discovery of the served resources, in both forms that clients use.

Aggregated discovery needs two requests. The older form needs one request per group and version;
kubernetes-asyncio and old clients use it. Both are computed from the registry for each request, so
a CRD is visible as soon as it is registered.
"""

from typing import Final

from vc.model.api.struct import JsonObject
from vc.simcluster.http.accept import DISCOVERY_GROUP
from vc.simcluster.schema.registry import Registry
from vc.simcluster.store.resource import Resource

_VERBS: Final = (
    "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
)  # fmt: skip
_SUBRESOURCE_VERBS: Final = {
    "status": ("get", "patch", "update"),
    "scale": ("get", "patch", "update"),
    "finalize": ("update",),
    "binding": ("create",),
    "eviction": ("create",),
    "log": ("get",),
    "proxy": ("create", "delete", "get", "patch", "update"),
}
_SUBRESOURCE_KINDS: Final = {
    "scale": ("autoscaling", "v1", "Scale"),
    "binding": ("", "v1", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "proxy": ("", "v1", "ServiceProxyOptions"),
}
AUTHORIZATION_GROUP: Final = "authorization.k8s.io"
AUTHENTICATION_GROUP: Final = "authentication.k8s.io"

REVIEWS: Final = tuple(
    Resource(
        group=group,
        version="v1",
        kind=kind,
        plural=f"{kind.lower()}s",
        singular=kind.lower(),
        namespaced=False,
    )
    for group, kind in (
        (AUTHORIZATION_GROUP, "SelfSubjectAccessReview"),
        (AUTHORIZATION_GROUP, "SelfSubjectRulesReview"),
        (AUTHENTICATION_GROUP, "SelfSubjectReview"),
    )
)
"""Review resources: they can be created, are answered at once and are never stored."""

Grouped = dict[str, dict[str, list[Resource]]]


def grouped(registry: Registry) -> Grouped:
    """Resources by group and version."""
    groups: Grouped = {}
    for resource in (*registry.all(), *REVIEWS):
        groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
    return groups


def aggregated(registry: Registry, *, core: bool, version: str) -> JsonObject:
    """The APIGroupDiscoveryList of `/api` (core) or `/apis`."""
    groups = grouped(registry)
    # `/api` serves the core group only, and `/apis` all the others.
    chosen = {name: versions for name, versions in groups.items() if (name == "") == core}
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"{DISCOVERY_GROUP}/{version}",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": name} if name else {},
                "versions": [
                    {
                        "version": one,
                        "resources": [_aggregated_resource(r) for r in resources],
                        "freshness": "Current",
                    }
                    for one, resources in versions.items()
                ],
            }
            for name, versions in chosen.items()
        ],
    }


def _aggregated_resource(resource: Resource) -> JsonObject:
    found: JsonObject = {
        "resource": resource.plural,
        "responseKind": _kind(resource),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(_verbs(resource)),
    }
    # Empty optional fields are left out, as in the documents of a real API server.
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    if resource.subresources:
        found["subresources"] = [
            {
                "subresource": name,
                "responseKind": _subresource_kind(resource, name),
                "verbs": list(_SUBRESOURCE_VERBS.get(name, ("get",))),
            }
            for name in sorted(resource.subresources)
        ]
    return found


def _kind(resource: Resource) -> JsonObject:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _subresource_kind(resource: Resource, name: str) -> JsonObject:
    if name not in _SUBRESOURCE_KINDS:
        return _kind(resource)
    group, version, kind = _SUBRESOURCE_KINDS[name]
    return {"group": group, "version": version, "kind": kind}


def _verbs(resource: Resource) -> tuple[str, ...]:
    return ("create",) if resource in REVIEWS else _VERBS


def api_versions(address: str) -> JsonObject:
    """The response of `/api` in the older form."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def group_list(registry: Registry) -> JsonObject:
    """The response of `/apis` in the older form."""
    named = {name: versions for name, versions in grouped(registry).items() if name}
    groups = [_group(name, list(versions)) for name, versions in named.items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _group(name: str, versions: list[str]) -> JsonObject:
    listed = [{"groupVersion": f"{name}/{v}", "version": v} for v in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def group(registry: Registry, name: str) -> JsonObject | None:
    """The response of `/apis/<group>`."""
    versions = grouped(registry).get(name)
    if not name or versions is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, list(versions))}


def resource_list(registry: Registry, name: str, version: str) -> JsonObject | None:
    """The response of `/api/v1` and `/apis/<group>/<version>`."""
    resources = grouped(registry).get(name, {}).get(version)
    if resources is None:
        return None
    rows = [row for resource in resources for row in _legacy_rows(resource)]
    api_version = f"{name}/{version}" if name else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version,
        "resources": rows,
    }


def _legacy_rows(resource: Resource) -> list[JsonObject]:
    row: JsonObject = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(_verbs(resource)),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    return [row, *(_legacy_subresource(resource, name) for name in sorted(resource.subresources))]


def _legacy_subresource(resource: Resource, name: str) -> JsonObject:
    kind = _subresource_kind(resource, name)
    row: JsonObject = {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": kind["kind"],
        "verbs": list(_SUBRESOURCE_VERBS.get(name, ("get",))),
    }
    # Group and version are given only where they differ from those of the list.
    if kind != _kind(resource):
        row |= {"group": kind["group"], "version": kind["version"]}
    return row
