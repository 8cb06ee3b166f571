"""One trace per job: the same spans whatever dies, comes twice or comes late."""

import os

import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from tests.simulation.traces import Span, Traces
from vc_bus.memory import Faults
from vc_clock import run_virtual
from vc_messages.trace import ROOT_SPAN, SESSION_SPAN, session_trace, span_id, trace_id
from vc_runtime.tracing import SpanRef

SEEDS = int(os.environ.get("PYROCLAST_TRACE_SEEDS", "60"))
JOB_SECONDS_MAX = 240.0
REPLICAS = 3
OBJECT_SECONDS = 1.0
"""Times in objects are cut to the second."""

EXPECTED = {
    "job": ("job-controller", ""),
    "watch": ("watcher", "job"),
    "podgroup": ("job-controller", "job"),
    "plugin-env": ("plugin-env", "job"),
    "pods": ("job-controller", "job"),
    "session": ("scheduler", "job"),
    "bind": ("scheduler", "session"),
    "start": ("job-controller", "job"),
}
"""Span → service and parent."""

TROUBLED = Faults(
    duplicate_rate=0.2,
    delay_rate=0.3,
    delay_seconds_max=0.5,
    acknowledge_seconds_max=0.05,
    lost_acknowledgement_rate=0.02,
)


def traced(
    *,
    seed: int = 0,
    faults: Faults | None = None,
    die_at: tuple[str, int] | None = None,
    jobs: int = 1,
) -> tuple[Traces, list[str]]:
    """The traces of gang jobs that went to their end, and the jobs' uids."""
    traces = Traces()

    async def main() -> list[str]:
        async with Stack(seed=seed, faults=faults, die_at=die_at, traces=traces) as stack:
            names = [f"train-{number}" for number in range(jobs)]
            for name in names:
                await stack.submit(gang_job(name, replicas=REPLICAS, run_seconds=2))
            await stack.until(
                lambda: all(stack.job(n).status.state.phase == "Completed" for n in names),
                seconds=JOB_SECONDS_MAX,
                what="completed",
            )
            await stack.clock.sleep(10)  # whoever died last comes back and tells
            return [stack.job(name).metadata.uid for name in names]

    return traces, run_virtual(main())


def expected_identities(uid: str) -> set[tuple[str, str, str, str]]:
    return {
        (trace_id(uid), span_id(uid, name), name, service)
        for name, (service, _) in EXPECTED.items()
    }


def by_name(spans: list[Span]) -> dict[str, Span]:
    return {span.name: span for span in spans}


def assert_sound(spans: list[Span], uid: str) -> None:
    """Right parents, nothing negative, nothing before the job."""
    begun = min(span.started for span in spans)
    for span in spans:
        parent = EXPECTED[span.name][1]
        assert span.parent == (span_id(uid, parent) if parent else ""), span
        assert span.ended >= span.started >= begun, span
    roots = [span for span in spans if span.name == ROOT_SPAN]
    assert all(root.started == begun for root in roots)


def test_a_gang_job_gives_exactly_the_expected_spans() -> None:
    traces, (uid,) = traced()
    spans = traces.of(uid)
    assert sorted(span.name for span in spans) == sorted(EXPECTED), "each span is told once"
    assert traces.identities(uid) == expected_identities(uid)
    assert_sound(spans, uid)


def test_the_steps_follow_one_another() -> None:
    traces, (uid,) = traced()
    span = by_name(traces.of(uid))
    job, bind, session = span["job"], span["bind"], span["session"]
    order = [
        job.started,
        span["watch"].ended,
        span["podgroup"].started,
        span["podgroup"].ended,
        span["pods"].started,
        span["pods"].ended,
        session.started,
        session.ended,
        bind.started,
        bind.ended,
        span["start"].ended,
        job.ended,
    ]
    assert order == sorted(order)
    assert span["podgroup"].started <= span["plugin-env"].started <= span["plugin-env"].ended
    assert span["plugin-env"].ended <= span["pods"].started
    assert bind.started <= span["start"].started < span["start"].ended
    assert all(each.ended <= job.ended for each in span.values())


def test_spans_say_whose_they_are_and_nothing_per_pod() -> None:
    traces, (uid,) = traced()
    span = by_name(traces.of(uid))
    assert {each.attributes["job"] for each in span.values()} == {"default/train-0"}
    assert {each.attributes["queue"] for each in span.values()} == {"default"}
    for name in ("job", "pods", "podgroup", "start", "session", "bind"):
        assert span[name].attributes["pods"] == REPLICAS
    assert span["job"].attributes["phase"] == "Completed"


def test_the_session_of_a_job_links_to_a_trace_of_its_own() -> None:
    traces, uids = traced(jobs=3)
    for uid in uids:
        session = by_name(traces.of(uid))["session"]
        uid_of_session = session_trace(str(session.attributes["session.id"]))
        assert session.link == SpanRef(uid_of_session, SESSION_SPAN)
        (own,) = traces.of(uid_of_session)
        assert (own.id, own.parent) == (span_id(*session.link), "")
        assert (own.started, own.ended) == (session.started, session.ended)


def test_every_job_has_a_trace_of_its_own() -> None:
    traces, uids = traced(jobs=5)
    assert [traces.identities(uid) for uid in uids] == [expected_identities(u) for u in uids]


@pytest.mark.parametrize("service", CORE)
@pytest.mark.timeout(300)
def test_a_death_at_any_call_changes_no_identity(service: str) -> None:
    points = 60
    failures: list[str] = []
    for point in range(points):
        traces, (uid,) = traced(die_at=(service, point))
        if traces.identities(uid) != expected_identities(uid):
            missing = expected_identities(uid) ^ traces.identities(uid)
            failures.append(
                f"{service} dead at {point}: {sorted(name for _, _, name, _ in missing)}"
            )
        assert_sound(traces.of(uid), uid)
    print(f"{service}: {points} deaths, {len(failures)} failures")
    assert failures == []


@pytest.mark.timeout(300)
def test_duplicates_delays_and_random_deaths_change_no_identity() -> None:
    failures: list[str] = []
    again = 0
    for seed in range(SEEDS):
        death = (CORE[seed % len(CORE)], seed * 7 % 90)
        traces, (uid,) = traced(seed=seed, faults=TROUBLED, die_at=death)
        if traces.identities(uid) != expected_identities(uid):
            missing = expected_identities(uid) ^ traces.identities(uid)
            failures.append(f"seed {seed} {death}: {sorted(name for _, _, name, _ in missing)}")
        assert_sound(traces.of(uid), uid)
        again += len(traces.of(uid)) - len(EXPECTED)
    print(f"{SEEDS} seeds, {again} spans told again under their ids, {len(failures)} failures")
    assert failures == []
