"""Every answer that is not what was asked for, as the Status object kubectl prints.

kubectl turns `{"reason": "NotFound", "message": ...}` into `Error from server (NotFound): ...`, and
clients decide by `reason` and `details` whether to try again; so each error leaves as a full Status
and never as an HTML page or a bare text.
"""

import logging
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final

import msgspec
from aiohttp import web

from vc_cluster.errors import BadRequestError, ClusterError, TooLargeError, TooManyRequestsError
from vc_model.faults import describe
from vc_model.struct import JsonObject

_log: Final = logging.getLogger(__name__)

JSON_TYPE: Final = "application/json"
STREAMING: Final[ContextVar[bool]] = ContextVar("streaming", default=False)
"""Whether the answer to this request has begun, so that no other can be sent."""
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
"""What values of an unexpected sort in a body make us raise: with another it would not have happened. A request
without a body has little in it, and what that little can be is known: there it is a fault of ours."""
_PATH_SHOWN_MAX: Final = 200
_WHAT_MAX: Final = 400

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class MethodNotAllowedError(ClusterError):
    """The resource exists, but not with this verb."""

    code = 405
    reason = "MethodNotAllowed"


class NotAcceptableError(ClusterError):
    """Nothing the client takes is something we make."""

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
        details["retryAfterSeconds"] = max(1, round(error.retry_after_seconds))
    if details:
        status["details"] = details
    return status


def error_response(error: ClusterError) -> web.Response:
    """The answer for an error."""
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
    """JSON with its media type written exactly as given (parameters tell clients the shape)."""
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return web.Response(
        body=raw, status=status, headers={"Content-Type": content_type, **(headers or {})}
    )


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn every failure into a Status; an unknown one is logged, since it is a fault of ours."""
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
        raise  # the client has gone: there is nobody to answer
    except Exception as error:
        _log.exception("request %s %s failed", request.method, request.path[:_PATH_SHOWN_MAX])
        if STREAMING.get():
            raise  # the answer has begun: all that is left is to cut it off
        if request.method != "GET" and isinstance(error, OF_THE_REQUEST):
            what = f"the request cannot be processed: {type(error).__name__}: {describe(error)}"
            return error_response(BadRequestError(what[:_WHAT_MAX]))
        return error_response(ClusterError(f"Internal error occurred: {describe(error)}"))


def _http_error(error: web.HTTPException) -> web.Response:
    """What aiohttp itself refuses, in the API's words."""
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
