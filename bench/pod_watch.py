"""When pods were created and bound, as anybody sees it who watches them at the API server.

One watch, decoded just far enough, so that looking costs little of what is looked at.
"""

import asyncio
import time
from types import TracebackType
from typing import Final, Self

import msgspec

from vc_cluster import Cluster
from vc_model.kinds import PODS

WATCH_SECONDS: Final = 3_600.0
"""Longer than any benchmark."""


class _Metadata(msgspec.Struct, frozen=True):
    uid: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()


_decoder: Final = msgspec.json.Decoder(_Pod)


class PodWatch:
    """Times of `time.perf_counter` by uid, in the order in which they were seen."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.created: dict[str, float] = {}
        self.bound: dict[str, float] = {}

    async def __aenter__(self) -> Self:
        version = (await self._cluster.list(PODS, limit=1)).resource_version
        self._task = asyncio.create_task(self._watch(version))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self, version: str) -> None:
        """An API server ends the watch of whom it finds slow; it is taken up where it ended."""
        while True:
            events = self._cluster.watch(
                PODS, resource_version=version, timeout_seconds=WATCH_SECONDS
            )
            async for event in events:
                version = event.resource_version
                if event.type in ("ADDED", "MODIFIED"):
                    self._take(_decoder.decode(event.object))

    def _take(self, pod: _Pod) -> None:
        now, uid = time.perf_counter(), pod.metadata.uid
        self.created.setdefault(uid, now)
        if pod.spec.node_name and uid not in self.bound:
            self.bound[uid] = now
            self._changed.set()

    async def until_bound(self, count: int, *, seconds_max: float) -> None:
        """Wait until so many pods were seen bound; TimeoutError tells how many were."""
        try:
            async with asyncio.timeout(seconds_max):
                while len(self.bound) < count:
                    self._changed.clear()
                    await self._watched()
        except TimeoutError:
            raise TimeoutError(
                f"{len(self.bound)} of {count} pods bound after {seconds_max:.0f} s, "
                f"{len(self.created)} created"
            ) from None

    async def _watched(self) -> None:
        """Until something changed; a watch that broke raises here instead of waiting for ever."""
        assert self._task is not None
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait({changed, self._task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
        if self._task.done():
            self._task.result()
