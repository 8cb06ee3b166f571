"""A consumer group: who owns which partition, and what was committed.

Every join, leave or expiry shares all partitions out anew by Kafka's range rule, so topics of equal
partition count are co-partitioned. Ownership moves at once; the old owner learns of it at its next
poll and may still be finishing a write, as with a real client whose heartbeats run in the
background: that is why commits are checked against the owner, and effects carry preconditions.
A member that neither polls nor leaves for the session time-out is expelled, and joins anew when it
polls again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from vc_bus.memory.log import PartitionLog
from vc_clock import Clock
from vc_messages.record import TopicPartition

SESSION_SECONDS: Final = 10.0
"""A member that did not poll for so long has lost its partitions."""


class Participant(Protocol):
    """A member, as its group sees it."""

    topics: tuple[str, ...]
    polling: bool
    last_polled_at: float

    def rebalanced(self) -> None:
        """Partitions were shared out anew; take over at the next poll."""
        ...


class Group:
    """Invariant: each partition of each subscribed topic has exactly one owner."""

    def __init__(
        self,
        clock: Clock,
        *,
        logs_of: Callable[[str], Sequence[PartitionLog]],
        session_seconds: float = SESSION_SECONDS,
    ) -> None:
        self.committed: dict[TopicPartition, int] = {}
        self._clock = clock
        self._logs_of = logs_of
        self._session_seconds = session_seconds
        self._members: dict[Participant, list[PartitionLog]] = {}
        """In the order of joining, which is the order of the range rule."""

    def join(self, member: Participant) -> None:
        """Become a member, and share out anew."""
        member.last_polled_at = self._clock.monotonic()
        self._members[member] = []
        self.rebalance()

    def leave(self, member: Participant) -> None:
        """Others take over at once."""
        if self._members.pop(member, None) is not None:
            self.rebalance()

    def attend(self, member: Participant) -> None:
        """The member polls: it lives, and those who do not are expelled."""
        now = self._clock.monotonic()
        member.last_polled_at = now
        expelled = [m for m in self._members if not m.polling and self._expiry(m) <= now]
        for gone in expelled:
            del self._members[gone]
        if member not in self._members:
            self._members[member] = []
            self.rebalance()
        elif expelled:
            self.rebalance()

    def next_expiry(self) -> float | None:
        """When the next silent member will be expelled; None when all are polling."""
        return min((self._expiry(m) for m in self._members if not m.polling), default=None)

    def _expiry(self, member: Participant) -> float:
        return member.last_polled_at + self._session_seconds

    def assigned(self, member: Participant) -> list[PartitionLog]:
        """The logs that are the member's."""
        return self._members.get(member, [])

    def commit(self, member: Participant, positions: Mapping[TopicPartition, int]) -> None:
        """Remember the positions of logs that are the member's; the others are not its to tell."""
        owned = {log.at for log in self.assigned(member) if not log.wiped}
        self.committed.update({at: offset for at, offset in positions.items() if at in owned})

    def forget_topic(self, topic: str) -> None:
        """Commits die with the topic."""
        for at in [at for at in self.committed if at.topic == topic]:
            del self.committed[at]

    def rebalance(self) -> None:
        """Share out every topic among those who want it."""
        for logs in self._members.values():
            logs.clear()
        for topic in sorted({topic for member in self._members for topic in member.topics}):
            self._share(self._logs_of(topic), [m for m in self._members if topic in m.topics])
        for member in self._members:
            member.rebalanced()

    def _share(self, logs: Sequence[PartitionLog], members: Sequence[Participant]) -> None:
        """The range rule: runs of equal length, the first ones longer by one."""
        each, extra = divmod(len(logs), len(members))
        begin = 0
        for rank, member in enumerate(members):
            end = begin + each + (1 if rank < extra else 0)
            self._members[member].extend(logs[begin:end])
            begin = end
