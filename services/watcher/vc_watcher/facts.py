"""From the API server's bytes to what the topic must be told, for one kind.

An object that cannot be read, or is larger than a message, is left out: an event on the object says so, and
everything else goes on. Of one that cannot be read the topic keeps what it has until
the object is gone: nobody may take a pod for gone that still holds its node.
"""

from vc_messages.codec import MessageTooLargeError
from vc_messages.effects import RecordEvent
from vc_messages.record import Message
from vc_model.job import Job
from vc_model.kinds import CONFIGMAPS
from vc_model.meta import ApiObject
from vc_runtime.boundaries import PROJECT, WRITE
from vc_runtime.context import Context
from vc_runtime.events import EventRecorder
from vc_watcher.logic import Bare, Decoder, Index
from vc_watcher.spans import JobSpans


class Facts:
    """Decodes, asks the index, and remembers what it had to refuse."""

    def __init__(self, context: Context, index: Index) -> None:
        self.index = index
        self.kind = index.kind
        self.namespace = context.namespace if self.kind is CONFIGMAPS else ""
        """ConfigMaps are followed only in our own namespace: others' are none of our business."""
        self.spans = JobSpans(context)
        self._log = context.log
        self._problems = context.problems
        self._decoder = Decoder(index.kind)
        self._events = EventRecorder(context)
        self._refused: list[tuple[ApiObject, str]] = []
        """Larger than a message; at most a page of a list, told of by `tell_refused`."""

    def decode(self, raw: bytes) -> ApiObject | Bare | None:
        """The projection, or which object it is, or None when not even that can be read."""
        try:
            obj = self._decoder.decode(raw)
        except Exception as error:  # noqa: BLE001 - of one object, whatever it is
            return self._bare(raw, why=error)
        self._problems.settled(PROJECT, self.kind, obj.key)
        return obj

    def _bare(self, raw: bytes, *, why: Exception) -> Bare | None:
        """Which object it is that cannot be projected; it gets a problem row, and an event."""
        try:
            bare = self._decoder.decode_bare(raw)
        except Exception as error:  # noqa: BLE001 - of one object, whatever it is
            self._problems.caught(PROJECT, self.kind.short, "", error=error)
            return None
        self._problems.caught(PROJECT, self.kind, bare.key, uid=bare.uid, error=why)
        return bare

    def messages_of(
        self, obj: ApiObject, *, again: bool = False, listed: bool = False
    ) -> list[Message]:
        """What makes the topic say what the object says now."""
        again = again or self.index.is_foreign(obj.key)
        try:
            messages = self.index.seen(obj, again=again, listed=listed)
        except MessageTooLargeError as error:
            self._refused.append((obj, str(error)))
            return self.index.gone(obj.key)
        except Exception as error:  # noqa: BLE001 - of one object, whatever it is
            uid = obj.metadata.uid
            self._problems.caught(WRITE, self.kind, obj.key, uid=uid, error=error)
            return []
        self._problems.settled(WRITE, self.kind, obj.key)
        return messages

    def gone(self, key: str) -> None:
        """The object is no more, nor is what was wrong with it."""
        self._problems.settled(PROJECT, self.kind, key)
        self._problems.settled(WRITE, self.kind, key)

    def untold(self, obj: ApiObject) -> list[Job]:
        """The job, when its publication is yet to be told as a span."""
        return [obj] if isinstance(obj, Job) and self.spans.wants(obj) else []

    async def tell_refused(self) -> None:
        """Objects larger than a message: say so on them."""
        refused, self._refused = self._refused, []
        for obj, why in refused:
            self._log.error("%s %s is left out: %s", self.kind.short, obj.key, why)
            await self._events.record(
                RecordEvent(
                    kind=self.kind,
                    namespace=obj.metadata.namespace,
                    name=obj.metadata.name,
                    uid=obj.metadata.uid,
                    type="Warning",
                    reason="TooLarge",
                    message=f"{why}; make the object smaller",
                )
            )
