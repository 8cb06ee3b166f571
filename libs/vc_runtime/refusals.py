"""Facts that only a newer release can read: while there are any, our view is partial.

A record that is broken is put aside and the view goes on, since nobody could do better. A record of a
newer schema is another matter: the object is there, a newer service knows it, and whoever decided
without it would over-commit nodes. So it is put aside as well, and from then on `why` makes readiness
say what to do, until a record of that key can be read again, because the watcher was set back and wrote
its truth over it. Upgrading is restarting, and needs nothing from here. Progress that cannot be read is
passed over: a watcher that is of a newer release tells nothing else, so our view grows old, and `unready`
names both.

The watcher tells progress every second, and whoever rebuilds its view reads every fact again, so only the
first records of a topic are put aside one by one, of each sort. None is lost by that: facts stay in their
topics, and all are counted.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from vc_messages.codec import HEADER_SCHEMA, CodecError, NewerSchemaError
from vc_messages.incarnations import ForeignClusterError, UnknownKindError
from vc_messages.record import Record, TopicPartition
from vc_messages.topics import PROGRESS
from vc_model.kinds import WATCHED
from vc_runtime.context import Context
from vc_runtime.letters import send_to_dead_letters

_KINDS: Final = frozenset(kind.short for kind in WATCHED)

LETTERS_PER_TOPIC_MAX: Final = 10
"""Of one sort, by one process; each is a publish that the view waits for."""


class Refusals:
    """Of one follower, for as long as its process lives."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._newer: dict[TopicPartition, dict[str, str]] = {}
        """Schema version by key, of every record that stands refused."""
        self._letters: Counter[tuple[str, str]] = Counter()
        """By topic and by the code of what is wrong."""

    def why(self) -> str:
        """What keeps us from deciding, and what helps; empty when every fact could be read."""
        return self._newer_in(topic for topic in self._topics() if topic != PROGRESS.name)

    def why_no_progress(self) -> str:
        """What may be the reason when there is none; progress that nobody can read says nothing else."""
        return self._newer_in(topic for topic in self._topics() if topic == PROGRESS.name)

    def _topics(self) -> list[str]:
        return [log.topic for log in self._newer]

    def _newer_in(self, topics: Iterable[str]) -> str:
        for topic in topics:
            found = [v for at, v in self._newer.items() if at.topic == topic]
            version = max((v for versions in found for v in versions.values()), key=int)
            return (
                f"{topic} holds {sum(map(len, found))} records of schema version {version}, "
                f"which this release cannot read: upgrade it"
            )
        return ""

    async def refuse(self, record: Record, error: CodecError) -> None:
        """Put a record aside, and remember it if a newer release wrote it."""
        if isinstance(error, NewerSchemaError) and _matters(record):
            versions = self._newer.setdefault(record.log, {})
            known = record.key in versions
            versions[record.key] = record.headers[HEADER_SCHEMA]
            if known:
                return
        await self._write(record, error)

    async def _write(self, record: Record, error: CodecError) -> None:
        """A letter, as long as there are few of its sort."""
        sort = (record.topic, error.code)
        self._letters[sort] += 1
        if isinstance(error, ForeignClusterError | UnknownKindError):
            self._pass_over(sort, error)
            return
        if self._letters[sort] <= LETTERS_PER_TOPIC_MAX:
            await send_to_dead_letters(self._context, record, error)
            return
        self._context.dead_letters.labels(self._context.name, *sort).inc()
        if self._letters[sort] == LETTERS_PER_TOPIC_MAX + 1:
            self._context.log.error(
                "%s: further records (%s) stay in the topic and are counted, not told one by one",
                *sort,
            )

    def _pass_over(self, sort: tuple[str, str], error: CodecError) -> None:
        """Nothing is wrong with it, but it is not for us; topics of others are not written to."""
        self._context.dead_letters.labels(self._context.name, *sort).inc()
        if self._letters[sort] == 1:
            self._context.log.warning("%s: passed over and counted: %s", sort[0], error)

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


def _matters(record: Record) -> bool:
    """Keys of progress are kinds; under any other there may be any number of records."""
    return record.topic != PROGRESS.name or record.key in _KINDS
