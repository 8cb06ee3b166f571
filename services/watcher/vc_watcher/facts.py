"""From the API server's bytes to what the topic must be told, for one kind.

An object that cannot be read, or is larger than a message, is left out: the log or an event on the
object says so, and everything else goes on. Of one that cannot be read the topic keeps what it has until
the object is gone: nobody may take a pod for gone that still holds its node.
"""

from vc_messages.codec import CodecError, MessageTooLargeError
from vc_messages.effects import RecordEvent
from vc_messages.record import Message
from vc_model.job import Job
from vc_model.kinds import CONFIGMAPS
from vc_model.meta import ApiObject
from vc_runtime.context import Context
from vc_runtime.events import EventRecorder
from vc_watcher.logic import Bare, Decoder, Index, UnreadableError
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
        self._decoder = Decoder(index.kind)
        self._events = EventRecorder(context)
        self._refused: list[tuple[ApiObject, str]] = []
        """At most a page of a list; told of by `tell_refused`."""

    def decode(self, raw: bytes) -> ApiObject | Bare | None:
        """The projection, or which object it is, or None when not even that can be read."""
        try:
            return self._decoder.decode(raw)
        except UnreadableError as error:
            self._log.error("%s: an object is left out: %s", self.kind.short, error)
        try:
            return self._decoder.decode_bare(raw)
        except UnreadableError as error:
            self._log.error("%s: and nobody knows which: %s", self.kind.short, error)
            return None

    def messages_of(
        self, obj: ApiObject, *, again: bool = False, listed: bool = False
    ) -> list[Message]:
        """What makes the topic say what the object says now."""
        again = again or self.index.is_foreign(obj.key)
        try:
            return self.index.seen(obj, again=again, listed=listed)
        except MessageTooLargeError as error:
            self._refused.append((obj, str(error)))
            return self.index.gone(obj.key)
        except CodecError as error:
            self._log.error("%s %s is left out: %s", self.kind.short, obj.key, error)
            return []

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
