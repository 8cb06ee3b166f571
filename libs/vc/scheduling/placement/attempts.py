"""Bounded preemption attempts: a session tries a limited number of jobs, and over time all jobs.

A preemption attempt is expensive, so a session makes a bounded number of them, in job order. After
too many failed attempts, or after failed attempts that simulated the removal of too many pods, the
remaining attempts are used for jobs further back in the order. The session number decides where
they start, and it is another position in each session. So jobs that always fail neither block the
jobs behind them for ever nor make sessions long. A job that succeeds needs no further attempt.

Jobs with equal equivalence keys are tried once: if evictions do not help one of them, they do not
help the next, as long as nothing has changed.
"""

from collections.abc import Callable, Iterable, Iterator
from math import gcd
from typing import Final

from vc.model.values.bounded import read_version
from vc.scheduling.model.rows import GroupRow
from vc.scheduling.placement.simulated_removal import Simulations
from vc.scheduling.session.session import Session

TRIED_MAX: Final = 50
"""Preemption attempts per action and session."""

FAILED_MAX: Final = 40
"""Failed attempts in job order; after that, the remaining attempts rotate over the other jobs."""

ROTATED_MAX: Final = TRIED_MAX - FAILED_MAX
"""About how many positions the start of the rotation moves from one session to the next."""

FAILED_REMOVALS_MAX: Final = 50_000
"""Simulated pod removals of failed attempts in job order, a second limit beside `FAILED_MAX`.

On large clusters the simulations of a single job remove tens of thousands of pods, at some
microseconds each."""

ROTATED_REMOVALS_MAX: Final = 12_500
"""Simulated pod removals of failed attempts in the rotation.

At least one job is tried in any case.
"""

UNTRIED_SECONDS: Final = 5.0
"""Delay of the next session when jobs had no attempt. It runs even if no event happens before."""

EquivalenceKey = Callable[[GroupRow], tuple[object, ...]]
"""Computes the equivalence key of a job."""


class PreemptionAttempts:
    """Counts the preemption attempts of one action, and remembers equivalence keys that failed."""

    def __init__(self, session: Session, key_of: EquivalenceKey) -> None:
        self._session = session
        self._key_of = key_of
        self._tried = 0
        self._failures = 0
        self._failed_removals = 0
        self._simulations = session.cached(Simulations)
        self._removals_seen = self._simulations.pods_removed
        self._failed: dict[tuple[object, ...], None] = {}
        self._keys: dict[str, tuple[int, tuple[object, ...]]] = {}
        """Equivalence key by job, with the state of node capacity for which it was computed."""

    def among(self, groups: Iterable[GroupRow]) -> Iterator[GroupRow]:
        """The jobs to try.

        The caller reports each attempt with `tried` before it takes the next job.
        """
        behind: list[GroupRow] = []
        for group in groups:
            if self.failed_before(group):
                continue
            if self._enough():
                behind.append(group)
            else:
                yield group
        # The rotation has a budget of its own, because the attempts above may have used up theirs.
        removals_max = self._failed_removals + ROTATED_REMOVALS_MAX
        start = _start(_number(self._session), len(behind))
        for group in [*behind[start:], *behind[:start]]:
            # Attempts since the job was put behind may have failed for its key.
            if self.failed_before(group):
                continue
            if self._tried >= TRIED_MAX or self._failed_removals >= removals_max:
                # The other jobs get their attempt in a later session, even without any event.
                self._session.wake(self._session.now + UNTRIED_SECONDS)
                return
            yield group

    def _enough(self) -> bool:
        """Whether the attempts in job order are used up, and the rotation has to start."""
        return (
            self._failures >= FAILED_MAX
            or self._tried >= TRIED_MAX
            or self._failed_removals >= FAILED_REMOVALS_MAX
        )

    def failed_before(self, group: GroupRow) -> bool:
        """Whether an attempt with the same equivalence key failed before."""
        return bool(self._failed) and self._key(group) in self._failed

    def tried(self, group: GroupRow, *, helped: bool) -> None:
        """Record an attempt and its result. Called after each attempt."""
        self._tried += 1
        removals = self._simulations.pods_removed - self._removals_seen
        self._removals_seen = self._simulations.pods_removed
        if not helped:
            self._failures += 1
            self._failed_removals += removals
            self.fails(group)

    def fails(self, group: GroupRow) -> None:
        """Record that an attempt would fail. It does not count, because nothing was simulated."""
        self._failed[self._key(group)] = None

    def _key(self, group: GroupRow) -> tuple[object, ...]:
        """The equivalence key of a job, computed once per state of node capacity."""
        known, state = self._keys.get(group.key), self._session.node_capacity.state
        if known is None or known[0] != state:
            known = self._keys[group.key] = (state, self._key_of(group))
        return known[1]

    def forget(self) -> None:
        """Forget failed keys after a change that the equivalence keys do not contain."""
        self._failed.clear()


def _number(session: Session) -> int:
    """The number of the session within its leader's term; 0 if the session id has none."""
    last = session.snapshot.session_id.rpartition("-")[2]
    return read_version(last)


def _start(number: int, count: int) -> int:
    """The position at which the rotation of a session starts among `count` jobs.

    It is about `ROTATED_MAX` after the start of the previous session, so that sessions try different
    jobs.
    """
    # A step that is coprime to the count makes `count` sessions start at every position once.
    step = ROTATED_MAX
    while gcd(step, max(1, count)) > 1:
        step += 1
    return number * step % max(1, count)
