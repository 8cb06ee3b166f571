"""What else keeps a job waiting: refused writes, and queues that are not reclaimable."""

from typing import Final

from vc.messages.sessions import Reason, Stage
from vc.model.api.job import Job
from vc.model.values.resources import Resources
from vc.scheduling.explain.surplus import surplus_reason
from vc.scheduling.model.amounts import shown_all
from vc.scheduling.session.session import Session

QUEUES_NAMED_MAX: Final = 3
REFUSED: Final = "WriteRefused"
_FOR_NODES: Final = (Stage.GANG, Stage.PREDICATE, Stage.OVERCOMMIT)
"""Stages at which resources held by another queue are missing."""


def controller_refusal(job: Job) -> str:
    """The API server's refusal of a write of the job-controller (a quota,
    Pod Security, a PriorityClass)."""
    state = job.status.state
    if state.reason != REFUSED or not state.message:
        return ""
    return f"the API server refuses what the job controller writes: {state.message}"


def not_reclaimable(session: Session, group: str, reason: Reason) -> list[str]:
    """Queues that hold more than their share of a missing resource and are not reclaimable."""
    shares, row = session.framework.queues.shares, session.snapshot.all_groups.get(group)
    if shares is None or row is None or reason.stage not in _FOR_NODES:
        return []
    # Without the action no queue is ever reclaimed from, so the note would be wrong.
    if "reclaim" not in session.framework.actions:
        return []
    missing = [a.resource for a in reason.amounts if a.missing]
    missing = missing or [a.resource for a in reason.amounts]
    # Its own ancestors share their resources with the job.
    own = {above.name: None for above in session.accounts.ancestors(row.queue)}
    deserved = shares.deserved_shares(session)
    found: list[str] = []
    for name, queue in session.snapshot.queues.items():
        if queue.reclaimable or name in own:
            continue
        fair = deserved.get(name, {})
        has = session.accounts.allocated(name)
        # The number of pods alone does not keep a job waiting for another queue.
        over = Resources(has).only(missing).missing_in(fair).without(("pods",))
        if over:
            found.append(
                f"queue {name!r} holds {shown_all(over)} more than its share, which is missing "
                "here, but it is not reclaimable"
            )
    return found[:QUEUES_NAMED_MAX]


def beyond_minimum(session: Session, group: str) -> Reason | None:
    """Why surplus pods of a started PodGroup wait, or None if there are none."""
    row = session.snapshot.all_groups.get(group)
    return surplus_reason(session, row) if row is not None else None
