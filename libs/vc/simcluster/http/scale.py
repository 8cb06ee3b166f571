"""The scale subresource: the number of replicas as a separate object, for `kubectl scale`."""

from typing import Final

from aiohttp import web

from vc.cluster.errors import BadRequestError
from vc.model.api.struct import JsonObject
from vc.simcluster.http.bodies import WriteParameters, read_object, read_patch
from vc.simcluster.http.errors import MethodNotAllowedError, json_response
from vc.simcluster.http.reviews import user_of
from vc.simcluster.http.routes import Target
from vc.simcluster.printing.workloads import selector_text
from vc.simcluster.verbs.api import Api

_MERGE: Final = "application/merge-patch+json"


async def answer_scale(request: web.Request, api: Api, target: Target) -> web.Response:
    """Read or write the number of replicas."""
    match request.method:
        case "GET":
            obj = api.get(target.resource, name=target.name, namespace=target.namespace)
            return json_response(scale_of(obj))
        case "PUT":
            body = await read_object(request)
        case "PATCH":
            body, content_type = await read_patch(request)
            if content_type != _MERGE:
                raise BadRequestError(f"scale takes patches of type {_MERGE}")
        case _:
            raise MethodNotAllowedError("scale can be read, replaced and patched")
    write = WriteParameters.of(request)
    replicas = (body.get("spec") or {}).get("replicas", 0)
    # Without a version: scaling must not fail because of unrelated changes of the object.
    changed = await api.patch(
        target.resource,
        {"spec": {"replicas": replicas}},
        content_type=_MERGE,
        name=target.name,
        namespace=target.namespace,
        dry_run=write.dry_run,
        field_manager=write.field_manager,
        user=user_of(request),
    )
    return json_response(scale_of(changed))


def scale_of(obj: JsonObject) -> JsonObject:
    """The Scale object of a workload."""
    metadata, spec = obj["metadata"], obj.get("spec", {})
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "spec": {"replicas": spec.get("replicas", 1)},
        "status": {
            "replicas": obj.get("status", {}).get("replicas", 0),
            "selector": selector_text(spec.get("selector")),
        },
    }
