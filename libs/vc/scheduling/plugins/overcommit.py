"""overcommit: enqueue only what the cluster can run soon (docs/behaviour.md 5.7).

Resources that evictions could free for the job count as available, so that jobs which may preempt
or reclaim are also enqueued in a full cluster. Claims of groups that have had no pod for a minute
do not block groups of other namespaces.

Argument: `overcommit-factor` (1.2), at least 1.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from vc.messages.sessions import Reason
from vc.model.values.resources import Resources
from vc.scheduling.conf.arguments import thousandths
from vc.scheduling.model.rows import GroupRow
from vc.scheduling.plugins.queue_shares.recoverable import preemptable, reclaimable, unbacked
from vc.scheduling.session import reasons

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

_FACTOR_DEFAULT: Final = 1200


class Overcommit:
    """Enqueues a group while all enqueued minimums fit into total * factor - used."""

    name: ClassVar[str] = "overcommit"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._factor = thousandths(arguments, "overcommit-factor", _FACTOR_DEFAULT, least=1000)

    def job_enqueueable_refusal(self, session: "Session", group: GroupRow) -> Reason | None:
        """Refuse the group when its minResources exceed what is available now or after evictions."""
        needed = group.charged_minimum
        available = Resources()
        for name in needed:
            total, used = session.cluster_amounts(name)
            available[name] = (
                total * self._factor // 1000 - used - session.accounts.enqueued_total(name)
            )
        if needed.fits_in(available):
            return None
        # The bounds on evictions cost more to compute, so they are added only when idle resources
        # are not enough.
        available.add(preemptable(session, group))
        available.add(reclaimable(session, group))
        if needed.fits_in(available):
            return None
        # Claims in the group's own namespace still count. Otherwise a tenant could enqueue one
        # group without pods after another.
        for namespace, claims in session.cached(unbacked).items():
            if namespace != group.namespace:
                available.add(claims)
        if needed.fits_in(available):
            return None
        return reasons.overcommitted(needed, available)
