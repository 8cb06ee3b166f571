"""Start of a leader's term: wait until the view includes all writes of the previous leader.

A leader that released its lease may have had a write in flight. Its successor first waits until
that write must have ended; an expired lease was already waited for before it was acquired. Then it
reads the current resource version of every kind it needs (a list with limit 1), and decides nothing
before the progress of each kind has reached that version (docs/protocol.md 11). The first leader of
a new cluster has no predecessor. A leader that created the Lease later may follow one whose Lease
was deleted.

Every kind is listed, although resource versions are common to all kinds. The API server's cache of
a kind that does not change advances only when that kind is listed, and its watch cannot report more
than the cache has. When only pods were listed, a new leader waited more than a minute for the
progress of its queues.
"""

import asyncio
from collections.abc import Sequence

from vc.cluster import Cluster, ClusterError, ForbiddenError, NotFoundError
from vc.messages.view import View
from vc.model.api.kinds import CONFIGMAPS, Kind
from vc.model.values.bounded import read_version
from vc.runtime.hosting.context import Context
from vc.runtime.leading.election import REQUEST_SECONDS_MAX, Leadership

_NOT_YET = -1


class Handover:
    """Checked before each decision; cheap after the handover is complete."""

    def __init__(self, context: Context, leadership: Leadership) -> None:
        self._context = context
        self._leadership = leadership
        self._required_versions: dict[str, int] = {}
        """Required resource version by kind; empty if there was no leader before us."""
        self.epoch = _NOT_YET
        """The lease epoch of the last completed version query; sessions belong to this epoch."""

    async def over(self, view: View) -> bool:
        """Whether we lead and the view includes what the API server had when our term began."""
        if not self._leadership.leading:
            return False
        # A new term needs new versions, because another leader may have written in between.
        if self.epoch != self._leadership.epoch:
            await self._read_versions(view.kinds)
            return False
        return all(self._reached(view, kind) for kind in view.kinds)

    async def _read_versions(self, kinds: Sequence[Kind]) -> None:
        """Query the current resource version of each kind."""
        # The epoch may change during the awaits below; what we learn belongs to this one.
        epoch, alone = self._leadership.epoch, self._leadership.has_no_predecessor
        # A released lease says nothing about the last write; one time-out later it has ended.
        if not alone and not self._leadership.outwaited:
            await self._context.clock.sleep(REQUEST_SECONDS_MAX)
        cluster = self._context.cluster
        try:
            versions = await asyncio.gather(*(self._version(cluster, kind) for kind in kinds))
        except ClusterError as error:
            self._context.log.info("resource versions not read error=%s", error)
            return
        required = dict(zip((kind.short for kind in kinds), versions, strict=True))
        self._required_versions = {} if alone else required
        # Set last: after a failed query the epoch stays open, and the next call repeats the query.
        self.epoch = epoch

    async def _version(self, cluster: Cluster, kind: Kind) -> int:
        """The current resource version of one kind; 0 if the cluster does not have that kind."""
        try:
            page = await cluster.list(kind, namespace=self._where(kind), limit=1)
        except (NotFoundError, ForbiddenError):
            # A kind that the cluster does not serve never makes progress, so do not wait for it.
            if kind.optional:
                return 0
            raise
        return read_version(page.resource_version)

    def _where(self, kind: Kind) -> str:
        """ConfigMaps are followed in our own namespace only,
        and our account may not list others.
        """
        return self._context.namespace if kind is CONFIGMAPS else ""

    def _reached(self, view: View, kind: Kind) -> bool:
        progress = view.progress(kind)
        wanted = self._required_versions.get(kind.short, 0)
        return progress is not None and read_version(progress.resource_version) >= wanted
