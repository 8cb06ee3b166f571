"""The base of services of which one replica writes: all follow facts, one holds the Lease.

Every replica follows facts, so that its view is warm when it becomes leader. Nothing is decided
before the view is complete, fresh and includes what the previous leader may have written. Before
each write the remaining time of the lease is checked (docs/protocol.md 6, 7, 11).
"""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from vc.messages.view import View
from vc.model.api.kinds import Kind
from vc.runtime.applying.effects import EffectApplier
from vc.runtime.consuming.follower import Follower
from vc.runtime.consuming.problem_events import report_problems
from vc.runtime.consuming.warm_start import WarmStart
from vc.runtime.hosting.context import Context
from vc.runtime.leading.election import Leadership
from vc.runtime.leading.handover import Handover


class Lead:
    """The follower, the lease and the effect applier of one replica."""

    def __init__(
        self,
        context: Context,
        kinds: Sequence[Kind],
        *,
        rest_seconds: float,
        warm_start: WarmStart | None = None,
    ) -> None:
        """`rest_seconds` is the pause between two polls that return records."""
        self._context = context
        self.follower = Follower(context, kinds, warm_start=warm_start, rest_seconds=rest_seconds)
        self.lease = Leadership(context)
        self._handover = Handover(context, self.lease)
        self.applier = EffectApplier(context, lease=self.lease)

    @property
    def view(self) -> View:
        """The current view; it is replaced after the topics were wiped."""
        return self.follower.view

    @property
    def leading(self) -> bool:
        """Whether a write that starts now ends before another replica can lead.
        Check it before each write.
        """
        return self.lease.leading

    @property
    def epoch(self) -> int:
        """The lease epoch of the last handover; decisions are made under it."""
        return self._handover.epoch

    @property
    def goes_on(self) -> bool:
        """Whether we still lead under the lease of the last handover."""
        return self.lease.holds(self._handover.epoch)

    def unready(self) -> str:
        """The reason why no decision may be based on the view; empty if it may."""
        return self._context.time_unknown() or self.follower.unready()

    async def taken_over(self) -> bool:
        """Whether we lead and the view includes what the previous leader may have written."""
        return await self._handover.over(self.view)

    async def may_decide(self) -> bool:
        """Whether the handover is complete, and the view is complete and fresh."""
        return not self.unready() and await self.taken_over()

    async def run(self, *loops: Coroutine[Any, Any, None]) -> None:
        """Hold the Lease and run the service's own loops,
        until cancelled or until one of them raises.
        """
        try:
            async with asyncio.TaskGroup() as group:
                # One task group: if a loop fails, the lease is released and the host restarts all.
                for loop in (self.lease.run(), self._report_problems(), *loops):
                    group.create_task(loop)
        finally:
            await self.follower.close()

    async def _report_problems(self) -> None:
        """Write events on left-out objects; only the leader does, so that each is written once."""
        await report_problems(self._context, until_may_write=self.lease.wait_until_leading)
