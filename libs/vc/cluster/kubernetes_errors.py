"""Maps error responses of the API server to our errors.

An error response is a `Status` object. Its `reason` decides: 409 means both "already exists" and
"conflict", and 422 may be an invalid object or a wrong uid. The HTTP code decides only if the
reason is unknown, as behind a proxy that answers in HTML. Failures that the network may have caused
are a `ServerError`, which can be retried.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.cluster.errors import (
    AlreadyExistsError,
    BadRequestError,
    ClusterError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    ServerError,
    TooLargeError,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
    UnsupportedMediaTypeError,
)

RETRY_AFTER_SECONDS_DEFAULT: Final = 1.0
RETRY_AFTER_SECONDS_MAX: Final = 30.0
"""A longer Retry-After is limited to this, so that no service sleeps for an hour."""

EXCERPT_CHARACTERS_MAX: Final = 200
"""Length of the excerpt from a response that is not a Status."""

_BY_REASON: Final[dict[str, type[ClusterError]]] = {
    "AlreadyExists": AlreadyExistsError,
    "BadRequest": BadRequestError,
    "Conflict": ConflictError,
    "Expired": GoneError,
    "Forbidden": ForbiddenError,
    "Gone": GoneError,
    "InternalError": ServerError,
    "Invalid": InvalidError,
    "NotFound": NotFoundError,
    "RequestEntityTooLarge": TooLargeError,
    "ServerTimeout": UnavailableError,
    "ServiceUnavailable": UnavailableError,
    "Timeout": UnavailableError,
    "TooManyRequests": TooManyRequestsError,
    "Unauthorized": UnauthorizedError,
    "UnsupportedMediaType": UnsupportedMediaTypeError,
}

_BY_CODE: Final[dict[int, type[ClusterError]]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    408: UnavailableError,
    409: ConflictError,
    410: GoneError,
    413: TooLargeError,
    415: UnsupportedMediaTypeError,
    422: InvalidError,
    429: TooManyRequestsError,
    502: UnavailableError,
    503: UnavailableError,
    504: UnavailableError,
}

_VERSION_AHEAD: Final = "ResourceVersionTooLarge"
"""The cause if a requested version is ahead of the server, because it was restored to an older
state or lags behind another. A relist is right in both cases, so it maps to GoneError.
"""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The error object of the Kubernetes API."""

    message: str | None = None
    reason: str | None = None
    code: int | None = None
    details: dict[str, object] | None = None


_status_decoder: Final = msgspec.json.Decoder(Status)


def answer_error(
    code: int, body: bytes, *, doing: str, headers: Mapping[str, str] | None = None
) -> ClusterError:
    """The error for an unsuccessful HTTP response.

    Its message is the server's, which users know; `doing` is used if there is none.
    """
    try:
        status = _status_decoder.decode(body)
    except msgspec.MsgspecError:
        # Cut before it is decoded, because the error page of a proxy may have any size.
        excerpt = body[:EXCERPT_CHARACTERS_MAX].decode(errors="replace").strip()
        status = Status(message=f"{doing}: HTTP {code} {excerpt}".strip())
    retry_after = _seconds((headers or {}).get("Retry-After"))
    return _error(status, code=code, doing=doing, retry_after_seconds=retry_after)


def event_error(body: bytes, *, doing: str) -> ClusterError:
    """The error in an ERROR event of a watch, whose HTTP response had the code 200."""
    return answer_error(_code_in(body), body, doing=doing)


def is_other_uid(error: InvalidError) -> bool:
    """Whether a patch was rejected because the object has another uid than the patch.

    The API server reports a different `metadata.uid` in a patch as a change of an immutable field
    (422), so it acts as a precondition. Controllers of Kubernetes itself rely on that.
    """
    return any(cause.get("field") == "metadata.uid" for cause in _causes(error.details))


def _error(
    status: Status, *, code: int, doing: str, retry_after_seconds: float | None
) -> ClusterError:
    details = status.details or {}
    message = status.message or f"{doing}: {status.reason or f'HTTP {code}'}"
    # Checked before the reason, which is only a generic time-out here.
    if any(cause.get("reason") == _VERSION_AHEAD for cause in _causes(details)):
        return GoneError(message, details=details)
    made = _class(status.reason or "", code)
    if made is TooManyRequestsError:
        # The header comes first, because a proxy that limits requests sends no Status.
        wait = retry_after_seconds or _seconds(details.get("retryAfterSeconds"))
        return TooManyRequestsError(
            message, retry_after_seconds=wait or RETRY_AFTER_SECONDS_DEFAULT, details=details
        )
    return made(message, details=details)


def _class(reason: str, code: int) -> type[ClusterError]:
    known = _BY_REASON.get(reason) or _BY_CODE.get(code)
    if known is not None:
        return known
    # An unknown client error will not go away by retrying; other codes may.
    return BadRequestError if 400 <= code < 500 else ServerError


def _code_in(body: bytes) -> int:
    try:
        return _status_decoder.decode(body).code or ServerError.code
    except msgspec.MsgspecError:
        return ServerError.code


def _causes(details: dict[str, object]) -> list[dict[str, object]]:
    causes = details.get("causes")
    return [c for c in causes if isinstance(c, dict)] if isinstance(causes, list) else []


def _seconds(value: object) -> float | None:
    """Whole seconds from a header or a Status; None for a date or an invalid value."""
    try:
        seconds = float(str(value))
    except ValueError:
        return None
    # Limited, so that a faulty proxy cannot suspend a service.
    return min(seconds, RETRY_AFTER_SECONDS_MAX) if seconds > 0 else None
