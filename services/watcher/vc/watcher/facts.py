"""Converts objects of the API server to messages for the topic of one kind.

An object that cannot be decoded, or is larger than a message, is left out. An event on the object
reports that, and all other objects are processed. Of an object that cannot be decoded the topic
keeps the last fact until the object is deleted, because a pod that still occupies its node must not
look deleted.
"""

from vc.messages.codec import MessageTooLargeError
from vc.messages.effects import RecordEvent
from vc.messages.record import Message
from vc.model.api.job import Job
from vc.model.api.kinds import CONFIGMAPS
from vc.model.api.meta import ApiObject
from vc.runtime.applying.events import EventRecorder
from vc.runtime.containment.boundaries import PROJECT, WRITE
from vc.runtime.hosting.context import Context
from vc.watcher.logic import Bare, Decoder, Index
from vc.watcher.spans import JobSpans


class Facts:
    """Decodes objects, compares them with the index, and collects the ones it refused."""

    def __init__(self, context: Context, index: Index) -> None:
        self.index = index
        self.kind = index.kind
        self.namespace = context.namespace if self.kind is CONFIGMAPS else ""
        """ConfigMaps are followed in our own namespace only; no service needs others."""
        self.spans = JobSpans(context)
        self._log = context.log
        self._problems = context.problems
        self._decoder = Decoder(index.kind)
        self._events = EventRecorder(context)
        self._refused: list[tuple[ApiObject, str]] = []
        """Objects larger than a message; at most a page of a list, reported by `report_refused`."""

    def decode(self, raw: bytes) -> ApiObject | Bare | None:
        """Return the projection; the identity if only that can be decoded; else None."""
        try:
            obj = self._decoder.decode(raw)
        except Exception as error:  # noqa: BLE001 - of one object, whatever it is
            return self._bare(raw, why=error)
        self._problems.resolved(PROJECT, self.kind, obj.key)
        return obj

    def _bare(self, raw: bytes, *, why: Exception) -> Bare | None:
        """Return the identity of an object that cannot be projected, and report the problem."""
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
        """Return the messages that bring the topic to the current state of the object."""
        # A foreign record replaced ours in the compacted topic, so an unchanged fact is written
        # again.
        again = again or self.index.is_foreign(obj.key)
        try:
            messages = self.index.seen(obj, again=again, listed=listed)
        except MessageTooLargeError as error:
            self._refused.append((obj, str(error)))
            # Readers would otherwise keep an outdated fact of an object that can no longer be
            # published.
            return self.index.gone(obj.key)
        except Exception as error:  # noqa: BLE001 - of one object, whatever it is
            uid = obj.metadata.uid
            self._problems.caught(WRITE, self.kind, obj.key, uid=uid, error=error)
            return []
        self._problems.resolved(WRITE, self.kind, obj.key)
        return messages

    def gone(self, key: str) -> None:
        """Close the problems of a deleted object."""
        self._problems.resolved(PROJECT, self.kind, key)
        self._problems.resolved(WRITE, self.kind, key)

    def jobs_to_trace(self, obj: ApiObject) -> list[Job]:
        """Return the job if its span still has to be exported after the publish."""
        return [obj] if isinstance(obj, Job) and self.spans.wants(obj) else []

    async def report_refused(self) -> None:
        """Write an event on each object that is larger than a message."""
        refused, self._refused = self._refused, []
        for obj, why in refused:
            self._log.error("object left out kind=%s key=%s why=%s", self.kind.short, obj.key, why)
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
