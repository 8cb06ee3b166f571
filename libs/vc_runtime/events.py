"""Kubernetes Events: told once, then counted.

The same event (object, type, reason, message) within a window is one object whose count grows, and
growing is written at most once per window: a job that waits for an hour does not cost an hour of
writes. Of events that aggregate, messages that differ in their numbers alone are the same, and growing
brings the newest message. What we remember of events is bounded; forgetting only means a new Event object.
"""

import hashlib
from collections import OrderedDict
from typing import Final

import msgspec

from vc_cluster import ClusterError, NotFoundError
from vc_messages.effects import RecordEvent
from vc_model.kinds import EVENTS
from vc_model.message_kind import message_kind
from vc_model.struct import JsonObject
from vc_model.times import format_time
from vc_runtime.context import Context

WINDOW_SECONDS: Final = 60.0
REMEMBERED_MAX: Final = 4096
MESSAGE_CHARACTERS_MAX: Final = 1024


class _Told(msgspec.Struct):
    """What we said and when we last wrote it."""

    name: str
    first_time: str
    written_at: float
    count: int


class EventRecorder:
    """Writes events for one service; never fails a decision because of one."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._told: OrderedDict[str, _Told] = OrderedDict()

    async def record(self, event: RecordEvent) -> None:
        """Create the Event, or count it up when the window has passed."""
        said = message_kind(event.message) if event.aggregate else event.message
        identity = f"{event.uid}/{event.type}/{event.reason}/{said}"
        digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
        now = self._context.clock.now()
        told = self._told.get(digest)
        try:
            if told is None:
                await self._create(event, digest, now)
                return
            told.count += 1
            if now - told.written_at >= WINDOW_SECONDS:
                await self._count_up(event, told, now)
        except NotFoundError:
            self._told.pop(digest, None)  # it expired at the server; the next one is new
        except ClusterError as error:
            self._context.log.info(
                "event %s of %s not written: %s", event.reason, event.name, error
            )

    async def _create(self, event: RecordEvent, digest: str, now: float) -> None:
        name = f"{event.name}.{digest}"
        told = _Told(name=name, first_time=format_time(now), written_at=now, count=1)
        self._told[digest] = told
        if len(self._told) > REMEMBERED_MAX:
            self._told.popitem(last=False)
        namespace = event.namespace or "default"
        body = self._body(event, told, now)
        try:
            await self._context.cluster.create(EVENTS, body, namespace=namespace)
        except ClusterError as error:
            if error.reason != "AlreadyExists":
                raise
            await self._count_up(event, told, now)  # told by an earlier life of this service

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
