"""What a service stands on of which one replica writes: facts that all follow, a Lease that one holds.

Every replica follows, so that its view is warm when it begins to lead. Nothing is decided before the
view is complete and fresh and holds what the last leader may have done, and nothing is written without
a look at what remains of the lease (protocol 6, 7, 11).
"""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from vc_messages.view import View
from vc_model.kinds import Kind
from vc_runtime.context import Context
from vc_runtime.effects import EffectApplier
from vc_runtime.follower import Follower
from vc_runtime.leader import Leadership
from vc_runtime.problem_events import tell_problems
from vc_runtime.takeover import Takeover
from vc_runtime.warm_start import WarmStart


class Lead:
    """The follower, the lease and the writes of one replica."""

    def __init__(
        self,
        context: Context,
        kinds: Sequence[Kind],
        *,
        rest_seconds: float,
        warm_start: WarmStart | None = None,
    ) -> None:
        """`rest_seconds` lie between two reads of news."""
        self._context = context
        self.follower = Follower(context, kinds, warm_start=warm_start, rest_seconds=rest_seconds)
        self._context = context
        self.lease = Leadership(context)
        self._takeover = Takeover(context, self.lease)
        self.applier = EffectApplier(context, lease=self.lease)

    @property
    def view(self) -> View:
        """As it was followed so far; another one after a wipe."""
        return self.follower.view

    @property
    def leading(self) -> bool:
        """Whether a write begun now ends before anybody else can lead. Ask before each write."""
        return self.lease.leading

    @property
    def epoch(self) -> int:
        """Of the lease that was last taken over: what is decided, is decided under it."""
        return self._takeover.epoch

    @property
    def goes_on(self) -> bool:
        """Whether we lead under the same lease as when we took over."""
        return self.lease.holds(self._takeover.epoch)

    def unready(self) -> str:
        """Why the view may not be decided on; empty when it may."""
        return self._context.time_unknown() or self.follower.unready()

    async def taken_over(self) -> bool:
        """Whether we lead and the view holds what the last leader may have done."""
        return await self._takeover.over(self.view)

    async def may_decide(self) -> bool:
        """Whether the view is complete and fresh as well."""
        return not self.unready() and await self.taken_over()

    async def run(self, *loops: Coroutine[Any, Any, None]) -> None:
        """Hold the Lease while the service's own loops run; until cancelled, or one of them raises."""
        try:
            async with asyncio.TaskGroup() as group:
                for loop in (self.lease.run(), self._tell_problems(), *loops):
                    group.create_task(loop)
        finally:
            await self.follower.close()

    async def _tell_problems(self) -> None:
        """Events on objects that were left out; the leader's, so that each is written once."""
        await tell_problems(self._context, until_may_write=self.lease.wait_until_leading)
