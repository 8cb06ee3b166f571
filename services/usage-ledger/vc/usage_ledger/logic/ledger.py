"""The usage ledger: accounts of pods, and the time up to which hours are closed.

Hours are closed one after another: the accounts of an hour are written permanently, and from then
on only later seconds count. So a row of an hour is always a function of the accounts and never a
running sum. Observing a pod twice, late, after a restart or from a wiped bus changes nothing.

Invariant: no account that ended before `closed_until` is kept, so memory is bounded by existing
pods and the pods of open hours.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from vc.messages.usage import HOUR_SECONDS
from vc.model.api.pod import Pod
from vc.usage_ledger.logic.pod_account import (
    PodAccount,
    QueueHints,
    account_of,
    job_label_differs,
    join,
    last_seen,
    missed,
    queue_hints,
    reopened,
)

CLOSE_AFTER_SECONDS: Final = 120
"""How long after its end an hour stays open for late facts."""

FRESH_SECONDS: Final = 10.0
"""If the view was fresh within this time, a deletion is assumed to have happened now."""

STANDBY_HOURS: Final = 3
"""Hours that a standby keeps.

It does not know which hours are closed. This is far more than a change of leaders takes.
"""


class LedgerState(msgspec.Struct, frozen=True, kw_only=True):
    """The state that a successor needs."""

    closed_until: int
    seen_at: int
    """The last time at which every account without an end was known to be running."""
    accounts: list[PodAccount]


class UsageLedger:
    """Usage that is not closed yet."""

    def __init__(self, *, scheduler_names: Collection[str]) -> None:
        self._scheduler_names = frozenset(scheduler_names)
        self.accounts: dict[str, PodAccount] = {}
        self._present: dict[str, bool] = {}
        """Accounts whose pods are in the view, and whether those are still running."""
        self._before: frozenset[str] | None = frozenset()
        """While the view is read again: the accounts that were running
        before. None when it is complete."""
        self.closed_until: int | None = None
        """Beginning of the first open hour, or None before it is known."""
        self.seen_at = 0.0
        self.queue_hints: dict[str, QueueHints] = {}
        """How to find the queues of accounts that have none yet."""
        self.labels_ignored: Counter[str] = Counter()
        """Pods whose `queue` or `job` label differs from what they belong to,
        until they are counted in metrics."""
        self.changes = 0
        """Number of changes, so that an unchanged state is not written again."""

    # -- observing -------------------------------------------------------------------------------

    def observe(self, pod: Pod, *, now: float) -> None:
        """Observe a pod in its current state, and open, update or end its account."""
        uid = pod.metadata.uid
        found = account_of(pod, scheduler_names=self._scheduler_names, now=now)
        # Pods of other schedulers without a PodGroup are not charged.
        if found is None:
            return
        if self._is_closed(found):
            # A log that is read again first shows the pod running, which
            # must not stay open for ever.
            self._drop(uid)
            return
        self._present[uid] = found.end is None
        known = self.accounts.get(uid)
        # Counted once per pod, and not on each update.
        if known is None and job_label_differs(pod):
            self.labels_ignored["job"] += 1
        if known is None or not known.queue:
            self.queue_hints[uid] = queue_hints(pod)
        self._put(found if known is None else join(known, found))

    def observe_deleted(self, uid: str, *, now: float) -> None:
        """Observe that a pod is gone: just now if the view was fresh,
        else when it was last observed."""
        self._present.pop(uid, None)
        account = self.accounts.get(uid)
        if account is None:
            return
        # Without a fresh view the pod may have been gone for long.
        is_fresh = self._before is None and now - self.seen_at <= FRESH_SECONDS
        self._put(missed(account, now) if is_fresh else self._last_seen(account))

    def begin_rebuild(self) -> None:
        """Note that the view is read again from its beginning,
        including pods that are long gone."""
        # A second rebuild before the view is complete keeps the first comparison.
        if self._before is None:
            self._before = frozenset(u for u, a in self.accounts.items() if a.end is None)
        self._present.clear()

    def view_is_complete(self, *, now: float) -> None:
        """Note that the view is complete and fresh."""
        if self._before is not None:
            self._compare()
            self._before = None
        self.seen_at = max(self.seen_at, now)

    def _compare(self) -> None:
        """Compare accounts with a complete view: end those without a
        pod, reopen those that still run."""
        for uid, account in list(self.accounts.items()):
            goes_on = self._present.get(uid, False)
            if account.end is None and uid not in self._present:
                self._put(self._last_seen(account))
            # The account was ended by mistake while the view was incomplete.
            elif goes_on and account.end is not None:
                self._put(reopened(account))

    def _last_seen(self, account: PodAccount) -> PodAccount:
        known_before = self._before is None or account.uid in self._before
        return last_seen(account, self.seen_at if known_before else account.start)

    def name_queue(self, uid: str, queue: str) -> None:
        """Set the queue of a pod, from its PodGroup or job. The first one is kept."""
        account = self.accounts[uid]
        if not account.queue and queue:
            self._put(msgspec.structs.replace(account, queue=queue))
            hints = self.queue_hints.pop(uid, None)
            # Labels are only compared: a user could name any queue there.
            if hints is not None and not hints.labelled <= {queue}:
                self.labels_ignored["queue"] += 1

    def unnamed(self) -> list[PodAccount]:
        """Accounts whose queue is not known."""
        return [account for account in self.accounts.values() if not account.queue]

    # -- closing hours ---------------------------------------------------------------------------

    def start_if_new(self, *, now: float) -> None:
        """Start the ledger with this hour, if no ledger existed before."""
        if self.closed_until is None:
            self.closed_until = hour_of(now)

    def open_hours(self, *, now: float) -> range:
        """Hours whose rows may still change."""
        assert self.closed_until is not None
        return range(self.closed_until, int(now), HOUR_SECONDS)

    def closable(self, *, now: float) -> int | None:
        """The next hour to close, if it is due."""
        assert self.closed_until is not None
        is_due = now >= self.closed_until + HOUR_SECONDS + CLOSE_AFTER_SECONDS
        return self.closed_until if is_due else None

    def close_until(self, moment: int) -> None:
        """Note that everything before this time is written. It never goes backwards."""
        # A late predecessor must not open hours again.
        if self.closed_until is None or moment > self.closed_until:
            self.closed_until = moment
            self.changes += 1
        self._drop_before(self.closed_until)

    def drop_as_standby(self, *, now: float) -> None:
        """Drop old accounts of a standby, because the leader closes hours."""
        self._drop_before(hour_of(now) - STANDBY_HOURS * HOUR_SECONDS)

    # -- stored state --------------------------------------------------------------------------

    def state(self, *, gone_only: bool = False) -> LedgerState:
        """The state to store. `gone_only` omits accounts that can be derived from existing pods."""
        accounts = self.accounts.values()
        return LedgerState(
            closed_until=self.closed_until or 0,
            seen_at=int(self.seen_at),
            accounts=[
                a
                for a in accounts
                # Accounts of existing pods are derived again from the pods.
                if not gone_only or (a.end is not None and a.uid not in self._present)
            ],
        )

    def adopt(self, state: LedgerState) -> None:
        """Join the state of a predecessor.

        Pods that it observed and that are not here ended unobserved. They are charged up to
        the time they were last observed.
        """
        self.close_until(state.closed_until)
        self.absorb(state.accounts, seen_at=state.seen_at)

    def absorb(self, accounts: Iterable[PodAccount], *, seen_at: int) -> None:
        """Join stored accounts with known ones."""
        for stored in accounts:
            # The pod is gone, and the time of its end was not observed here.
            if stored.end is None and stored.uid not in self._present:
                stored = last_seen(stored, seen_at)
            # Its last second belongs to a closed hour, so it can change no row any more.
            if self._is_closed(stored):
                continue
            known = self.accounts.get(stored.uid)
            self._put(stored if known is None else join(known, stored))

    # -- internals -------------------------------------------------------------------------------

    def _put(self, account: PodAccount) -> None:
        # Unchanged accounts do not count, so that no write follows.
        if self.accounts.get(account.uid) != account:
            self.accounts[account.uid] = account
            self.changes += 1

    def _drop(self, uid: str) -> None:
        self._present.pop(uid, None)
        self.queue_hints.pop(uid, None)
        if self.accounts.pop(uid, None) is not None:
            self.changes += 1

    def _is_closed(self, account: PodAccount) -> bool:
        return (
            self.closed_until is not None
            and account.end is not None
            and account.end <= self.closed_until
        )

    def _drop_before(self, moment: int) -> None:
        for uid, account in list(self.accounts.items()):
            if account.end is not None and account.end <= moment:
                self._drop(uid)


def hour_of(moment: float) -> int:
    """The beginning of the hour."""
    return int(moment) // HOUR_SECONDS * HOUR_SECONDS
