"""The verbs over HTTP: maps method and path to a call of the API."""

from typing import Final

from aiohttp import web

from vc.cluster.errors import BadRequestError, NotFoundError
from vc.model.api.struct import JsonObject
from vc.simcluster.http.bodies import (
    WriteParameters,
    query_bool,
    query_int,
    read_object,
    read_options,
    read_patch,
)
from vc.simcluster.http.errors import MethodNotAllowedError, json_response
from vc.simcluster.http.logs import answer_logs
from vc.simcluster.http.output import Output
from vc.simcluster.http.reviews import user_of
from vc.simcluster.http.routes import Target
from vc.simcluster.http.scale import answer_scale
from vc.simcluster.http.unknown_fields import check_fields, check_patch_fields
from vc.simcluster.http.watch import answer_watch
from vc.simcluster.verbs.api import Api

LIST_LIMIT_MAX: Final = 100_000
_SUCCESS: Final[JsonObject] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}
_METHODS: Final = "the server does not allow this method on the requested resource"


async def answer_object(request: web.Request, api: Api, target: Target) -> web.StreamResponse:
    """Handle a request for a collection, an object or a subresource."""
    if target.subresource:
        return await _subresource(request, api, target)
    # `watch=true` is valid for a collection and, in the older form, for a single object.
    if query_bool(request, "watch") and request.method == "GET":
        return await answer_watch(request, api, target)
    if not target.name:
        return await _collection(request, api, target)
    return await _single(request, api, target)


async def _collection(request: web.Request, api: Api, target: Target) -> web.Response:
    match request.method:
        case "GET":
            return _list(request, api, target)
        case "POST":
            return await _create(request, api, target)
        case "DELETE":
            return await _delete_collection(request, api, target)
        case _:
            raise MethodNotAllowedError(_METHODS)


async def _single(request: web.Request, api: Api, target: Target) -> web.Response:
    match request.method:
        case "GET":
            return _get(request, api, target)
        case "PUT":
            return await _replace(request, api, target)
        case "PATCH":
            return await _patch(request, api, target)
        case "DELETE":
            return await _delete(request, api, target)
        case _:
            raise MethodNotAllowedError(_METHODS)


async def _subresource(request: web.Request, api: Api, target: Target) -> web.StreamResponse:
    if target.subresource not in target.resource.subresources:
        raise NotFoundError("the server could not find the requested resource")
    match request.method, target.subresource:
        # Scale converts between two kinds, so it handles all its methods itself.
        case _, "scale":
            return await answer_scale(request, api, target)
        case "GET", "log":
            return await answer_logs(request, api, target)
        case "POST", "binding":
            binding = await read_object(request)
            await api.bind(namespace=target.namespace, name=target.name, binding=binding)
            return json_response(_SUCCESS, status=201)
        case "POST", "eviction":
            eviction = await read_object(request)
            await api.evict(namespace=target.namespace, name=target.name, eviction=eviction)
            return json_response(_SUCCESS, status=201)
        case "GET" | "PUT" | "PATCH", "status" | "finalize":
            return await _single(request, api, target)
        case _:
            raise MethodNotAllowedError(_METHODS)


def _list(request: web.Request, api: Api, target: Target) -> web.Response:
    # The Accept header is checked first: an unacceptable request must have no effect.
    output = Output(request, target.resource, now=api.clock.now())
    page = api.list(
        target.resource,
        namespace=target.namespace,
        label_selector=request.query.get("labelSelector", ""),
        field_selector=request.query.get("fieldSelector", ""),
        limit=min(max(0, query_int(request, "limit")), LIST_LIMIT_MAX),
        continue_token=request.query.get("continue", ""),
    )
    return output.page(page)


def _get(request: web.Request, api: Api, target: Target) -> web.Response:
    output = Output(request, target.resource, now=api.clock.now())
    return output.object(api.get(target.resource, name=target.name, namespace=target.namespace))


async def _create(request: web.Request, api: Api, target: Target) -> web.Response:
    output = Output(request, target.resource, now=api.clock.now())
    write, body = WriteParameters.of(request), await read_object(request)
    _check_kind(target, body)
    check_fields(request, target.resource, body)
    made = await api.create(
        target.resource,
        body,
        namespace=target.namespace,
        dry_run=write.dry_run,
        field_manager=write.field_manager,
        user=user_of(request),
    )
    return output.object(made, status=201)


async def _replace(request: web.Request, api: Api, target: Target) -> web.Response:
    output = Output(request, target.resource, now=api.clock.now())
    write, body = WriteParameters.of(request), await read_object(request)
    _check_kind(target, body)
    check_fields(request, target.resource, body)
    written = await api.replace(
        target.resource,
        body,
        name=target.name,
        namespace=target.namespace,
        subresource=target.subresource,
        dry_run=write.dry_run,
        field_manager=write.field_manager,
        user=user_of(request),
    )
    return output.object(written)


def _check_kind(target: Target, body: JsonObject) -> None:
    """Check apiVersion and kind of the body. If both are absent, the path decides."""
    resource = target.resource
    given = (body.get("apiVersion"), body.get("kind"))
    if given == (None, None):
        body["apiVersion"], body["kind"] = resource.api_version, resource.kind
    elif given[1] != resource.kind:
        raise BadRequestError(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            f"{given[0]}, Kind={given[1]}"
        )
    elif given[0] != resource.api_version:
        raise BadRequestError(
            f"the API version in the data ({given[0]}) does not match "
            f"the expected API version ({resource.api_version})"
        )


async def _patch(request: web.Request, api: Api, target: Target) -> web.Response:
    output = Output(request, target.resource, now=api.clock.now())
    write = WriteParameters.of(request)
    patch, content_type = await read_patch(request)
    check_patch_fields(request, target.resource, patch, content_type=content_type)
    # An apply that creates the object is answered with 201, as on a real server.
    is_new = content_type == "application/apply-patch+yaml" and not _exists(api, target)
    written = await api.patch(
        target.resource,
        patch,
        content_type=content_type,
        name=target.name,
        namespace=target.namespace,
        subresource=target.subresource,
        dry_run=write.dry_run,
        field_manager=write.field_manager,
        force=query_bool(request, "force"),
        user=user_of(request),
    )
    return output.object(written, status=201 if is_new else 200)


def _exists(api: Api, target: Target) -> bool:
    try:
        api.get(target.resource, name=target.name, namespace=target.namespace)
    except NotFoundError:
        return False
    return True


async def _delete(request: web.Request, api: Api, target: Target) -> web.Response:
    output = Output(request, target.resource, now=api.clock.now())
    options = await read_options(request)
    answer = await api.delete(
        target.resource,
        name=target.name,
        namespace=target.namespace,
        options=options,
        dry_run=_dry_run(request, options),
        user=user_of(request),
    )
    return output.object(answer)


async def _delete_collection(request: web.Request, api: Api, target: Target) -> web.Response:
    output = Output(request, target.resource, now=api.clock.now())
    options = await read_options(request)
    deleted = await api.delete_collection(
        target.resource,
        namespace=target.namespace,
        label_selector=request.query.get("labelSelector", ""),
        field_selector=request.query.get("fieldSelector", ""),
        options=options,
        dry_run=_dry_run(request, options),
        user=user_of(request),
    )
    return output.page(deleted)


def _dry_run(request: web.Request, options: JsonObject) -> bool:
    # kubectl sends the dryRun of a deletion in the body, other clients in the query.
    return WriteParameters.of(request).dry_run or "All" in (options.get("dryRun") or [])
