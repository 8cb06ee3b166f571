"""When pods were created, bound and running, as anybody sees it who watches them.

One watch, decoded just far enough, so that looking costs little of what is looked at. A watch that
breaks is taken up by a list; times of what happened in between are then too late, and the gap counts.
"""

import asyncio
import time
from types import TracebackType
from typing import Final, Self

import msgspec

from vc.cluster import Cluster, ClusterError
from vc.model.api.kinds import PODS

STAGES: Final = ("created", "bound", "running")
"""What happens to a pod, in order."""
WATCH_SECONDS: Final = 3_600.0
PAUSE_SECONDS: Final = 0.5
"""Before a watch that broke is taken up again."""
_STARTED: Final = ("Running", "Succeeded", "Failed")


class _Owner(msgspec.Struct, frozen=True):
    name: str = ""
    controller: bool = False


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    uid: str = ""
    owner_references: list[_Owner] = []


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


_decoder: Final = msgspec.json.Decoder(_Pod)


class PodTimes:
    """Times of `time.perf_counter` by pod, first seen; a pod that is made again keeps its first ones."""

    def __init__(self, cluster: Cluster, namespace: str = "", *, jobs_prefix: str = "") -> None:
        """Of pods whose job's name begins so; others are not looked at."""
        self._cluster = cluster
        self._namespace = namespace
        self._jobs_prefix = jobs_prefix
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._uids: set[str] = set()
        self.jobs: dict[str, str] = {}
        """Who owns a pod."""
        self.at: dict[str, dict[str, float]] = {stage: {} for stage in STAGES}
        self.gaps = 0

    @property
    def made(self) -> int:
        return len(self._uids)

    def reached(self) -> dict[str, int]:
        """Pods that came to each stage."""
        return {stage: len(times) for stage, times in self.at.items()}

    async def __aenter__(self) -> Self:
        version = await self._list()
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

    async def _list(self) -> str:
        page = await self._cluster.list(PODS, namespace=self._namespace)
        for raw in page.items:
            self._take(_decoder.decode(raw))
        return page.resource_version

    async def _watch(self, version: str) -> None:
        while True:
            try:
                version = version or await self._list()
                events = self._cluster.watch(
                    PODS,
                    resource_version=version,
                    namespace=self._namespace,
                    timeout_seconds=WATCH_SECONDS,
                )
                async for event in events:
                    version = event.resource_version
                    if event.type in ("ADDED", "MODIFIED"):
                        self._take(_decoder.decode(event.object))
            except ClusterError:
                self.gaps += 1
                version = ""
                await asyncio.sleep(PAUSE_SECONDS)

    def _take(self, pod: _Pod) -> None:
        now, name = time.perf_counter(), pod.metadata.name
        owners = pod.metadata.owner_references
        job = next((owner.name for owner in owners if owner.controller), "")
        if not job.startswith(self._jobs_prefix):
            return
        self._uids.add(pod.metadata.uid)
        self.jobs[name] = job
        self.at["created"].setdefault(name, now)
        if pod.spec.node_name:
            self.at["bound"].setdefault(name, now)
        if pod.status.phase in _STARTED:
            self.at["running"].setdefault(name, now)
        self._changed.set()

    async def until(self, stage: str, count: int, *, seconds_max: float | None = None) -> None:
        """Wait until `count` pods have reached a stage; the TimeoutError has the number that did."""
        try:
            async with asyncio.timeout(seconds_max):
                while len(self.at[stage]) < count:
                    self._changed.clear()
                    await self._watched()
        except TimeoutError:
            reached = ", ".join(f"{number:,} {what}" for what, number in self.reached().items())
            raise TimeoutError(f"{count:,} pods not {stage} in time: {reached}") from None

    async def _watched(self) -> None:
        """Until something changed; a watch that broke for good raises here instead of waiting."""
        assert self._task is not None
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait({changed, self._task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
        if self._task.done():
            self._task.result()
