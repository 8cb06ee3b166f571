"""A consumer group: the owner of each partition, and the committed offsets.

Every join, leave or expiry assigns all partitions again by Kafka's range rule, so topics of equal
partition count are co-partitioned. Ownership changes at once. The old owner learns of it at its
next poll and may still be writing, as with a real client whose heartbeats run in the background.
Therefore commits are checked against the owner, and effects have preconditions. A member that
neither polls nor leaves within the session time-out is removed, and joins again when it polls.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from vc.bus.memory.log import PartitionLog
from vc.clock import Clock
from vc.messages.record import TopicPartition

SESSION_SECONDS: Final = 10.0
"""A member that did not poll for this time has lost its partitions."""


class Participant(Protocol):
    """A member, as seen by its group."""

    topics: tuple[str, ...]
    polling: bool
    last_polled_at: float

    def rebalanced(self) -> None:
        """The partitions were assigned again; apply the assignment at the next poll."""
        ...


class Group:
    """A group. Invariant: each partition of each subscribed topic has exactly one owner."""

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
        """Add a member and rebalance."""
        member.last_polled_at = self._clock.monotonic()
        self._members[member] = []
        self.rebalance()

    def leave(self, member: Participant) -> None:
        """Remove a member; its partitions are assigned to others at once."""
        if self._members.pop(member, None) is not None:
            self.rebalance()

    def attend(self, member: Participant) -> None:
        """Record a poll of the member, and remove members whose session expired."""
        now = self._clock.monotonic()
        member.last_polled_at = now
        # A member inside a poll is alive, however long it waits.
        expelled = [m for m in self._members if not m.polling and self._expiry(m) <= now]
        for gone in expelled:
            del self._members[gone]
        if member not in self._members:
            self._members[member] = []
            self.rebalance()
        elif expelled:
            self.rebalance()

    def next_expiry(self) -> float | None:
        """When the next member that does not poll will be removed; None if all are polling."""
        return min((self._expiry(m) for m in self._members if not m.polling), default=None)

    def _expiry(self, member: Participant) -> float:
        return member.last_polled_at + self._session_seconds

    def assigned(self, member: Participant) -> list[PartitionLog]:
        """The logs that are assigned to the member."""
        return self._members.get(member, [])

    def commit(self, member: Participant, positions: Mapping[TopicPartition, int]) -> None:
        """Store the positions of logs that the member owns; positions of other logs are ignored."""
        # A member that lost a partition may still commit; the new owner decides.
        owned = {log.at for log in self.assigned(member) if not log.wiped}
        self.committed.update({at: offset for at, offset in positions.items() if at in owned})

    def forget_topic(self, topic: str) -> None:
        """Drop the commits of a deleted topic."""
        for at in [at for at in self.committed if at.topic == topic]:
            del self.committed[at]

    def rebalance(self) -> None:
        """Assign the partitions of every topic among its subscribers."""
        for logs in self._members.values():
            logs.clear()
        # Sorted, so that a simulation assigns the same partitions under any hash seed.
        for topic in sorted({topic for member in self._members for topic in member.topics}):
            self._share(self._logs_of(topic), [m for m in self._members if topic in m.topics])
        for member in self._members:
            member.rebalanced()

    def _share(self, logs: Sequence[PartitionLog], members: Sequence[Participant]) -> None:
        """The range rule: consecutive runs of equal length,
        where the first ones may be longer by one.
        """
        each, extra = divmod(len(logs), len(members))
        begin = 0
        for rank, member in enumerate(members):
            end = begin + each + (1 if rank < extra else 0)
            self._members[member].extend(logs[begin:end])
            begin = end
