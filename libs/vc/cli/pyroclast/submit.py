"""Submits manifests like `kubectl apply`: objects are created, or an error is raised."""

from collections.abc import Iterable

from vc.cluster import AlreadyExistsError
from vc.model.api.struct import JsonObject
from vc.simcluster.store.resource import Resource
from vc.simcluster.verbs.api import Api

DEFAULT_NAMESPACE = "default"


def resource_of(api: Api, manifest: JsonObject) -> Resource:
    """The resource that serves the kind of a manifest."""
    for resource in api.registry.all():
        if (resource.api_version, resource.kind) == (manifest["apiVersion"], manifest["kind"]):
            return resource
    raise LookupError(
        f'no matches for kind "{manifest["kind"]}" in version "{manifest["apiVersion"]}"'
    )


async def submit(api: Api, manifests: Iterable[JsonObject]) -> list[JsonObject]:
    """Create all objects in order. Existing objects stay unchanged."""
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
