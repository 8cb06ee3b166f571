"""Pods whose claims are not bound yet: they keep their room, their claims are given their place.

A claim that waits for its first consumer is bound by others (a provisioner, the volume controller)
once it is told where that consumer will be. The whole gang waits for it: bound pods would wait on
their nodes for storage that may never come.
"""

from collections.abc import Sequence

from vc_scheduler.logic import reasons
from vc_scheduler.logic.rows import GroupRow, PodRow, Run
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.table import Ints
from vc_scheduler.logic.volume_rows import ClaimChoice


def awaits_claims(
    session: Session, group: GroupRow, placed: Sequence[tuple[Run, tuple[PodRow, ...], Ints]]
) -> bool:
    """Whether what was placed must wait; then its claims get their place."""
    if not session.framework.voters.binds_volumes:
        return False
    waiting: dict[str, None] = {}
    chosen: dict[str, ClaimChoice] = {}
    for run, pods, rows in placed:
        if not run.shape.peering.claims:
            continue
        for pod, row in zip(pods, rows.tolist(), strict=True):
            waiting.update(dict.fromkeys(session.peers.claims.waiting(pod)))
            for choice in session.peers.claims.choices(pod, row):
                chosen.setdefault(choice.claim_uid, choice)
    if not waiting:
        return False
    session.choices += chosen.values()
    reason = reasons.waiting_for_claims(list(waiting))
    session.promised_to[group.key] = reason
    session.refuse(group, reason)
    return True
