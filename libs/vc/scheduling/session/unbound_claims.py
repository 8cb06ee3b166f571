"""Placements with unbound claims become reservations while their claims are bound.

A claim with WaitForFirstConsumer is bound by other controllers (a provisioner, the volume
controller) after its node or volume is written. The whole gang waits for it: pods bound earlier
would occupy their nodes for storage that may never be provided.
"""

from collections.abc import Sequence

from vc.scheduling.model.node_table import Ints
from vc.scheduling.model.rows import GroupRow, PodRow, Run
from vc.scheduling.model.volume_rows import ClaimChoice
from vc.scheduling.session import reasons
from vc.scheduling.session.session import Session


def awaits_claims(
    session: Session, group: GroupRow, placed: Sequence[tuple[Run, tuple[PodRow, ...], Ints]]
) -> bool:
    """Whether placed pods must wait for their claims. If so, the choices for them are recorded."""
    if not session.framework.nodes.binds_volumes:
        return False
    waiting: dict[str, None] = {}
    chosen: dict[str, ClaimChoice] = {}
    for run, pods, rows in placed:
        if not run.shape.pod_terms.claims:
            continue
        for pod, row in zip(pods, rows.tolist(), strict=True):
            # Claims with an earlier choice also wait, but are not written again.
            waiting.update(dict.fromkeys(session.pod_affinity.claims.waiting(pod)))
            for choice in session.pod_affinity.claims.choices(pod, row):
                chosen.setdefault(choice.claim_uid, choice)
    if not waiting:
        return False
    session.choices += chosen.values()
    reason = reasons.waiting_for_claims(list(waiting))
    # The reservation is recorded so that later actions neither evict for the group nor try it again.
    session.promised_to[group.key] = reason
    session.refuse(group, reason)
    return True
