"""Kubernetes Events: created once, then counted.

Equal events (object, type, reason, message) are one Event object whose count grows. The count is
written at most once per window, so a job that waits for an hour does not cause an hour of writes.
For events that aggregate, messages that differ only in numbers are equal, and an update writes the
newest message. The memory of events is bounded. An event that is not remembered, after a restart or
because there were too many, has the same name again, and its count continues.
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


class _WrittenEvent(msgspec.Struct):
    """A written event, and when it was last written."""

    name: str
    first_time: str
    written_at: float
    count: int


class EventRecorder:
    """Writes events for one service. A failed event is logged and never fails a decision."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._written: OrderedDict[str, _WrittenEvent] = OrderedDict()

    async def record(self, event: RecordEvent) -> None:
        """Create the Event, or update its count if the window has passed."""
        text = message_kind(event.message) if event.aggregate else event.message
        # The name is derived from the content, so that a restarted service finds its earlier Event.
        identity = f"{event.uid}/{event.type}/{event.reason}/{text}"
        digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
        now = self._context.clock.now()
        written = self._written.get(digest)
        try:
            if written is None:
                await self._create(event, digest, now)
                return
            # Count every occurrence, even if the API server gets only one update per window.
            written.count += 1
            if now - written.written_at >= WINDOW_SECONDS:
                await self._count_up(event, written, now)
        except NotFoundError:
            # It expired at the server; the next event creates it again.
            self._written.pop(digest, None)
        except ClusterError as error:
            self._context.log.info(
                "event not written reason=%s object=%s error=%s", event.reason, event.name, error
            )

    async def _create(self, event: RecordEvent, digest: str, now: float) -> None:
        name = f"{event.name}.{digest}"
        written = _WrittenEvent(name=name, first_time=format_time(now), written_at=now, count=1)
        # Entered before the request, so that an equal event during it is counted and not created.
        self._written[digest] = written
        # The oldest entry is dropped; its next event is found again by its name.
        if len(self._written) > REMEMBERED_MAX:
            self._written.popitem(last=False)
        # As in Kubernetes, events of cluster-scoped objects are in the namespace `default`.
        namespace = event.namespace or "default"
        body = self._body(event, written, now)
        try:
            await self._context.cluster.create(EVENTS, body, namespace=namespace)
        except ClusterError as error:
            if error.reason != "AlreadyExists":
                raise
            try:
                await self._resume(event, written, now)
            except ClusterError:
                # Its count is still unknown, so the next occurrence must find it again.
                self._written.pop(digest, None)
                raise

    async def _resume(self, event: RecordEvent, written: _WrittenEvent, now: float) -> None:
        """Continue an Event that was written before this service was restarted, or forgotten.

        Its count is not known here, so the update leaves it as it is, and the response has it.
        This occurrence is added with the next update: no read and no second write are needed.
        """
        found = await self._update(event, written, {}, now)
        before = found.get("count")
        written.count += before if isinstance(before, int) else 0

    async def _count_up(self, event: RecordEvent, written: _WrittenEvent, now: float) -> None:
        await self._update(event, written, {"count": written.count}, now)

    async def _update(
        self, event: RecordEvent, written: _WrittenEvent, counted: JsonObject, now: float
    ) -> JsonObject:
        # Set before the request, so that a server that fails gets one attempt per window.
        written.written_at = now
        return await self._context.cluster.patch(
            EVENTS,
            {
                **counted,
                "lastTimestamp": format_time(now),
                "message": event.message[:MESSAGE_CHARACTERS_MAX],
            },
            name=written.name,
            namespace=event.namespace or "default",
        )

    def _body(self, event: RecordEvent, written: _WrittenEvent, now: float) -> JsonObject:
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": written.name, "namespace": event.namespace or "default"},
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
            "firstTimestamp": written.first_time,
            "lastTimestamp": format_time(now),
            "count": written.count,
        }
