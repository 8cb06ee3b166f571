"""The entry point: maps an AdmissionReview of one object and the world to a response.

The rules are `vc.validation`. This module turns their result into the answer of a webhook: allowed
or not, the message, the patch and the warnings. It never raises.
"""

from typing import Final

from vc.admission.logic.webhook.endpoints import Endpoint
from vc.admission.logic.webhook.wire import ReviewResponse
from vc.model.faults import describe
from vc.validation.json_patch import json_patch
from vc.validation.request import ReviewRequest
from vc.validation.result import ValidationResult, cut
from vc.validation.rules import defaulted, validate
from vc.validation.world import World

FAULT_CHARACTERS_MAX: Final = 300


def review(request: ReviewRequest, world: World, *, endpoint: Endpoint) -> ReviewResponse:
    """Whether the write is allowed, its patch, and the warnings for its author.

    An object on which our own rules fail is refused with the error. A 500 would not help its
    author, and the object would be admitted where webhooks ignore failures.
    """
    try:
        return _review(request, world, endpoint=endpoint)
    except Exception as error:  # noqa: BLE001 - of one object, whatever it is
        fault = cut(f"{type(error).__name__}: {describe(error)}", FAULT_CHARACTERS_MAX)
        message = f"{endpoint.kind.kind} has a field that cannot be read: {fault}; correct it"
        return ReviewResponse(allowed=False, message=message, fault=fault)


def _review(request: ReviewRequest, world: World, *, endpoint: Endpoint) -> ReviewResponse:
    # Status and scale writes of controllers must never be blocked by rules of the spec.
    if request.sub_resource or request.operation not in endpoint.operations:
        return ReviewResponse(allowed=True)
    if endpoint.mutates:
        return _mutate(request, world, endpoint=endpoint)
    found = ValidationResult(world.settings.compat)
    validate(found, request, world, kind=endpoint.kind)
    return ReviewResponse(
        allowed=not found.problems, message=found.message, warnings=found.warnings
    )


def _mutate(request: ReviewRequest, world: World, *, endpoint: Endpoint) -> ReviewResponse:
    raw = request.object
    if raw is None:
        return ReviewResponse(allowed=True)
    return ReviewResponse(
        allowed=True, patch=json_patch(raw, defaulted(request, world, kind=endpoint.kind))
    )
