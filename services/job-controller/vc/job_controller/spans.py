"""The spans `job`, `podgroup`, `pods` and `start`, exported when they are finished.

Exact times are measured in the call that carried out a decision. Steps that an earlier process
finished but did not export are derived from the objects, to full seconds, while they are recent.
Older steps were exported, and a restart must not export the history of all jobs again.

The end of a job is exported in every phase in which it can stay. A job that was aborted and resumed
exports its root again under the same id.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from vc.job_controller.logic import ObservedJob
from vc.job_controller.logic.phases import EXPIRING, PENDING, RUNNING
from vc.jobs.defaults import replicas_of, with_defaults
from vc.messages.effects import CreateObject, PatchObject
from vc.messages.trace import PODGROUP_SPAN, PODS_SPAN, ROOT_SPAN, START_SPAN, attempt_span
from vc.model.api import keys
from vc.model.api.job import Job
from vc.model.api.kinds import JOBS, PODGROUPS, PODS
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod
from vc.model.values.times import parse_time
from vc.runtime.applying.effects import Outcome, OutcomeStatus
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.tracing import Span, SpanReporter

YOUNG_SECONDS: Final = 60.0
"""How long after its end a step is exported from the objects alone."""

BEGUN_MAX: Final = 10_000
"""Limit of jobs for which the beginning of a step is remembered."""

_OBJECT_SECONDS: Final = 1.0
"""Times in objects are truncated to seconds, so the true end is at most this much later."""


class TracedStep(msgspec.Struct, frozen=True, kw_only=True):
    """A finished step of a job."""

    name: str
    started: float
    ended: float
    edition: str = ""


class LifecycleSpans:
    """Exports the spans of the jobs of this replica."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._reporter = SpanReporter(context.tracer)
        self._begun: dict[tuple[str, str], float] = {}
        """When a step of several decisions began, by job uid and
        span. Only a time, no open span."""

    def before_decision(self, seen: ObservedJob) -> None:
        """Before a decision: note whether the gang is bound, and
        export steps that the objects show."""
        job = seen.job
        # Most decisions happen when tracing is off or all spans are
        # exported, and cost nothing here.
        if not self._reporter.enabled or self._has_exported_all(job):
            return
        now = self._clock.wall()
        if job.status.state.phase == PENDING and is_bound(seen):
            self._begin(job, START_SPAN, at=now)
        for step in shown_steps(seen, now):
            # Older steps were exported by an earlier process.
            if now - step.ended < YOUNG_SECONDS:
                self._export(job, step)

    def _has_exported_all(self, job: Job) -> bool:
        """Whether all spans were exported. Most decisions come later
        and need not read the pods again."""
        uid, phase = job.metadata.uid, job.status.state.phase
        begun = all(
            self._reporter.has_reported(uid, _name(job, name))
            for name in (PODGROUP_SPAN, PODS_SPAN, START_SPAN)
        )
        over = phase not in EXPIRING or self._reporter.has_reported(uid, ROOT_SPAN, edition=phase)
        return begun and over

    def after_decision(
        self, seen: ObservedJob, outcomes: Sequence[Outcome], *, began: float
    ) -> None:
        """Export the steps of a decision that was made at `began` and has been carried out."""
        if not self._reporter.enabled:
            return
        now, job = self._clock.wall(), seen.job
        done = [outcome.effect for outcome in outcomes if outcome.status is OutcomeStatus.DONE]
        made = [effect.kind for effect in done if isinstance(effect, CreateObject)]
        if PODGROUPS in made:
            self._export(job, TracedStep(name=PODGROUP_SPAN, started=began, ended=now))
        if PODS in made:
            # The span begins with the first decision, even if several are needed.
            first = self._begin(job, PODS_SPAN, at=began)
            # Large jobs need several decisions, so the span ends with the last of the first pods.
            if len(own_pods(seen)) + made.count(PODS) >= first_pods(job):
                self._export(job, TracedStep(name=PODS_SPAN, started=first, ended=now))
        for effect in done:
            if isinstance(effect, PatchObject) and effect.kind is JOBS:
                self._reached(job, phase_in(effect), now)

    def _reached(self, job: Job, phase: str, now: float) -> None:
        """Export the span that ends with a new phase."""
        if phase == RUNNING:
            started = self._begin(job, START_SPAN, at=now)
            self._export(job, TracedStep(name=START_SPAN, started=started, ended=now))
        elif phase in EXPIRING:
            self._export(
                job,
                TracedStep(name=ROOT_SPAN, started=created_at(job, now), ended=now, edition=phase),
            )

    def _begin(self, job: Job, name: str, *, at: float) -> float:
        """When the step began, as far as this process knows."""
        begun = self._begun.setdefault((job.metadata.uid, _name(job, name)), at)
        # Bounded: a job that never starts would keep its entry for ever.
        if len(self._begun) > BEGUN_MAX:
            del self._begun[next(iter(self._begun))]
        return begun

    def _export(self, job: Job, step: TracedStep) -> None:
        name = _name(job, step.name)
        self._begun.pop((job.metadata.uid, name), None)
        phase = {"phase": step.edition} if step.edition else {}
        self._reporter.report(
            Span(
                job.metadata.uid,
                name,
                started=step.started,
                ended=step.ended,
                attributes={
                    "job": job.key,
                    "queue": job.spec.queue or keys.DEFAULT_QUEUE,
                    "pods": replicas_of(job.spec),
                    **phase,
                },
            ),
            edition=step.edition,
        )


