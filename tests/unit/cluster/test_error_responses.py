"""Error responses of the API server as exceptions: 409, 410 Gone, 429, 5xx."""

from dataclasses import dataclass, field

import msgspec
import pytest

from vc.cluster import (
    AlreadyExistsError,
    ClusterError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    ServerError,
    TooManyRequestsError,
)
from vc.cluster.errors import (
    BadRequestError,
    TooLargeError,
    UnauthorizedError,
    UnavailableError,
    UnsupportedMediaTypeError,
)
from vc.cluster.kubernetes_errors import (
    RETRY_AFTER_SECONDS_MAX,
    answer_error,
    event_error,
    is_other_uid,
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """An answer and what it is on our side."""

    id: str
    code: int
    reason: str = ""
    body: bytes | None = None
    details: dict[str, object] = field(default_factory=dict)
    error: type[ClusterError]


TOO_LARGE_VERSION: dict[str, object] = {
    "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large"}]
}

CASES = (
    Case(id="the name is taken", code=409, reason="AlreadyExists", error=AlreadyExistsError),
    Case(id="it has changed", code=409, reason="Conflict", error=ConflictError),
    Case(id="409 without a known reason means look again", code=409, error=ConflictError),
    Case(id="a watch too old", code=410, reason="Expired", error=GoneError),
    Case(id="a token too old", code=410, reason="Gone", error=GoneError),
    Case(id="no such object", code=404, reason="NotFound", error=NotFoundError),
    Case(id="no such path", code=404, body=b"404 page not found", error=NotFoundError),
    Case(id="not allowed", code=403, reason="Forbidden", error=ForbiddenError),
    Case(id="an unknown user", code=401, reason="Unauthorized", error=UnauthorizedError),
    Case(id="breaks a rule", code=422, reason="Invalid", error=InvalidError),
    Case(id="unreadable", code=400, reason="BadRequest", error=BadRequestError),
    Case(id="wrong method", code=405, reason="MethodNotAllowed", error=BadRequestError),
    Case(id="not acceptable", code=406, reason="NotAcceptable", error=BadRequestError),
    Case(id="too large", code=413, reason="RequestEntityTooLarge", error=TooLargeError),
    Case(id="media type", code=415, reason="UnsupportedMediaType", error=UnsupportedMediaTypeError),
    Case(id="too many", code=429, reason="TooManyRequests", error=TooManyRequestsError),
    Case(id="too many, in plain text", code=429, body=b"slow down", error=TooManyRequestsError),
    Case(id="internal error", code=500, reason="InternalError", error=ServerError),
    Case(id="server time-out", code=500, reason="ServerTimeout", error=UnavailableError),
    Case(id="shutting down", code=503, reason="ServiceUnavailable", error=UnavailableError),
    Case(id="time-out", code=504, reason="Timeout", error=UnavailableError),
    Case(id="request time-out of a proxy", code=408, body=b"", error=UnavailableError),
    Case(id="a gateway's page", code=502, body=b"<html>Bad Gateway</html>", error=UnavailableError),
    Case(id="a redirect", code=302, body=b"", error=ServerError),
    Case(
        id="a version the server has not reached",
        code=504,
        reason="Timeout",
        details=TOO_LARGE_VERSION,
        error=GoneError,
    ),
)


def _body(case: Case) -> bytes:
    if case.body is not None:
        return case.body
    status = {
        "kind": "Status",
        "code": case.code,
        "message": "no",
        "reason": case.reason,
        "details": case.details,
    }
    return msgspec.json.encode(status)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_answer_is_an_error_of_ours(case: Case) -> None:
    error = answer_error(case.code, _body(case), doing="get /x")
    assert type(error) is case.error
    assert error.message == "no" or error.message.startswith("get /x: HTTP ")


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.body is None], ids=lambda case: case.id
)
def test_an_error_event_is_the_same_error(case: Case) -> None:
    assert type(event_error(_body(case), doing="watch /x")) is case.error


@pytest.mark.parametrize(
    ("header", "detail", "seconds"),
    [
        ("7", None, 7.0),
        (None, 3, 3.0),
        (None, None, 1.0),
        ("0", 0, 1.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None, 1.0),
        ("86400", None, RETRY_AFTER_SECONDS_MAX),
    ],
)
def test_how_long_to_wait(header: str | None, detail: int | None, seconds: float) -> None:
    details = {} if detail is None else {"retryAfterSeconds": detail}
    body = msgspec.json.encode({"reason": "TooManyRequests", "details": details})
    headers = {} if header is None else {"Retry-After": header}
    error = answer_error(429, body, doing="get /x", headers=headers)
    assert isinstance(error, TooManyRequestsError)
    assert error.retry_after_seconds == seconds


def test_a_refused_uid_is_told_from_other_mistakes() -> None:
    def invalid(field: str) -> InvalidError:
        return InvalidError("no", details={"causes": [{"field": field, "message": "no"}]})

    assert is_other_uid(invalid("metadata.uid"))
    assert not is_other_uid(invalid("spec.minAvailable"))
    assert not is_other_uid(InvalidError("no"))


def test_a_hostile_page_leaves_only_an_excerpt() -> None:
    error = answer_error(500, b"\xff" * 1_000_000, doing="get /x")
    assert len(error.message) < 300
