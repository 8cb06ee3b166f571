"""OTLP export: what leaves the process, and what it costs when no collector answers."""

import asyncio
import subprocess
import sys

import pytest

from tests.unit.tracing.collector import collector
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock
from vc.messages.trace import span_id, trace_id
from vc.runtime.hosting.adapters import Adapters
from vc.runtime.hosting.tracing import (
    CLOSE_SECONDS_MAX,
    ENDPOINT_VARIABLE,
    NoTracer,
    OtlpTracer,
    Span,
    SpanRef,
)
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.verbs.api import Api
from vc.snapshot.memory import MemorySnapshot

STARTED = 1_800_000_000.25
SLACK_SECONDS = 2.0


def adapters() -> Adapters:
    clock = LoopClock(wall_at_zero=STARTED)
    return Adapters(
        bus=MemoryBus(clock),
        cluster=StoreCluster(Api(clock=clock)),
        snapshot=MemorySnapshot(),
        clock=clock,
    )


def test_without_an_endpoint_nothing_is_imported() -> None:
    program = (
        "import sys, vc.runtime.hosting.main, vc.watcher.service, vc.scheduler.service;"
        "from vc.runtime.hosting.tracing import tracer_from_env;"
        "assert not tracer_from_env('x').enabled;"
        "print(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "False"


async def test_a_context_without_an_endpoint_has_no_tracer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(ENDPOINT_VARIABLE, raising=False)
    given = adapters()
    assert isinstance(given.context("watcher").tracer, NoTracer)
    await given.close()


async def test_the_end_of_a_process_sends_what_every_service_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with collector() as listening:
        monkeypatch.setenv(ENDPOINT_VARIABLE, listening.url)
        given = adapters()
        for name in ("watcher", "scheduler"):
            context = given.context(name)
            context.tracer.send(Span("uid", "step", started=STARTED, ended=STARTED))
        await given.close()
        assert sorted(listening.services) == ["vc-scheduler", "vc-watcher"]
        assert len(listening.spans()) == 2


def test_a_span_carries_its_identity_times_parent_and_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with collector() as listening:
        monkeypatch.setenv(ENDPOINT_VARIABLE, listening.url)
        tracer = OtlpTracer("scheduler")
        tracer.send(Span("uid", "job", started=STARTED, ended=STARTED + 9))
        tracer.send(
            Span(
                "uid",
                "session",
                started=STARTED,
                ended=STARTED + 0.5,
                attributes={"job": "default/train", "pods": 3},
                link=SpanRef("session/1-2", "session"),
            )
        )
        tracer.close()
        sent = {span.name: span for span in listening.spans()}
    job, session = sent["job"], sent["session"]
    assert {span.trace_id.hex() for span in (job, session)} == {trace_id("uid")}
    assert job.span_id.hex() == span_id("uid", "job")
    assert (job.parent_span_id, session.parent_span_id) == (b"", job.span_id)
    assert session.start_time_unix_nano == int(STARTED * 1e6) * 1_000
    assert session.end_time_unix_nano - session.start_time_unix_nano == 500_000_000
    (link,) = session.links
    assert link.trace_id.hex() == trace_id("session/1-2")
    assert link.span_id.hex() == span_id("session/1-2", "session")
    assert {a.key: a.value.string_value or a.value.int_value for a in session.attributes} == {
        "job": "default/train",
        "pods": 3,
    }


async def test_a_collector_that_hangs_holds_up_the_end_no_longer_than_its_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with collector(holds=True) as hanging:
        monkeypatch.setenv(ENDPOINT_VARIABLE, hanging.url)
        given = adapters()
        for name in ("watcher", "scheduler", "job-controller"):
            given.context(name).tracer.send(Span("uid", "job", started=STARTED, ended=STARTED))
        loop = asyncio.get_running_loop()
        began = loop.time()
        await given.close()
        assert loop.time() - began < CLOSE_SECONDS_MAX + SLACK_SECONDS
