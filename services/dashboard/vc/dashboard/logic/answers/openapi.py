"""The OpenAPI document, generated from the structs of the answers."""

from typing import Any, Final

import msgspec

from vc.dashboard.logic.answers import future_answers, shapes
from vc.dashboard.logic.answers.query_parameters import LIMIT_DEFAULT, LIMIT_MAX
from vc.model.api.struct import JsonObject

VERSION: Final = "1.0.0"
_REFERENCE: Final = "#/components/schemas/{name}"

_LIMIT: Final[JsonObject] = {
    "name": "limit",
    "in": "query",
    "description": "How many at the most.",
    "schema": {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
}


def _text(name: str, place: str, description: str) -> JsonObject:
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": description,
        "schema": {"type": "string"},
    }


OPERATIONS: Final[dict[str, tuple[str, str, type, list[JsonObject]]]] = {
    "/api/v1/jobs": (
        "listJobs",
        "Jobs, with the reason of those that wait.",
        shapes.JobList,
        [
            _LIMIT,
            _text("namespace", "query", "Only of this namespace."),
            _text("queue", "query", "Only of this queue."),
            _text("phase", "query", "Only in this phase."),
            _text("after", "query", "`next` of the page before."),
        ],
    ),
    "/api/v1/jobs/{namespace}/{name}": (
        "getJob",
        "A job, its pods, its group and why it waits.",
        shapes.JobDetail,
        [_text("namespace", "path", "The job's namespace."), _text("name", "path", "Its name.")],
    ),
    "/api/v1/queues": (
        "listQueues",
        "The tree of queues: guarantee, deserved, allocated, capability, requested.",
        shapes.QueueTree,
        [_LIMIT],
    ),
    "/api/v1/sessions": (
        "listSessions",
        "Sessions of the scheduler, the newest first, and whether they can still be shown in full.",
        shapes.SessionList,
        [_LIMIT],
    ),
    "/api/v1/usage": (
        "getUsage",
        "What was held: CPU-hours, GiB-hours and device-hours.",
        shapes.UsageReport,
        [
            _LIMIT,
            _text("by", "query", "queue, namespace, job, day; several with commas."),
            _text("from", "query", "A day (2026-11-16) or a time, of UTC."),
            _text("to", "query", "The same; a day is included whole."),
            _text("queue", "query", "Only of this queue."),
            _text("namespace", "query", "Only of this namespace."),
            _text("job", "query", "Only of this job."),
            _text(
                "after",
                "query",
                "Page by page, in the order of the cells: those of the last line, with commas; "
                "empty for the first page. Without it the largest come first.",
            ),
        ],
    ),
    "/api/v1/jobs/{namespace}/{name}/explanation": (
        "explainJob",
        "Why a job waits, who holds what it waits for, and an estimate of its start.",
        future_answers.Explanation,
        [_text("namespace", "path", "The job's namespace."), _text("name", "path", "Its name.")],
    ),
    "/api/v1/queues/{name}/waiting": (
        "listWaiting",
        "Who waits in a queue, in order, for what, and what the queue may still take.",
        future_answers.WaitingList,
        [
            _text("name", "path", "The queue."),
            _LIMIT,
            _text("estimate", "query", "`true`: with estimates of when they start."),
        ],
    ),
    "/api/v1/shares": (
        "listShares",
        "What queues have, ask for and deserve, counted by the plugins that decide.",
        future_answers.QueueShares,
        [],
    ),
    "/api/v1/sessions/{id}": (
        "getSession",
        "A session in full, and whether it can be run again.",
        future_answers.SessionDetail,
        [_text("id", "path", "The session's id.")],
    ),
    "/api/v1/sessions/{id}/replay": (
        "replaySession",
        "Run a session again and compare what it decides, byte for byte.",
        future_answers.SessionReplay,
        [_text("id", "path", "The session's id.")],
    ),
    "/invariants": ("getInvariants", "What must never be, and is.", shapes.Invariants, []),
}
"""Path → operation id, summary, answer, parameters of GET."""

WHAT_IF: Final = "/api/v1/what-if"


def openapi() -> JsonObject:
    """The OpenAPI document, made of the types that requests and answers really have."""
    types = [answer for _, _, answer, _ in OPERATIONS.values()]
    types += [shapes.Problem, future_answers.WhatIf, future_answers.WhatIfRequest]
    _, schemas = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Pyroclast dashboard",
            "version": VERSION,
            "description": "Answers about jobs, queues and sessions, and about what would be.",
        },
        "paths": {
            **{
                path: {"get": _operation(name, summary, answer, parameters)}
                for path, (name, summary, answer, parameters) in OPERATIONS.items()
            },
            WHAT_IF: {"post": _what_if()},
        },
        "components": {"schemas": {name: schemas[name] for name in sorted(schemas)}},
    }


def _what_if() -> JsonObject:
    request_type = {"$ref": _REFERENCE.format(name=future_answers.WhatIfRequest.__name__)}
    summary = (
        "Try jobs, queues, nodes, quotas and storage on the cluster as it is; nothing is changed."
    )
    return {
        **_operation("whatIf", summary, future_answers.WhatIf, []),
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": request_type}},
        },
    }


def _operation(
    name: str, summary: str, answer: type[Any], parameters: list[JsonObject]
) -> JsonObject:
    return {
        "operationId": name,
        "summary": summary,
        "parameters": parameters,
        "responses": {
            "200": _response("The answer.", answer),
            "400": _response("A parameter cannot be used.", shapes.Problem),
            "404": _response("There is no such object.", shapes.Problem),
            "409": _response("It cannot be run again.", shapes.Problem),
            "500": _response("A fault of the dashboard; its log says more.", shapes.Problem),
            "503": _response("Too many ask, or a store is away.", shapes.Problem),
        },
    }


def _response(description: str, answer: type[Any]) -> JsonObject:
    schema = {"$ref": _REFERENCE.format(name=answer.__name__)}
    return {"description": description, "content": {"application/json": {"schema": schema}}}
