"""Kubernetes Events: created once, then counted.

Equal events (object, type, reason, message) are one Event object whose count grows. The count is
written at most once per window, so a job that waits for an hour does not cause an hour of writes.
For events that aggregate, messages that differ only in numbers are equal, and an update writes the
newest message. The memory of events is bounded; a forgotten event only leads to a new Event object.
"""

import hashlib
from collections import OrderedDict
from typing import Final

import msgspec

from vc.cluster import ClusterError, NotFoundError
from vc.messages.effects import RecordEvent
from vc.model.api.kinds import EVENTS
from vc.model.api.struct import JsonObject
from vc.model.message_kind import message_kind
from vc.model.values.times import format_time
from vc.runtime.hosting.context import Context

WINDOW_SECONDS: Final = 60.0
REMEMBERED_MAX: Final = 4096
MESSAGE_CHARACTERS_MAX: Final = 1024


class _Told(msgspec.Struct):
    """A written event, and when it was last written."""

    name: str
    first_time: str
    written_at: float
    count: int


class EventRecorder:
    """Writes events for one service. A failed event is logged and never fails a decision."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._told: OrderedDict[str, _Told] = OrderedDict()

    async def record(self, event: RecordEvent) -> None:
        """Create the Event, or update its count if the window has passed."""
        said = message_kind(event.message) if event.aggregate else event.message
        # The name is derived from the content, so that a restarted service finds its earlier Event.
        identity = f"{event.uid}/{event.type}/{event.reason}/{said}"
        digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
        now = self._context.clock.now()
        told = self._told.get(digest)
        try:
            if told is None:
                await self._create(event, digest, now)
                return
            # Count every occurrence, even if the API server gets only one update per window.
            told.count += 1
            if now - told.written_at >= WINDOW_SECONDS:
                await self._count_up(event, told, now)
        except NotFoundError:
            # It expired at the server; the next event creates it again.
            self._told.pop(digest, None)
        except ClusterError as error:
            self._context.log.info(
                "event %s of %s not written: %s", event.reason, event.name, error
            )

    async def _create(self, event: RecordEvent, digest: str, now: float) -> None:
        name = f"{event.name}.{digest}"
        told = _Told(name=name, first_time=format_time(now), written_at=now, count=1)
        self._told[digest] = told
        # The oldest entry is dropped; its next event is found again by its name.
        if len(self._told) > REMEMBERED_MAX:
            self._told.popitem(last=False)
        # As in Kubernetes, events of cluster-scoped objects are in the namespace `default`.
        namespace = event.namespace or "default"
        body = self._body(event, told, now)
        try:
            await self._context.cluster.create(EVENTS, body, namespace=namespace)
        except ClusterError as error:
            if error.reason != "AlreadyExists":
                raise
            await self._count_up(event, told, now)  # written before this service was restarted

    async def _count_up(self, event: RecordEvent, told: _Told, now: float) -> None:
        told.written_at = now
        await self._context.cluster.patch(
            EVENTS,
            {
                "count": told.count,
                "lastTimestamp": format_time(now),
                "message": event.message[:MESSAGE_CHARACTERS_MAX],
            },
            name=told.name,
            namespace=event.namespace or "default",
        )

    def _body(self, event: RecordEvent, told: _Told, now: float) -> JsonObject:
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": told.name, "namespace": event.namespace or "default"},
            "involvedObject": {
                "apiVersion": event.kind.api_version,
                "kind": event.kind.kind,
                "name": event.name,
                "namespace": event.namespace,
                "uid": event.uid,
            },
            "type": event.type,
            "reason": event.reason,
            "message": event.message[:MESSAGE_CHARACTERS_MAX],
            "source": {"component": f"vc-{self._context.name}"},
            "reportingComponent": f"vc-{self._context.name}",
            "firstTimestamp": told.first_time,
            "lastTimestamp": format_time(now),
            "count": told.count,
        }
