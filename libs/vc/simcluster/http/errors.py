"""Error responses as Status objects, as kubectl prints them.

kubectl formats `{"reason": "NotFound", "message": ...}` as `Error from server (NotFound): ...`, and
clients decide by `reason` and `details` whether to retry. Every error is therefore a complete
Status, never an HTML page or plain text.
"""

import logging
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final

import msgspec
from aiohttp import web

from vc.cluster.errors import BadRequestError, ClusterError, TooLargeError, TooManyRequestsError
from vc.model.api.struct import JsonObject
from vc.model.faults import describe

_log: Final = logging.getLogger(__name__)

JSON_TYPE: Final = "application/json"
STREAMING: Final[ContextVar[bool]] = ContextVar("streaming", default=False)
"""Whether the response of this request has started, so that no error response can be sent."""
_INTERNAL: Final = "InternalError"
_REASONS: Final = {
    400: "BadRequest",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
}

OF_THE_REQUEST: Final = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip
"""Exceptions that a body with values of unexpected types can cause.

They are reported as errors of the client. A GET request has no body, so there they are internal
errors.
"""
_PATH_SHOWN_MAX: Final = 200
_WHAT_MAX: Final = 400

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class MethodNotAllowedError(ClusterError):
    """The resource exists, but does not support this verb."""

    code = 405
    reason = "MethodNotAllowed"


class NotAcceptableError(ClusterError):
    """The server supports none of the media types that the client accepts."""

    code = 406
    reason = "NotAcceptable"


def status_of(error: ClusterError) -> JsonObject:
    """The Status object of an error."""
    status: JsonObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": error.message,
        "reason": error.reason,
        "code": error.code,
    }
    details = dict(error.details)
    if isinstance(error, TooManyRequestsError):
        # Sent here and in the Retry-After header, as by a real API server.
        details["retryAfterSeconds"] = max(1, round(error.retry_after_seconds))
    if details:
        status["details"] = details
    return status


def error_response(error: ClusterError) -> web.Response:
    """The HTTP response for an error."""
    headers = {}
    if isinstance(error, TooManyRequestsError):
        headers["Retry-After"] = str(max(1, round(error.retry_after_seconds)))
    return json_response(status_of(error), status=error.code, headers=headers)


def json_response(
    body: JsonObject | bytes,
    *,
    status: int = 200,
    content_type: str = JSON_TYPE,
    headers: dict[str, str] | None = None,
) -> web.Response:
    """A JSON response with exactly this media type, whose parameters name the shape for clients."""
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return web.Response(
        body=raw, status=status, headers={"Content-Type": content_type, **(headers or {})}
    )


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Convert every failure to a Status. An unexpected exception is logged as an internal error."""
    STREAMING.set(False)
    try:
        return await handler(request)
    except ClusterError as error:
        return error_response(error)
    except web.HTTPRequestEntityTooLarge:
        return error_response(TooLargeError("the request is too large for this server"))
    except web.HTTPException as error:
        return _http_error(error)
    except ConnectionError:
        raise  # the client has disconnected: no response is possible
    except Exception as error:
        _log.exception(
            "request_failed method=%s path=%s", request.method, request.path[:_PATH_SHOWN_MAX]
        )
        if STREAMING.get():
            raise  # the response has started: the connection can only be closed
        if request.method != "GET" and isinstance(error, OF_THE_REQUEST):
            what = f"the request cannot be processed: {type(error).__name__}: {describe(error)}"
            return error_response(BadRequestError(what[:_WHAT_MAX]))
        return error_response(ClusterError(f"Internal error occurred: {describe(error)}"))


def _http_error(error: web.HTTPException) -> web.Response:
    """Convert an error of aiohttp itself to a Status."""
    reason = _REASONS.get(error.status, _INTERNAL)
    body: JsonObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": error.reason,
        "reason": reason,
        "code": error.status,
    }
    return json_response(body, status=error.status)
