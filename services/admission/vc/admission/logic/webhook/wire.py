"""AdmissionReviews as bytes: decoded and encoded within bounds.

An invalid body raises a `ReviewError`, which the shell answers with 400 and the reason.
No other error is raised, whatever the bytes are. An answer that would be too large
becomes a refusal that says so.
"""

import base64
from typing import Final

import msgspec

from vc.admission.logic.webhook.endpoints import Endpoint
from vc.model.api.struct import ApiStruct, JsonObject
from vc.model.faults import describe
from vc.validation.reading import NESTING_MAX, too_deep
from vc.validation.request import ReviewRequest
from vc.validation.result import MESSAGE_CHARACTERS_MAX, cut

BODY_BYTES_MAX: Final = 3 * 1024 * 1024
"""API servers accept objects of 1.5 MB, and an update carries two."""

ANSWER_BYTES_MAX: Final = 1_000_000

API_VERSION: Final = "admission.k8s.io/v1"
_KIND: Final = "AdmissionReview"
_DENIED_CODE: Final = 403
_UID_CHARACTERS_MAX: Final = 256
_ERROR_CHARACTERS_MAX: Final = 300


class ReviewError(ValueError):
    """A body that is no AdmissionReview for this path, with the reason."""


class _AdmissionReview(ApiStruct, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    request: ReviewRequest | None = None


class ReviewResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The response of an AdmissionReview."""

    allowed: bool
    message: str = ""
    warnings: list[str] = []
    patch: list[JsonObject] = []
    fault: str = ""
    """The error of our own rules, for the problem rows and not for the answer."""


_decoder: Final = msgspec.json.Decoder(_AdmissionReview)


def parse_review(body: bytes, *, endpoint: Endpoint) -> ReviewRequest:
    """The request of an AdmissionReview. Raises ReviewError for anything else."""
    # Checked before decoding, which needs a multiple of the memory.
    if len(body) > BODY_BYTES_MAX:
        raise ReviewError(f"the body has {len(body)} bytes; at most {BODY_BYTES_MAX} are read")
    try:
        review = _decoder.decode(body)
    except Exception as error:  # noqa: BLE001 - of damaged bytes, whatever it is
        reason = cut(describe(error), _ERROR_CHARACTERS_MAX)
        raise ReviewError(f"the body is not an AdmissionReview: {reason}") from None
    if review.kind != _KIND or review.api_version != API_VERSION:
        raise ReviewError(f"expected kind {_KIND} of {API_VERSION}")
    request = review.request
    if request is None:
        raise ReviewError("the AdmissionReview has no request")
    # The uid is echoed in the answer, so its size is bounded.
    if not request.uid or len(request.uid) > _UID_CHARACTERS_MAX:
        raise ReviewError("the request's uid is missing or too long")
    # A request on the wrong path would be validated by rules of another kind.
    if (request.kind.group, request.kind.kind) != (endpoint.kind.group, endpoint.kind.kind):
        given = cut(f"{request.kind.kind} of {request.kind.group!r}", _ERROR_CHARACTERS_MAX)
        raise ReviewError(f"{endpoint.path} answers about {endpoint.kind.kind}, not {given}")
    # Recursive code must never see such an object.
    if too_deep(request.object) or too_deep(request.old_object):
        raise ReviewError(f"the object is nested deeper than {NESTING_MAX} levels")
    return request


def answer(request: ReviewRequest, response: ReviewResponse) -> bytes:
    """The AdmissionReview with the response."""
    encoded = _encode(request, response)
    # A refusal with a reason is more useful than an answer that is too large.
    if len(encoded) <= ANSWER_BYTES_MAX:
        return encoded
    message = (
        f"the defaults of this object would take {len(encoded)} bytes; at most "
        f"{ANSWER_BYTES_MAX} are sent. Make it smaller"
    )
    return _encode(request, ReviewResponse(allowed=False, message=message))


def _encode(request: ReviewRequest, response: ReviewResponse) -> bytes:
    body: JsonObject = {"uid": request.uid, "allowed": response.allowed}
    if response.warnings:
        body["warnings"] = response.warnings
    if not response.allowed:
        body["status"] = {
            "code": _DENIED_CODE,
            "reason": "Forbidden",
            "message": cut(response.message, MESSAGE_CHARACTERS_MAX),
        }
    elif response.patch:
        body["patchType"] = "JSONPatch"
        body["patch"] = base64.b64encode(msgspec.json.encode(response.patch)).decode()
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": _KIND, "response": body})
