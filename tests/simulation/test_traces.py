"""One trace per job: the same spans whatever dies, comes twice or comes late."""

import functools
import os
import random
from dataclasses import dataclass

import pytest

from tests.simulation.stack import Stack, gang_job
from tests.simulation.traces import Span, Traces
from vc.bus.memory import Faults
from vc.clock import run_virtual
from vc.messages.trace import ROOT_SPAN, SESSION_SPAN, session_trace, span_id, trace_id
from vc.runtime.hosting.tracing import SpanRef

SEEDS = int(os.environ.get("PYROCLAST_TRACE_SEEDS", "20"))
JOB_SECONDS_MAX = 240.0
REPLICAS = 3
DEATHS_MAX = int(os.environ.get("PYROCLAST_TRACE_DEATHS", "50"))
"""Of one service, each in a run of its own, spread evenly over its calls."""

WARM_SECONDS = 5.0
"""Everybody is ready by then: the others act at once on what a dying service did last."""

COME_BACK_SECONDS = 30.0
"""Whoever died last leads again by then, about 20 s after its death (ADR 0040), and tells."""

TELLING = ("watcher", "job-controller", "plugin-env", "scheduler")
"""Services that tell spans."""

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


@dataclass(frozen=True, kw_only=True)
class Run:
    """What was told of gang jobs that went to their end."""

    traces: Traces
    uids: list[str]
    points: dict[str, range]
    """Calls that each service made on the jobs' way, in its first life."""

    def differences(self) -> list[str]:
        """Jobs whose spans are not exactly the expected ones; wrong times and parents raise."""
        found: list[str] = []
        for uid in self.uids:
            assert_sound(self.traces.of(uid), uid)
            names = {name for _, _, name, _ in self.traces.identities(uid) ^ identities(uid)}
            found += [f"{sorted(names)} of {uid}"] if names else []
        return found


def traced(
    *,
    seed: int = 0,
    faults: Faults | None = None,
    die_at: tuple[str, int] | None = None,
    jobs: int = 1,
) -> Run:
    """Run jobs to their end."""
    traces = Traces()

    async def main() -> Run:
        async with Stack(seed=seed, faults=faults, die_at=die_at, traces=traces) as stack:
            await stack.clock.sleep(WARM_SECONDS)
            before = calls_made(stack)
            names = [f"train-{number}" for number in range(jobs)]
            for name in names:
                await stack.submit(gang_job(name, replicas=REPLICAS, run_seconds=2))
            await stack.until(
                lambda: all(stack.job(n).status.state.phase == "Completed" for n in names),
                seconds=JOB_SECONDS_MAX,
                what="completed",
            )
            points = {name: range(before[name], end) for name, end in calls_made(stack).items()}
            await stack.clock.sleep(COME_BACK_SECONDS)
            uids = [stack.job(name).metadata.uid for name in names]
            return Run(traces=traces, uids=uids, points=points)

    return run_virtual(main())


def calls_made(stack: Stack) -> dict[str, int]:
    return {name: len(lives[0].points) for name, lives in stack.lives.items()}


def identities(uid: str) -> set[tuple[str, str, str, str]]:
    """The expected ones."""
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
        assert str(span.attributes["job"]).startswith("default/train-"), span
        assert span.attributes["queue"] == "default", span
    roots = [span for span in spans if span.name == ROOT_SPAN]
    assert all(root.started == begun for root in roots)


def test_a_gang_job_gives_exactly_the_expected_spans() -> None:
    run = traced()
    (uid,) = run.uids
    names = sorted(span.name for span in run.traces.of(uid))
    assert names == sorted(EXPECTED), "each span is told once"
    assert run.differences() == []


def test_the_steps_follow_one_another() -> None:
    run = traced()
    span = by_name(run.traces.of(run.uids[0]))
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
    run = traced()
    span = by_name(run.traces.of(run.uids[0]))
    assert {each.attributes["job"] for each in span.values()} == {"default/train-0"}
    assert {each.attributes["queue"] for each in span.values()} == {"default"}
    for name in ("job", "pods", "podgroup", "start", "session", "bind"):
        assert span[name].attributes["pods"] == REPLICAS
    assert span["job"].attributes["phase"] == "Completed"


def test_the_session_of_a_job_links_to_a_trace_of_its_own() -> None:
    run = traced(jobs=3)
    for uid in run.uids:
        session = by_name(run.traces.of(uid))["session"]
        uid_of_session = session_trace(str(session.attributes["session.id"]))
        assert session.link == SpanRef(uid_of_session, SESSION_SPAN)
        (own,) = run.traces.of(uid_of_session)
        assert (own.id, own.parent) == (span_id(*session.link), "")
        assert (own.started, own.ended) == (session.started, session.ended)


def test_every_job_has_a_trace_of_its_own() -> None:
    run = traced(jobs=5)
    assert run.differences() == []
    assert len({span.trace for uid in run.uids for span in run.traces.of(uid)}) == len(run.uids)


@functools.cache
def points_of(service: str) -> range:
    """The calls a service makes on the way of one job."""
    return traced().points[service]


@pytest.mark.parametrize("service", TELLING)
@pytest.mark.timeout(400)
def test_a_death_at_any_call_changes_no_identity(service: str) -> None:
    points = points_of(service)[:: 1 + len(points_of(service)) // DEATHS_MAX]
    failures: list[str] = []
    for point in points:
        run = traced(die_at=(service, point))
        failures += [f"{service} dead at {point}: {text}" for text in run.differences()]
    print(f"{service}: {len(points)} deaths, {len(failures)} failures")
    assert failures == []


@pytest.mark.timeout(300)
def test_duplicates_delays_and_random_deaths_change_no_identity() -> None:
    rng = random.Random(1)
    failures: list[str] = []
    again = 0
    for seed in range(SEEDS):
        service = TELLING[seed % len(TELLING)]
        death = (service, rng.choice(points_of(service)))
        run = traced(seed=seed, faults=TROUBLED, die_at=death)
        failures += [f"seed {seed} {death}: {text}" for text in run.differences()]
        again += len(run.traces.of(run.uids[0])) - len(EXPECTED)
    print(f"{SEEDS} seeds, {again} spans told again under their ids, {len(failures)} failures")
    assert failures == []
