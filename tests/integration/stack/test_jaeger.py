"""Spans of a job, sent by several services to a real Jaeger, are one trace with the right parents."""

import asyncio
import json
import uuid
from typing import Any

import pytest

from vc.messages.trace import ROOT_SPAN, span_id, trace_id
from vc.parts import jaeger_address, require_or_skip_reason
from vc.parts.probe import http_get
from vc.runtime.hosting.tracing import ENDPOINT_VARIABLE, OtlpTracer, Span

pytestmark = [pytest.mark.jaeger, pytest.mark.slow]

WAIT_SECONDS_MAX = 30.0
POLL_SECONDS = 0.2
STARTED = 1_800_000_000.0

SPANS = (
    ("watcher", ROOT_SPAN, ROOT_SPAN, 0.0, 9.0),
    ("job-controller", "create-podgroup", ROOT_SPAN, 0.1, 0.2),
    ("plugin-env", "decorate-env", "create-podgroup", 0.2, 0.3),
    ("scheduler", "bind", ROOT_SPAN, 0.4, 0.5),
)
"""Service, span, parent, start and end in seconds after STARTED."""


def send(job_uid: str) -> None:
    """What four processes send; each has a tracer of its own, and one sends twice."""
    for service, name, parent, started, ended in (*SPANS, SPANS[-1]):
        tracer = OtlpTracer(service)
        begun, done = STARTED + started, STARTED + ended
        tracer.send(Span(job_uid, name, started=begun, ended=done, parent=parent))
        tracer.close()


async def trace_of(query_url: str, job_uid: str) -> dict[str, Any]:
    """The trace when all its spans are there."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + WAIT_SECONDS_MAX
    while loop.time() < deadline:
        answer = await http_get(f"{query_url}/api/traces/{trace_id(job_uid)}")
        if answer.status == 200:
            (trace,) = json.loads(answer.body)["data"]
            if len({span["spanID"] for span in trace["spans"]}) == len(SPANS):
                found: dict[str, Any] = trace
                return found
        await asyncio.sleep(POLL_SECONDS)
    pytest.fail(f"the trace of {job_uid} is not whole within {WAIT_SECONDS_MAX:.0f} s")


def parents_in(trace: dict[str, Any]) -> dict[str, set[str]]:
    """The ids of each span's parents, by the span's name."""
    parents: dict[str, set[str]] = {}
    for span in trace["spans"]:
        ids = {r["spanID"] for r in span["references"] if r["refType"] == "CHILD_OF"}
        parents.setdefault(span["operationName"], set()).update(ids)
    return parents


def services_in(trace: dict[str, Any]) -> dict[str, str]:
    """The service of each span, by the span's name."""
    return {
        span["operationName"]: trace["processes"][span["processID"]]["serviceName"]
        for span in trace["spans"]
    }


async def test_a_job_is_one_trace_over_all_services_with_correct_parents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reason = require_or_skip_reason("jaeger")
    if reason:
        pytest.skip(reason)
    job_uid = str(uuid.uuid4())
    async with jaeger_address() as jaeger:
        monkeypatch.setenv(ENDPOINT_VARIABLE, jaeger.otlp_endpoint)
        await asyncio.to_thread(send, job_uid)
        trace = await trace_of(jaeger.query_url, job_uid)

    expected = {
        name: {span_id(job_uid, parent)} if name != ROOT_SPAN else set()
        for _, name, parent, _, _ in SPANS
    }
    assert parents_in(trace) == expected
    assert services_in(trace) == {name: f"vc-{service}" for service, name, _, _, _ in SPANS}
    root = next(span for span in trace["spans"] if span["operationName"] == ROOT_SPAN)
    assert root["spanID"] == span_id(job_uid, ROOT_SPAN)
    assert (root["startTime"], root["duration"]) == (int(STARTED * 1e6), 9_000_000)
