"""Beginning to lead: wait until the view holds everything the last leader may have done.

A leader that gave its lease up may have had a write under way. Its successor outwaits that write (a
lease that ran out was outwaited before it was taken),
asks the API server how far it is (a list with limit 1 of every kind it needs), and decides nothing
before the progress of each has reached that version (protocol 11). Who made the Lease at the birth of
the cluster follows nobody; who made it later may follow one whose Lease was deleted.

Every kind is asked for itself, although versions count for all: an API server's cache of a kind that
nobody changes moves on only when somebody lists it, and its watch cannot tell of more than the cache
has. Asking for pods alone, a new leader waited for more than a minute for the progress of its queues.
"""

import asyncio
from collections.abc import Sequence

from vc_cluster import Cluster, ClusterError, ForbiddenError, NotFoundError
from vc_messages.view import View
from vc_model.bounded import read_version
from vc_model.kinds import CONFIGMAPS, Kind
from vc_runtime.context import Context
from vc_runtime.leader import REQUEST_SECONDS_MAX, Leadership

_NOT_YET = -1


class Takeover:
    """Asked before each decision; cheap once it is over."""

    def __init__(self, context: Context, leadership: Leadership) -> None:
        self._context = context
        self._leadership = leadership
        self._must_reach: dict[str, int] = {}
        """Per kind; empty when nobody led before us."""
        self.epoch = _NOT_YET
        """Of the lease under which we last asked; a session belongs to it."""

    async def over(self, view: View) -> bool:
        """Whether we lead and the view holds what the API server had when we began to."""
        if not self._leadership.leading:
            return False
        if self.epoch != self._leadership.epoch:
            await self._ask(view.kinds)
            return False
        return all(self._reached(view, kind) for kind in view.kinds)

    async def _ask(self, kinds: Sequence[Kind]) -> None:
        """How far is the cluster, in each kind?"""
        epoch, alone = self._leadership.epoch, self._leadership.follows_nobody
        if not alone and not self._leadership.outwaited:
            await self._context.clock.sleep(REQUEST_SECONDS_MAX)
        cluster = self._context.cluster
        try:
            versions = await asyncio.gather(*(self._version(cluster, kind) for kind in kinds))
        except ClusterError as error:
            self._context.log.info("cannot ask how far the cluster is: %s", error)
            return
        reach = dict(zip((kind.short for kind in kinds), versions, strict=True))
        self._must_reach = {} if alone else reach
        self.epoch = epoch

    async def _version(self, cluster: Cluster, kind: Kind) -> int:
        """How far the cluster is in one kind; 0 where it does not have it."""
        try:
            page = await cluster.list(kind, namespace=self._where(kind), limit=1)
        except (NotFoundError, ForbiddenError):
            if kind.optional:
                return 0
            raise
        return read_version(page.resource_version)

    def _where(self, kind: Kind) -> str:
        """ConfigMaps are followed in our own namespace alone, and nobody may list others'."""
        return self._context.namespace if kind is CONFIGMAPS else ""

    def _reached(self, view: View, kind: Kind) -> bool:
        progress = view.progress(kind)
        wanted = self._must_reach.get(kind.short, 0)
        return progress is not None and read_version(progress.resource_version) >= wanted
