"""Jobs on a stack of processes, read back from its Jaeger: one trace a job, over all services."""

import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from tests.integration.stack.running import JOBS_PATH, RunningStack, eventually, require
from vc.messages.trace import SESSION_SPAN, session_trace, span_id, trace_id

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.redis,
    pytest.mark.jaeger,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("stack"),
]

REQUEST_SECONDS_MAX = 10.0
PODS = 3
JOBS = ("one", "two", "three")

EXPECTED = {
    "job": ("vc-job-controller", ""),
    "watch": ("vc-watcher", "job"),
    "podgroup": ("vc-job-controller", "job"),
    "plugin-env": ("vc-plugin-env", "job"),
    "plugin-svc": ("vc-plugin-svc", "job"),
    "pods": ("vc-job-controller", "job"),
    "session": ("vc-scheduler", "job"),
    "bind": ("vc-scheduler", "session"),
    "start": ("vc-job-controller", "job"),
}
"""Span → service and parent."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    require("kafka", "redis", "jaeger")
    running = RunningStack(tmp_path_factory.mktemp("traces"))
    running.up()
    try:
        yield running
    finally:
        running.run("stack-down")


def run_to_the_end(stack: RunningStack, name: str) -> str:
    """The uid of a job that was submitted and is Completed."""
    eventually(lambda: stack.phase(name) == "Completed", f"{name} is Completed")
    uid: str = stack.request("GET", f"{JOBS_PATH}/{name}")["metadata"]["uid"]
    return uid


def traces_of(stack: RunningStack, uid: str) -> list[dict[str, Any]]:
    """What Jaeger has under the trace id of a uid."""
    url = f"{stack.file.jaeger}/api/traces/{trace_id(uid)}"
    try:
        with urllib.request.urlopen(url, timeout=REQUEST_SECONDS_MAX) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]
            return found
    except urllib.error.HTTPError as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        return []


def whole_trace(stack: RunningStack, uid: str) -> dict[str, Any]:
    """The one trace of a job, when all its spans have arrived."""

    def names() -> set[str]:
        return {span["operationName"] for trace in traces_of(stack, uid) for span in trace["spans"]}

    eventually(lambda: names() >= EXPECTED.keys(), f"all spans of {uid}, not only {names()}")
    (trace,) = traces_of(stack, uid)
    return trace


def parent_of(span: dict[str, Any]) -> str:
    """The id of the parent; empty for a root."""
    ids = [r["spanID"] for r in span["references"] if r["refType"] == "CHILD_OF"]
    assert len(ids) <= 1
    return str(ids[0]) if ids else ""


def tags_of(span: dict[str, Any]) -> dict[str, Any]:
    return {tag["key"]: tag["value"] for tag in span["tags"]}


def assert_whole(trace: dict[str, Any], *, uid: str) -> None:
    """Every expected span and no other, by the right service and under the right parent."""
    found = {
        (
            span["operationName"],
            span["spanID"],
            trace["processes"][span["processID"]]["serviceName"],
            parent_of(span),
        )
        for span in trace["spans"]
    }
    assert found == {
        (name, span_id(uid, name), service, span_id(uid, parent) if parent else "")
        for name, (service, parent) in EXPECTED.items()
    }


def shown(trace: dict[str, Any]) -> str:
    """The trace as a table, in milliseconds after the job's creation."""
    begun = min(span["startTime"] for span in trace["spans"])
    lines = [
        f"{span['operationName']:<11}{(span['startTime'] - begun) / 1e3:>9.1f}"
        f"{span['duration'] / 1e3:>9.1f}"
        for span in sorted(trace["spans"], key=lambda span: int(span["startTime"]))
    ]
    return "\n".join(lines)


def test_each_job_is_one_trace_over_all_services(stack: RunningStack) -> None:
    for name in JOBS:
        stack.submit_gang(name, pods=PODS)
    for name in JOBS:
        uid = run_to_the_end(stack, name)
        trace = whole_trace(stack, uid)
        print(f"{name}\n{shown(trace)}")
        assert trace["traceID"] == trace_id(uid)
        assert len(trace["spans"]) == len(EXPECTED), "each span is told once"
        assert_whole(trace, uid=uid)
        assert {tags_of(span)["job"] for span in trace["spans"]} == {f"default/{name}"}
        assert all(span["duration"] >= 0 for span in trace["spans"])


def test_the_steps_of_a_job_come_in_their_order(stack: RunningStack) -> None:
    stack.submit_gang("ordered", pods=PODS)
    trace = whole_trace(stack, run_to_the_end(stack, "ordered"))
    span = {each["operationName"]: each for each in trace["spans"]}
    begins = [span[name]["startTime"] for name in ("job", "podgroup", "pods", "session", "bind")]
    assert begins == sorted(begins)
    ends = {name: each["startTime"] + each["duration"] for name, each in span.items()}
    finished = [ends[name] for name in ("podgroup", "pods", "bind", "start", "job")]
    assert finished == sorted(finished)


def test_the_session_links_to_its_own_trace(stack: RunningStack) -> None:
    stack.submit_gang("linked", pods=PODS)
    trace = whole_trace(stack, run_to_the_end(stack, "linked"))
    (session,) = [span for span in trace["spans"] if span["operationName"] == SESSION_SPAN]
    uid = session_trace(tags_of(session)["session.id"])
    linked = {
        (r["traceID"], r["spanID"])
        for r in session["references"]
        if r["traceID"] != trace["traceID"]
    }
    assert linked == {(trace_id(uid), span_id(uid, SESSION_SPAN))}
    (own,) = traces_of(stack, uid)
    assert [span["spanID"] for span in own["spans"]] == [span_id(uid, SESSION_SPAN)]


def test_killed_services_give_the_same_spans(stack: RunningStack) -> None:
    """Those that tell again from the objects; spans that others had not sent yet die with them."""
    stack.submit_gang("killed", pods=PODS)
    for service in ("job-controller", "watcher"):
        os.kill(stack.file.entry(service).pid.number, signal.SIGKILL)
    uid = run_to_the_end(stack, "killed")
    assert_whole(whole_trace(stack, uid), uid=uid)
