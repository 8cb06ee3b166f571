"""Submitting manifests the way `kubectl apply` would: create, or say what is wrong."""

from collections.abc import Iterable

from vc_cluster import AlreadyExistsError
from vc_model.struct import JsonObject
from vc_simcluster.api import Api
from vc_simcluster.resource import Resource

DEFAULT_NAMESPACE = "default"


def resource_of(api: Api, manifest: JsonObject) -> Resource:
    """The resource that serves a manifest's kind."""
    for resource in api.registry.all():
        if (resource.api_version, resource.kind) == (manifest["apiVersion"], manifest["kind"]):
            return resource
    raise LookupError(
        f'no matches for kind "{manifest["kind"]}" in version "{manifest["apiVersion"]}"'
    )


async def submit(api: Api, manifests: Iterable[JsonObject]) -> list[JsonObject]:
    """Create all of them in order; what exists already stays as it is."""
    created: list[JsonObject] = []
    for manifest in manifests:
        resource = resource_of(api, manifest)
        namespace = ""
        if resource.namespaced:
            namespace = manifest["metadata"].get("namespace", DEFAULT_NAMESPACE)
        try:
            created.append(await api.create(resource, manifest, namespace=namespace))
        except AlreadyExistsError:
            created.append(
                api.get(resource, name=manifest["metadata"]["name"], namespace=namespace)
            )
    return created
