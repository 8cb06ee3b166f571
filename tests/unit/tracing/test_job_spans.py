"""The spans that the watcher and the job-controller send for a job, and those they leave out."""

import msgspec

from tests.builders.contexts import memory_context
from tests.unit.job_controller.builders import NOW, UID, job, observed, pod, podgroup, task
from tests.unit.tracing.recorded_spans import RecordedSpans
from vc.clock import LoopClock, run_virtual
from vc.job_controller.logic.phases import COMPLETED, RUNNING
from vc.job_controller.spans import LifecycleSpans
from vc.messages.effects import CreateObject, PatchObject
from vc.model.api.job import DependsOn, Job, JobCondition
from vc.model.api.kinds import JOBS, PODS
from vc.model.values.times import format_time
from vc.runtime.applying.effects import Outcome, OutcomeStatus
from vc.runtime.hosting.context import Context
from vc.watcher.spans import YOUNG_SECONDS
from vc.watcher.spans import JobSpans as WatcherSpans

BORN = NOW - 100
"""When the builders' jobs were created."""


def world(*, at: float = NOW) -> tuple[Context, RecordedSpans]:
    clock, recorded = LoopClock(wall_at_zero=at), RecordedSpans()
    context = memory_context("under-test", clock=clock, tracer=recorded)
    return context, recorded


def made_pod(number: int) -> Outcome:
    effect = CreateObject(kind=PODS, namespace="ns", name=f"p-{number}", body={})
    return Outcome(effect=effect, status=OutcomeStatus.DONE)


def entered(phase: str, *, status: OutcomeStatus = OutcomeStatus.DONE) -> Outcome:
    patch = {"status": {"state": {"phase": phase}}}
    return Outcome(effect=PatchObject(kind=JOBS, name="j", patch=patch), status=status)


def acted_on(of: Job) -> Job:
    condition = JobCondition(status="Pending", last_transition_time=format_time(BORN + 1))
    return msgspec.structs.replace(
        of, status=msgspec.structs.replace(of.status, conditions=[condition])
    )


# -- the job-controller ------------------------------------------------------------------------


def test_a_large_job_has_one_span_from_its_first_to_its_last_pod() -> None:
    async def main() -> None:
        context, recorded = world()
        spans = LifecycleSpans(context)
        of = job(tasks=[task(replicas=3)])
        spans.after_decision(observed(of), [made_pod(0), made_pod(1)], began=NOW - 5)
        assert recorded.spans == []
        spans.after_decision(observed(of, pod(0), pod(1)), [made_pod(2)], began=NOW - 3)
        assert [(n, s) for _, n, s, _ in recorded.spans] == [("pods", NOW - 5)]

    run_virtual(main())


def test_tasks_that_wait_for_others_do_not_hold_up_the_span_of_the_pods() -> None:
    async def main() -> None:
        context, recorded = world()
        late = task("late", depends_on=DependsOn(name=["worker"]))
        of = job(tasks=[task(replicas=1), late])
        LifecycleSpans(context).after_decision(observed(of), [made_pod(0)], began=NOW)
        assert [name for _, name, _, _ in recorded.spans] == ["pods"]

    run_virtual(main())


def test_a_later_attempt_has_spans_of_its_own() -> None:
    async def main() -> None:
        context, recorded = world()
        of = job(version=1, tasks=[task(replicas=1)])
        LifecycleSpans(context).after_decision(observed(of, pod(0)), [made_pod(0)], began=NOW)
        assert [name for _, name, _, _ in recorded.spans] == ["pods-2"]

    run_virtual(main())


def test_a_write_that_failed_is_no_end() -> None:
    async def main() -> None:
        context, recorded = world()
        outcomes = [entered(COMPLETED, status=OutcomeStatus.STALE)]
        LifecycleSpans(context).after_decision(observed(job(RUNNING)), outcomes, began=NOW)
        assert recorded.spans == []

    run_virtual(main())


def test_the_root_goes_from_creation_to_the_end() -> None:
    async def main() -> None:
        context, recorded = world()
        LifecycleSpans(context).after_decision(
            observed(job(RUNNING)), [entered(COMPLETED)], began=NOW
        )
        ((uid, name, started, ended),) = recorded.spans
        assert (uid, name, started) == (UID, "job", BORN)
        assert ended >= NOW

    run_virtual(main())


def test_a_resumed_job_gets_a_later_root() -> None:
    async def main() -> None:
        context, recorded = world()
        spans = LifecycleSpans(context)
        for phase in ("Aborted", "Aborted", COMPLETED):
            spans.after_decision(observed(job(RUNNING)), [entered(phase)], began=NOW)
        assert [name for _, name, _, _ in recorded.spans] == ["job", "job"]

    run_virtual(main())


def test_after_a_restart_what_is_young_is_told_from_the_objects() -> None:
    async def main() -> None:
        context, recorded = world()
        pods = [pod(index, created_at=NOW - 10 + index) for index in range(2)]
        seen = observed(job(COMPLETED, since=NOW - 2), *pods)
        spans = LifecycleSpans(context)
        for _ in range(2):
            spans.before_decision(seen)
        told = {name: (started, ended) for _, name, started, ended in recorded.spans}
        assert told == {"pods": (NOW - 10, NOW - 9), "job": (BORN, NOW - 1)}
        assert len(recorded.spans) == 2

    run_virtual(main())


def test_after_a_restart_the_history_is_not_told_again() -> None:
    async def main() -> None:
        context, recorded = world()
        old = job(COMPLETED, since=NOW - 3_600)
        LifecycleSpans(context).before_decision(
            observed(old, pod(0, created_at=NOW - 3_700), pod(1))
        )
        assert [name for _, name, _, _ in recorded.spans if name == "job"] == []

    run_virtual(main())


def test_pods_and_groups_of_another_job_of_the_name_are_not_told() -> None:
    async def main() -> None:
        context, recorded = world()
        of_removed_tasks = [pod(index, job_uid="older", created_at=NOW) for index in range(2)]
        LifecycleSpans(context).before_decision(
            observed(job(), *of_removed_tasks, podgroup=podgroup(version=3))
        )
        assert recorded.spans == []

    run_virtual(main())


# -- the watcher -------------------------------------------------------------------------------


def test_a_new_job_is_told_however_late_the_watcher_comes() -> None:
    async def main() -> None:
        context, recorded = world(at=BORN + YOUNG_SECONDS * 10)
        spans = WatcherSpans(context)
        assert spans.wants(job(""))
        spans.published(job(""))
        assert not spans.wants(job(""))
        assert [(n, s) for _, n, s, _ in recorded.spans] == [("watch", BORN)]

    run_virtual(main())


def test_a_job_that_others_act_on_is_told_only_while_it_is_young() -> None:
    async def main() -> None:
        young, _ = world(at=BORN + YOUNG_SECONDS - 1)
        old, _ = world(at=BORN + YOUNG_SECONDS + 1)
        assert WatcherSpans(young).wants(acted_on(job()))
        assert not WatcherSpans(old).wants(acted_on(job()))

    run_virtual(main())


def test_a_job_that_others_act_on_was_published_before_they_did() -> None:
    async def main() -> None:
        context, recorded = world(at=BORN + 30)
        WatcherSpans(context).published(acted_on(job()))
        assert recorded.spans == [(UID, "watch", BORN, BORN + 1)]

    run_virtual(main())
