"""The spans `session` and `bind` of a job: which session bound its gang, and how long that took.

They are told by the session whose status first says that the gang is scheduled: `session` before
its first bind is sent, `bind` when the last was acknowledged, before that status is written. A
scheduler that dies in between leaves a gang without the status, so its successor tells; and if the
job was over before there was one, the successor reads the binds from the pods. A session binds many
jobs, so it has a trace of its own, which the jobs' spans link to.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc_messages.partition import owning_key, vcjob_owner
from vc_messages.trace import BIND_SPAN, SESSION_SPAN, attempt_span, session_trace
from vc_messages.view import View
from vc_model.bounded import read_version
from vc_model.keys import JOB_VERSION, QUEUE_NAME
from vc_model.kinds import PODGROUPS, PODS
from vc_model.meta import ApiObject, object_key
from vc_model.pod import Pod
from vc_model.scheduling import PodGroup, PodGroupStatus
from vc_model.times import parse_time
from vc_runtime.context import Context
from vc_runtime.tracing import Attributes, Span, SpanRef, Teller
from vc_scheduler.logic.commands import GroupWork
from vc_scheduler.logic.decisions import Decisions
from vc_scheduler.logic.phases import SCHEDULED

YOUNG_SECONDS: Final = 60.0
"""How long after their start pods of a job that is over are asked about its binds."""


class SessionTimes(msgspec.Struct, frozen=True, kw_only=True):
    """A session from open to decided; wall clock."""

    session_id: str
    opened: float
    decided: float
    epoch: int
    """Of the lease under which it decided: whatever it wants is written under no other."""


class GangSpans:
    """Tells of sessions and of the gangs they bound."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._teller = Teller(context.tracer)

    def session(self, decisions: Decisions, times: SessionTimes) -> None:
        """The session's own trace, when jobs will link to it."""
        if decisions.binds:
            self._teller.tell(
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
        """The session wants the gang bound; a later one that wants it again is a new edition."""
        job_uid = self._job_to_tell(work, group, times)
        if job_uid and isinstance(group, PodGroup):
            self._teller.tell(
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
        """All binds of the work are acknowledged, the first was sent when it `began`."""
        job_uid = self._job_to_tell(work, group, times)
        if job_uid and isinstance(group, PodGroup):
            self._teller.tell(
                Span(
                    job_uid,
                    attempt_span(BIND_SPAN, _attempt(group)),
                    parent=attempt_span(SESSION_SPAN, _attempt(group)),
                    started=began,
                    ended=self._clock.wall(),
                    attributes=_attributes(work, group, times),
                ),
            )

    def _job_to_tell(self, work: GroupWork, group: ApiObject | None, times: SessionTimes) -> str:
        """The uid of the vcjob that this session found scheduled; empty for all other work."""
        if not self._teller.enabled or work.status is None or group is None:
            return ""
        if not _says_scheduled(work.status.status, times.session_id):
            return ""
        owner = vcjob_owner(group)
        return owner.uid if owner is not None else ""

    def recover(self, view: View) -> None:
        """Binds that a predecessor sent and did not tell, of jobs that ended without a scheduler."""
        if not self._teller.enabled:
            return
        young = self._clock.wall() - YOUNG_SECONDS
        for (job_uid, attempt), pods in _placed_pods(view).items():
            times = [parse_time(pod.status.start_time) or 0.0 for pod in pods]
            if max(times) > young:
                self._teller.tell(
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
    """Pods that a node has taken, by job and attempt; only of jobs without a pod group."""
    found: dict[tuple[str, int], list[Pod]] = {}
    for pod in view.objects(PODS):
        owner = vcjob_owner(pod)
        if not isinstance(pod, Pod) or owner is None or not pod.spec.node_name:
            continue
        if view.get(PODGROUPS, object_key(pod.metadata.namespace, owner.name)) is not None:
            continue
        if pod.status.start_time:
            found.setdefault((owner.uid, _attempt(pod)), []).append(pod)
    return found


def _says_scheduled(status: PodGroupStatus, session_id: str) -> bool:
    """Whether this very session found the gang scheduled; one that was keeps its older stamp."""
    return any(
        condition.type == SCHEDULED
        and condition.status == "True"
        and condition.transition_id == session_id
        for condition in status.conditions
    )


def _attempt(obj: ApiObject) -> int:
    """The attempt of the job that an object was made for."""
    version = obj.metadata.annotations.get(JOB_VERSION, "")
    return read_version(version)


def _recovered_attributes(pods: list[Pod]) -> Attributes:
    said = pods[0].metadata
    owner = vcjob_owner(pods[0])
    return {
        "job": object_key(said.namespace, owner.name if owner is not None else ""),
        "queue": said.annotations.get(QUEUE_NAME, ""),
        "pods": len(pods),
    }


def _attributes(work: GroupWork, group: PodGroup, times: SessionTimes) -> Attributes:
    """The job is the pod group's controller; a group of other pods stands for itself."""
    return {
        "job": owning_key(group),
        "queue": group.spec.queue,
        "pods": len(work.gang.binds) if work.gang is not None else 0,
        "session.id": times.session_id,
    }
