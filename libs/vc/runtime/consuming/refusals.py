"""Facts that only a newer release can decode: while there are any, our view is partial.

A broken record becomes a dead letter and the view continues, because no release could decode it. A
record of a newer schema is different: the object exists, a newer service knows it, and a decision
without it would over-commit nodes. It becomes a dead letter too, and `why` makes the service
unready until a record of that key can be decoded, which happens when the watcher was rolled back
and overwrote it. After an upgrade the service restarts, so nothing remains to be done here.
Undecodable progress is skipped. A newer watcher publishes no other, so our view becomes stale, and
`unready` names both.

The watcher publishes progress every second, and a rebuilt view reads every fact again. Therefore
only the first records per topic and error code become dead letters. No record is lost: facts stay
in their topics, and all are counted.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from vc.messages.codec import HEADER_SCHEMA, CodecError, NewerSchemaError
from vc.messages.incarnations import ForeignClusterError, UnknownKindError
from vc.messages.record import Record, TopicPartition
from vc.messages.topics import PROGRESS
from vc.model.api.kinds import WATCHED
from vc.runtime.consuming.dead_letters import send_to_dead_letters
from vc.runtime.hosting.context import Context

_KINDS: Final = frozenset(kind.short for kind in WATCHED)

DEAD_LETTERS_PER_TOPIC_MAX: Final = 10
"""Dead letters per topic and error code of one process; each is a publish that delays the view."""


class Refusals:
    """Refused records of one follower, for the lifetime of its process."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._newer: dict[TopicPartition, dict[str, str]] = {}
        """Schema version by key of every record that is currently refused."""
        self._counts: Counter[tuple[str, str]] = Counter()
        """Number of refused records by topic and error code."""

    def why(self) -> str:
        """The reason why no decision may be made, with the remedy;
        empty if every fact could be decoded.
        """
        return self._newer_in(topic for topic in self._topics() if topic != PROGRESS.name)

    def why_no_progress(self) -> str:
        """A possible reason for missing progress:
        records of a newer schema on the progress topic.
        """
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
        """Send a record to the dead letters, and remember it if a newer release wrote it."""
        if isinstance(error, NewerSchemaError) and _matters(record):
            versions = self._newer.setdefault(record.log, {})
            known = record.key in versions
            versions[record.key] = record.headers[HEADER_SCHEMA]
            # Progress of one key repeats every second; one dead letter is enough.
            if known:
                return
        await self._write(record, error)

    async def _write(self, record: Record, error: CodecError) -> None:
        """Send a dead letter, up to the limit per topic and error code."""
        sort = (record.topic, error.code)
        self._counts[sort] += 1
        if isinstance(error, ForeignClusterError | UnknownKindError):
            self._pass_over(sort, error)
            return
        if self._counts[sort] <= DEAD_LETTERS_PER_TOPIC_MAX:
            await send_to_dead_letters(self._context, record, error)
            return
        self._context.dead_letters.labels(self._context.name, *sort).inc()
        if self._counts[sort] == DEAD_LETTERS_PER_TOPIC_MAX + 1:
            self._context.log.error(
                "further records stay in the topic and are only counted topic=%s reason=%s",
                *sort,
            )

    def _pass_over(self, sort: tuple[str, str], error: CodecError) -> None:
        """Count a valid record that is not for us. No dead letter is written, because topics of
        another cluster are not written to.
        """
        self._context.dead_letters.labels(self._context.name, *sort).inc()
        if self._counts[sort] == 1:
            self._context.log.warning(
                "record skipped and counted topic=%s error=%s", sort[0], error
            )

    def accepted(self, record: Record) -> None:
        """The record was decoded, so an earlier refusal of its key is obsolete."""
        if not self._newer:
            return
        versions = self._newer.get(record.log, {})
        versions.pop(record.key, None)
        if not versions:
            self._newer.pop(record.log, None)

    def forget_facts(self) -> None:
        """Drop refused facts, because the new view reads all facts again; progress is read on."""
        self._newer = {log: v for log, v in self._newer.items() if log.topic == PROGRESS.name}


def _matters(record: Record) -> bool:
    """Whether a refusal of the record is remembered. Keys of progress are kinds; other keys are
    ignored, because their number is unbounded.
    """
    return record.topic != PROGRESS.name or record.key in _KINDS
