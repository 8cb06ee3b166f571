"""Facts and progress that only a newer release can read: while there are any, our view is partial.

A record that is broken is put aside and the view goes on, since nobody could do better. A record of a
newer schema is another matter: the object is there, a newer service knows it, and whoever decided
without it would over-commit nodes. So it is put aside as well, and from then on `why` makes readiness
say what to do, until a record of that key can be read again, because the watcher was set back and wrote
its truth over it. Upgrading is restarting, and needs nothing from here.

The watcher tells progress every second, so only the first records of a topic are put aside one by one.
None is lost by that: facts stay in their topics.
"""

from collections import Counter
from typing import Final

from vc_messages.codec import HEADER_SCHEMA, CodecError, NewerSchemaError
from vc_messages.record import Record, TopicPartition
from vc_messages.topics import PROGRESS
from vc_runtime.context import Context
from vc_runtime.letters import send_to_dead_letters

LETTERS_PER_TOPIC_MAX: Final = 10


class Refusals:
    """Of one follower, for as long as its process lives."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._newer: dict[TopicPartition, dict[str, str]] = {}
        """Schema version by key, of every record that stands refused."""
        self._letters: Counter[str] = Counter()

    def why(self) -> str:
        """What keeps us from deciding, and what helps; empty when everything could be read."""
        for log, versions in self._newer.items():
            count = sum(len(v) for at, v in self._newer.items() if at.topic == log.topic)
            version = max(versions.values(), key=int)
            return (
                f"{log.topic} holds {count} records of schema version {version}, "
                f"which this release cannot read: upgrade it"
            )
        return ""

    async def refuse(self, record: Record, error: CodecError) -> None:
        """Put a record aside, and remember it if a newer release wrote it."""
        if not isinstance(error, NewerSchemaError):
            await send_to_dead_letters(self._context, record, error)
            return
        versions = self._newer.setdefault(record.log, {})
        known = record.key in versions
        versions[record.key] = record.headers[HEADER_SCHEMA]
        sent = self._letters[record.topic]
        if known or sent > LETTERS_PER_TOPIC_MAX:
            return
        self._letters[record.topic] += 1
        if sent < LETTERS_PER_TOPIC_MAX:
            await send_to_dead_letters(self._context, record, error)
        else:
            self._context.log.error(
                "%s: further records of a newer schema stay in the topic and are not told one by one",
                record.topic,
            )

    def accepted(self, record: Record) -> None:
        """It was read: whatever stood refused under its key does not stand any more."""
        if not self._newer:
            return
        versions = self._newer.get(record.log, {})
        versions.pop(record.key, None)
        if not versions:
            self._newer.pop(record.log, None)

    def forget_facts(self) -> None:
        """The view is new and every fact is read again; progress is followed on."""
        self._newer = {log: v for log, v in self._newer.items() if log.topic == PROGRESS.name}
