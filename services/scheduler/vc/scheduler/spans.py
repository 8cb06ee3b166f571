"""Spans `session` and `bind` of a job: which session bound its gang, and how long it took.

The session whose status first reports the gang as scheduled exports the spans: `session` before the
first bind is sent, `bind` after the last one was acknowledged and before that status is written. If
the scheduler stops in between, the gang has no such status, and the successor exports the spans. If
the job ended before there was a successor, the successor derives the binds from the pods. A session
binds many jobs, so it has its own trace, to which the spans of jobs link.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.messages.partition import owning_key, vcjob_owner
from vc.messages.trace import BIND_SPAN, SESSION_SPAN, attempt_span, session_trace
from vc.messages.view import View
from vc.model.api.keys import JOB_VERSION, QUEUE_NAME
from vc.model.api.kinds import PODGROUPS, PODS
from vc.model.api.meta import ApiObject, object_key
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, PodGroupStatus
from vc.model.values.bounded import read_version
from vc.model.values.times import parse_time
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.tracing import Attributes, Span, SpanRef, SpanReporter
from vc.scheduling.effects import GroupWork
from vc.scheduling.model.decisions import Decisions
from vc.scheduling.model.pod_group_status import SCHEDULED

YOUNG_SECONDS: Final = 60.0
"""Maximum age of started pods from which the binds of a finished job are derived."""


class SessionTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Times of a session by the wall clock."""

    session_id: str
    opened: float
    decided: float
    epoch: int
    """Lease epoch under which the session decided; its effects are written under no other epoch."""


class GangSpans:
    """Exports the spans of sessions and of the gangs they bind."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._reporter = SpanReporter(context.tracer)

    def session(self, decisions: Decisions, times: SessionTimes) -> None:
        """Export the trace of the session itself, if jobs will link to it."""
        if decisions.binds:
            self._reporter.report(
                Span(
                    session_trace(times.session_id),
                    SESSION_SPAN,
                    parent=SESSION_SPAN,
                    started=times.opened,
                    ended=times.decided,
                    attributes={
                        "session.id": times.session_id,
                        "gangs": len(decisions.binds),
                        "pods": decisions.bound_pods,
                    },
                ),
            )

    def decided(self, work: GroupWork, group: ApiObject | None, *, times: SessionTimes) -> None:
        """Export the span `session` of a gang; a repeated bind in a later session is a new edition."""
        job_uid = self._job_to_export(work, group, times)
        if job_uid and isinstance(group, PodGroup):
            self._reporter.report(
                Span(
                    job_uid,
                    attempt_span(SESSION_SPAN, _attempt(group)),
                    started=times.opened,
                    ended=times.decided,
                    attributes=_attributes(work, group, times),
                    link=SpanRef(session_trace(times.session_id), SESSION_SPAN),
                ),
                edition=times.session_id,
            )

    def bound(
        self, work: GroupWork, group: ApiObject | None, *, times: SessionTimes, began: float
    ) -> None:
        """Export the span `bind` after all binds were acknowledged; the first was sent at `began`."""
        job_uid = self._job_to_export(work, group, times)
        if job_uid and isinstance(group, PodGroup):
            self._reporter.report(
                Span(
                    job_uid,
                    attempt_span(BIND_SPAN, _attempt(group)),
                    parent=attempt_span(SESSION_SPAN, _attempt(group)),
                    started=began,
                    ended=self._clock.wall(),
                    attributes=_attributes(work, group, times),
                ),
            )

    def _job_to_export(self, work: GroupWork, group: ApiObject | None, times: SessionTimes) -> str:
        """Return the uid of the vcjob that this session found scheduled; empty for any other work."""
        if not self._reporter.enabled or work.status is None or group is None:
            return ""
        # Only the first session that reports the gang as scheduled exports spans.
        if not _says_scheduled(work.status.status, times.session_id):
            return ""
        owner = vcjob_owner(group)
        return owner.uid if owner is not None else ""

    def recover(self, view: View) -> None:
        """Export binds of a predecessor for jobs that ended while no scheduler was running."""
        if not self._reporter.enabled:
            return
        young = self._clock.wall() - YOUNG_SECONDS
        for (job_uid, attempt), pods in _placed_pods(view).items():
            times = [parse_time(pod.status.start_time) or 0.0 for pod in pods]
            # Spans of older binds were exported by the scheduler that was running at that time.
            if max(times) > young:
                self._reporter.report(
                    Span(
                        job_uid,
                        attempt_span(BIND_SPAN, attempt),
                        parent=attempt_span(SESSION_SPAN, attempt),
                        started=min(times),
                        ended=max(times),
                        attributes=_recovered_attributes(pods),
                    ),
                )


def _placed_pods(view: View) -> Mapping[tuple[str, int], list[Pod]]:
    """Return started pods by job and attempt, only of jobs without a pod group."""
    found: dict[tuple[str, int], list[Pod]] = {}
    for pod in view.objects(PODS):
        owner = vcjob_owner(pod)
        if not isinstance(pod, Pod) or owner is None or not pod.spec.node_name:
            continue
        # With a pod group the job is not over, and a session will export its spans.
        if view.get(PODGROUPS, object_key(pod.metadata.namespace, owner.name)) is not None:
            continue
        if pod.status.start_time:
            found.setdefault((owner.uid, _attempt(pod)), []).append(pod)
    return found


def _says_scheduled(status: PodGroupStatus, session_id: str) -> bool:
    """Whether this session found the gang scheduled; an older status has the id of its own session."""
    return any(
        condition.type == SCHEDULED
        and condition.status == "True"
        and condition.transition_id == session_id
        for condition in status.conditions
    )


def _attempt(obj: ApiObject) -> int:
    """Return the attempt of the job for which the object was created."""
    version = obj.metadata.annotations.get(JOB_VERSION, "")
    return read_version(version)


def _recovered_attributes(pods: list[Pod]) -> Attributes:
    """Return the attributes that can be derived from the pods alone."""
    said = pods[0].metadata
    owner = vcjob_owner(pods[0])
    return {
        "job": object_key(said.namespace, owner.name if owner is not None else ""),
        "queue": said.annotations.get(QUEUE_NAME, ""),
        "pods": len(pods),
    }


def _attributes(work: GroupWork, group: PodGroup, times: SessionTimes) -> Attributes:
    """Return the attributes of a span; a pod group without a controller is its own job."""
    return {
        "job": owning_key(group),
        "queue": group.spec.queue,
        "pods": len(work.gang.binds) if work.gang is not None else 0,
        "session.id": times.session_id,
    }
