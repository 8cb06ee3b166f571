"""Feeds the cluster cache from the facts that the replica follows.

Changes are applied one at a time, and each in isolation: an object on which the cache raises is left
out until it changes. An exception may have changed some tables of the cache and not others, so the
cache is then rebuilt from the view without that object.
"""

import asyncio
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Final

from vc.messages.view import Change, View
from vc.model.api.kinds import CONFIGMAPS
from vc.runtime.containment.boundaries import APPLY
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.long_lived import LongLived
from vc.runtime.leading.replica import Lead
from vc.scheduling.cache.cluster_cache import KINDS, ClusterCache

POLL_SECONDS: Final = 0.25
YIELD_CHANGES: Final = 200
"""Number of changes to apply before other tasks of the loop run, so that a backlog cannot block it."""


class CacheFeed:
    """Applies facts to the cluster cache."""

    def __init__(
        self,
        context: Context,
        lead: Lead,
        cache: ClusterCache,
        *,
        wanted: asyncio.Event,
        rebuilt: Callable[[], None],
    ) -> None:
        """`wanted` is set for a change that can alter a session; `rebuilt` is called with each rebuild."""
        self._context = context
        self._lead = lead
        self._cache = cache
        self._wanted = wanted
        self._rebuilt = rebuilt
        self._long_lived = LongLived()
        self._logged: dict[str, str] = {}
        self._left_out: set[tuple[str, str]] = set()
        """Objects of the view, by kind and key, that are not in the cache until they change."""
        self.applied = asyncio.Event()
        """Set while the cache contains everything in the view.

        Only then does the readiness of the view apply to the cache.
        """
        self.new_view = True
        """Whether the cache was rebuilt since the last session; cleared by the session."""

    async def run(self) -> None:
        """Follow facts until cancelled."""
        while True:
            # Between the poll and the last change the view is ahead of the cache, so no session may
            # open.
            batch = await self._lead.follower.poll(wait_seconds=POLL_SECONDS)
            self.applied.clear()
            if batch.rebuilt:
                self._rebuild()
                self._context.problems.forget(APPLY)
                self._left_out.clear()
            sound = await self._apply_all(batch.changes)
            # Each round leaves out at least one more object, so the loop ends.
            while not sound:
                sound = await self._refill()
            if batch.changes:
                self._log_problems()
                self._long_lived.took(len(batch.changes))
            self.applied.set()

    def _rebuild(self) -> None:
        """Empty the cache, and want a session once all facts are applied again."""
        self._cache.rebuild()
        self._rebuilt()
        self.new_view = True
        self._wanted.set()

    async def _apply_all(self, changes: Iterable[Change]) -> bool:
        """Apply changes one by one; False when an error left the cache inconsistent."""
        sound = True
        for at, change in enumerate(changes, start=1):
            place = (change.kind.short, change.key)
            self._left_out.discard(place)
            # ConfigMaps are not part of the cache; the next session reads the configuration from
            # the view.
            if change.kind is CONFIGMAPS:
                self._wanted.set()
                continue
            obj = change.after or change.before
            uid = obj.metadata.uid if obj is not None else ""
            problems = self._context.problems
            with (contained := problems.contain(APPLY, change.kind, change.key, uid=uid)):
                if self._cache.apply(change):
                    self._wanted.set()
            # Only a rebuild restores a consistent state.
            if contained.failed:
                # The object is left out of the rebuild, or it would raise again and the rebuild
                # would never end.
                self._left_out.add(place)
                sound = False
            if at % YIELD_CHANGES == 0:
                await self._context.clock.sleep(0)
        return sound

    async def _refill(self) -> bool:
        """Rebuild the cache from the view, without the objects that raised."""
        self._rebuild()
        return await self._apply_all(list(changes_of(self._lead.view, without=self._left_out)))

    def _log_problems(self) -> None:
        """Log each problem of an object once."""
        problems = self._cache.problems
        for what, problem in problems.items():
            if self._logged.get(what) != problem:
                kind, _, key = what.partition(" ")
                self._context.log.warning("object left out kind=%s key=%s: %s", kind, key, problem)
        self._logged = dict(problems)


def changes_of(view: View, *, without: Container[tuple[str, str]]) -> Iterator[Change]:
    """Yield every object that sessions use, except those in `without` (by kind and key)."""
    for kind in KINDS:
        for key, entry in list(view.entries(kind).items()):
            if (kind.short, key) not in without:
                yield Change(
                    kind=kind, key=key, partition=entry.partition, before=None, after=entry.object
                )
