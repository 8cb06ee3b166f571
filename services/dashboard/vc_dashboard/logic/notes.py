"""What keeps a job waiting besides the scheduler's reason: refused writes, queues that are not reclaimable."""

from typing import Final

from vc_messages.sessions import Reason, Stage
from vc_model.job import Job
from vc_scheduler.logic.amounts import shown_all
from vc_scheduler.logic.explain.surplus import surplus_reason
from vc_scheduler.logic.session import Session

QUEUES_NAMED_MAX: Final = 3
REFUSED: Final = "WriteRefused"
_FOR_NODES: Final = (Stage.GANG, Stage.PREDICATE, Stage.OVERCOMMIT)
"""Stages at which what another queue holds is what is missing."""


def controller_refusal(job: Job) -> str:
    """What the API server refuses the job controller (a quota, Pod Security, a PriorityClass), as it said."""
    state = job.status.state
    if state.reason != REFUSED or not state.message:
        return ""
    return f"the API server refuses what the job controller writes: {state.message}"


def not_reclaimable(session: Session, group: str, reason: Reason) -> list[str]:
    """Queues that hold more than their share of what is missing, and may not be asked for it."""
    shares, row = session.framework.shares, session.snapshot.everybody.get(group)
    if shares is None or row is None or reason.stage not in _FOR_NODES:
        return []
    if "reclaim" not in session.framework.actions:
        return []
    missing = [a.resource for a in reason.amounts if a.missing]
    missing = missing or [a.resource for a in reason.amounts]
    own = {above.name: None for above in session.line(row.queue)}
    deserved = shares.deserved(session)
    found: list[str] = []
    for name, queue in session.snapshot.queues.items():
        if queue.reclaimable or name in own:
            continue
        fair = deserved.get(name, {})
        has = session.allocated(name)
        over = {
            r: has.get(r, 0) - fair.get(r, 0) for r in missing if has.get(r, 0) > fair.get(r, 0)
        }
        over.pop("pods", None)
        if over:
            found.append(
                f"queue {name!r} holds {shown_all(over)} more than its share, which is missing "
                "here, but it is not reclaimable"
            )
    return found[:QUEUES_NAMED_MAX]


def beyond_minimum(session: Session, group: str) -> Reason | None:
    """Why pods beyond the minimum of a group that has it wait; None when there are none."""
    row = session.snapshot.everybody.get(group)
    return surplus_reason(session, row) if row is not None and not row.foreign else None
