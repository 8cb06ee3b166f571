"""Beginning to lead: wait until the view holds everything the last leader may have done.

A leader that was just followed may have had a write under way. Its successor outwaits that write,
asks the API server how far it is (one list with limit 1), and decides nothing before the progress of
every kind it needs has reached that version (protocol 11). Who made the Lease follows nobody.
"""

from vc_cluster import ClusterError
from vc_messages.view import View
from vc_model.kinds import Kind
from vc_runtime.context import Context
from vc_runtime.leader import REQUEST_SECONDS_MAX, Leadership

_NOT_YET = -1


class Takeover:
    """Asked before each decision; cheap once it is over."""

    def __init__(self, context: Context, leadership: Leadership) -> None:
        self._context = context
        self._leadership = leadership
        self._must_reach = 0
        self.epoch = _NOT_YET
        """Of the lease under which we last asked; a session belongs to it."""

    async def over(self, view: View) -> bool:
        """Whether we lead and the view holds what the API server had when we began to."""
        if not self._leadership.leading:
            return False
        if self.epoch != self._leadership.epoch:
            await self._ask(view.kinds[0])
            return False
        return all(self._reached(view, kind) for kind in view.kinds)

    async def _ask(self, kind: Kind) -> None:
        """How far is the cluster? Any kind tells: versions count for all of them."""
        epoch = self._leadership.epoch
        if epoch > 1:
            await self._context.clock.sleep(REQUEST_SECONDS_MAX)
        try:
            page = await self._context.cluster.list(kind, limit=1)
        except ClusterError as error:
            self._context.log.info("cannot ask how far the cluster is: %s", error)
            return
        self._must_reach = _number(page.resource_version) if epoch > 1 else 0
        self.epoch = epoch

    def _reached(self, view: View, kind: Kind) -> bool:
        progress = view.progress(kind)
        return progress is not None and _number(progress.resource_version) >= self._must_reach


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0
