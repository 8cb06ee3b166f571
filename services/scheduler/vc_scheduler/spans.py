"""The spans `session` and `bind` of a job: which session bound its gang, and how long that took.

They are told by the session whose status first says that the gang is scheduled, after the binds
were acknowledged and before that status is written. A scheduler that dies in between leaves a gang
without the status, so its successor tells; one that dies later has told. A session binds many jobs,
so it has a trace of its own, which the jobs' spans link to.
"""

import msgspec

from vc_messages.partition import vcjob_owner
from vc_messages.trace import BIND_SPAN, SESSION_SPAN, attempt_span, session_trace
from vc_model.keys import JOB_VERSION
from vc_model.meta import ApiObject, object_key
from vc_model.scheduling import PodGroup, PodGroupStatus
from vc_runtime.context import Context
from vc_runtime.tracing import Attributes, SpanRef, Teller
from vc_scheduler.logic.commands import GroupWork
from vc_scheduler.logic.decisions import Decisions
from vc_scheduler.logic.phases import SCHEDULED


class SessionTimes(msgspec.Struct, frozen=True, kw_only=True):
    """A session from open to decided; wall clock."""

    session_id: str
    opened: float
    decided: float


class GangSpans:
    """Tells of sessions and of the gangs they bound."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._teller = Teller(context.tracer)

    def session(self, decisions: Decisions, times: SessionTimes) -> None:
        """The session's own trace, when jobs will link to it."""
        if decisions.binds:
            self._teller.tell(
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
            )

    def bound(
        self, work: GroupWork, group: ApiObject | None, *, times: SessionTimes, began: float
    ) -> None:
        """All binds of the work are acknowledged, the first was sent when it `began`."""
        if work.status is None or not _says_scheduled(work.status.status, times.session_id):
            return
        owner = vcjob_owner(group) if isinstance(group, PodGroup) else None
        if group is None or owner is None:
            return
        version = group.metadata.annotations.get(JOB_VERSION, "")
        attempt = int(version) if version.isdecimal() else 0
        session = attempt_span(SESSION_SPAN, attempt)
        attributes = _attributes(work, group, job=owner.name, session_id=times.session_id)
        self._teller.tell(
            owner.uid,
            session,
            started=times.opened,
            ended=times.decided,
            attributes=attributes,
            link=SpanRef(session_trace(times.session_id), SESSION_SPAN),
        )
        self._teller.tell(
            owner.uid,
            attempt_span(BIND_SPAN, attempt),
            parent=session,
            started=began,
            ended=self._clock.now(),
            attributes=attributes,
        )


def _says_scheduled(status: PodGroupStatus, session_id: str) -> bool:
    """Whether this very session found the gang scheduled; one that was keeps its older stamp."""
    return any(
        condition.type == SCHEDULED
        and condition.status == "True"
        and condition.transition_id == session_id
        for condition in status.conditions
    )


def _attributes(work: GroupWork, group: ApiObject, *, job: str, session_id: str) -> Attributes:
    assert isinstance(group, PodGroup)
    return {
        "job": object_key(group.metadata.namespace, job),
        "queue": group.spec.queue,
        "pods": len(work.gang.binds) if work.gang is not None else 0,
        "session.id": session_id,
    }
