"""The resources that an enqueued group may claim ahead of others."""

from typing import TYPE_CHECKING

import msgspec

from vc.model.values.resources import Resources
from vc.scheduling.cache.overlays.enqueued import CLAIM_SECONDS
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.rows import GroupRow

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session


def bounded_claim(session: "Session", group: GroupRow) -> Amounts:
    """The minResources of the group.

    Empty if they exceed the cluster or the capability of a queue, because such a job never runs and must
    not block others, and after the time of a claim (`cache/overlays/enqueued.py`).
    """
    if group.claim_since is not None and session.now >= group.claim_since + CLAIM_SECONDS:
        return {}
    ancestors = session.accounts.ancestors(group.queue)
    for name, amount in group.charged_minimum.items():
        limits = [dict(queue.capability).get(name) for queue in ancestors]
        bounds = [limit for limit in limits if limit is not None]
        if amount > min([session.cluster_amounts(name)[0], *bounds]):
            return {}
    return dict(group.min_resources or ())


def claimed(session: "Session", group: GroupRow) -> Resources:
    """What the group claims beyond what it has, with the decisions of this session."""
    claim = session.decided.claims.get(group.key)
    if claim is None:
        return group.claimed
    return msgspec.structs.replace(group, claim=tuple(claim.items())).claimed
