"""A cluster that fails the watcher on purpose, and a bus that remembers the order of things."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec

from vc.bus.memory import MemoryBus
from vc.clock import Clock
from vc.cluster import ClusterError, ListPage, ServerError, WatchEvent
from vc.messages.record import Message
from vc.model.api.kinds import QUEUES, Kind
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.verbs.api import Api


class FaultyCluster(StoreCluster):
    """The twin; of queues it tells what a test wants it to."""

    def __init__(self, api: Api, *, clock: Clock) -> None:
        super().__init__(api)
        self._clock = clock
        self.refusal: Callable[[], ClusterError] | None = None
        """What lists and new watches of a kind are answered with."""
        self.refused = QUEUES
        self.event_seconds = 0.0
        """How long an event takes to come."""
        self.cut_after_events = 0
        """The next watch that tells so many events is cut there, once; 0 for never."""
        self.before_list: Callable[[str], Awaitable[None]] | None = None
        """Runs before a list, with the name that is asked for; empty for all."""
        self.before_answer: Callable[[str], Awaitable[None]] | None = None
        """Runs between a list and its answer, with the name that was asked for; empty for all."""
        self.garbled: set[str] = set()
        """Names of objects whose spec cannot be decoded."""
        self.namespaces: set[tuple[str, str]] = set()
        """Of every list: the kind and the namespace it was for."""
        self.watched_from: list[str] = []
        self.lists: Counter[str] = Counter()
        """Lists by the name that was asked for."""

    async def list(
        self,
        kind: Kind,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
    ) -> ListPage:
        self.namespaces.add((kind.short, namespace))
        name = field_selector.removeprefix("metadata.name=")
        self._refuse(kind)
        if kind is QUEUES:
            self.lists[name] += 1
            if self.before_list is not None:
                await self.before_list(name)
        page = await super().list(
            kind,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            limit=limit,
            continue_token=continue_token,
        )
        if kind is not QUEUES:
            return page
        if self.before_answer is not None:
            await self.before_answer(name)
        return msgspec.structs.replace(page, items=[self._seen(raw) for raw in page.items])

    async def watch(
        self,
        kind: Kind,
        *,
        resource_version: str,
        namespace: str = "",
        timeout_seconds: float = 300.0,
    ) -> AsyncIterator[WatchEvent]:
        if kind is QUEUES:
            self.watched_from.append(resource_version)
        self._refuse(kind)
        if int(resource_version) > self.api.store.version:
            await self._clock.sleep(timeout_seconds)  # a real one waits to get there
            return
        events = super().watch(
            kind,
            resource_version=resource_version,
            namespace=namespace,
            timeout_seconds=timeout_seconds,
        )
        count = 0
        ends_at = self._clock.monotonic() + timeout_seconds
        async for event in events:
            if self.event_seconds and self._clock.monotonic() > ends_at:
                return  # events that are left are lost
            count += 1
            if kind is QUEUES and self.event_seconds:
                await self._clock.sleep(self.event_seconds)
            seen = self._seen(event.object) if kind is QUEUES else event.object
            yield msgspec.structs.replace(event, object=seen)
            if kind is QUEUES and count == self.cut_after_events:
                self.cut_after_events = 0
                raise ServerError("connection reset by peer")

    def _refuse(self, kind: Kind) -> None:
        if kind is self.refused and self.refusal is not None:
            raise self.refusal()

    def _seen(self, raw: bytes) -> bytes:
        obj = msgspec.json.decode(raw)
        if obj["metadata"].get("name") not in self.garbled:
            return raw
        return msgspec.json.encode({**obj, "spec": "nonsense"})


class OrderedBus(MemoryBus):
    """Remembers what was published, over all topics, in the order of the calls."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.published: list[Message] = []
        self.batches_bytes: list[int] = []
        self.before_publish: Callable[[Sequence[Message]], Awaitable[None]] | None = None

    async def publish(self, messages: Sequence[Message]) -> list[int]:
        if self.before_publish is not None:
            await self.before_publish(messages)
        offsets = await super().publish(messages)
        self.published += messages
        self.batches_bytes.append(sum(len(message.value or b"") for message in messages))
        return offsets