def _name(job: Job, name: str) -> str:
    return name if name == ROOT_SPAN else attempt_span(name, job.status.version)


def shown_steps(seen: ObservedJob, now: float) -> Iterator[TracedStep]:
    """Steps of this attempt that the objects show as done."""
    job = seen.job
    # Objects of an earlier attempt would give this attempt's span a wrong time.
    if seen.podgroup is not None and _is_of_attempt(job, seen.podgroup):
        made = created_at(seen.podgroup, now)
        yield TracedStep(name=PODGROUP_SPAN, started=made, ended=made)
    pods = own_pods(seen)
    if pods and len(pods) >= first_pods(job):
        made_at = [created_at(pod, now) for pod in pods]
        yield TracedStep(name=PODS_SPAN, started=min(made_at), ended=max(made_at))
    for condition in job.status.conditions:
        at = parse_time(condition.last_transition_time)
        if at is not None and condition.status == RUNNING:
            at = max(at, created_at(job, at))  # truncated to seconds, by a clock that may be late
            yield TracedStep(name=START_SPAN, started=_bound_at(pods, at), ended=at)
    phase, since = job.status.state.phase, parse_time(job.status.state.last_transition_time)
    if phase in EXPIRING and since is not None:
        ended = min(now, since + _OBJECT_SECONDS)
        yield TracedStep(name=ROOT_SPAN, started=created_at(job, now), ended=ended, edition=phase)


def own_pods(seen: ObservedJob) -> list[Pod]:
    """Pods of this job and this attempt."""
    return [pod for pod in seen.pods if _is_of_attempt(seen.job, pod)]


def _is_of_attempt(job: Job, obj: ApiObject) -> bool:
    version = obj.metadata.annotations.get(keys.JOB_VERSION, "0")
    return JOBS.controls(obj.metadata, uid=job.metadata.uid) and version == str(job.status.version)


def first_pods(job: Job) -> int:
    """Number of pods that do not wait for other tasks."""
    return sum(
        task.replicas
        for task in job.spec.tasks
        if task.depends_on is None or not task.depends_on.name
    )


def is_bound(seen: ObservedJob) -> bool:
    """Whether the minimum of the gang is bound."""
    bound = sum(1 for pod in own_pods(seen) if pod.spec.node_name)
    return bound >= max(1, with_defaults(seen.job, seen.scheduler_name).spec.min_available)


def phase_in(patch: PatchObject) -> str:
    """The phase that a patch of a job sets, or empty."""
    state = (patch.patch.get("status") or {}).get("state") or {}
    return str(state.get("phase", ""))


def created_at(obj: ApiObject, now: float) -> float:
    """When the API server created the object, or `now` if unknown."""
    return parse_time(obj.metadata.creation_timestamp) or now


def _bound_at(pods: Sequence[Pod], running_at: float) -> float:
    """When the last pod started on its node, and at the latest when the job ran."""
    times = [parse_time(pod.status.start_time) for pod in pods]
    return min(running_at, max((at for at in times if at is not None), default=running_at))
