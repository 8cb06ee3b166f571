"""The usage ledger: accounts of pods, and up to when they have been settled.

Hours are closed one after another: what the accounts say of an hour is written down for good, and
from then on only later seconds count. So a row of an hour is always a function of the accounts, never
a running sum: seeing a pod twice, late, after a restart or out of a wiped bus changes nothing.

Invariant: no account that ended before `closed_until` is kept, so memory is bounded by the pods that
exist and those of the hours that are not closed.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from vc_messages.usage import HOUR_SECONDS
from vc_model.pod import Pod
from vc_queue_controller.logic.ledger_accounts import (
    Account,
    Naming,
    account_of,
    denies_job,
    join,
    last_seen,
    missed,
    naming_of,
    reopened,
)

CLOSE_AFTER_SECONDS: Final = 120
"""How long after its end an hour stays open for what is told late."""

FRESH_SECONDS: Final = 10.0
"""A deletion that is told while the view was looked at so lately happened about now."""

STANDBY_HOURS: Final = 3
"""Who does not lead does not know what is closed; it keeps so many hours, which is far more than a
change of leaders takes."""


class LedgerState(msgspec.Struct, frozen=True, kw_only=True):
    """What a successor needs."""

    closed_until: int
    seen_at: int
    """The last moment at which every account without an end was known to go on."""
    accounts: list[Account]


class Ledger:
    """What is known of usage that is not closed yet."""

    def __init__(self, *, scheduler_names: Collection[str]) -> None:
        self._scheduler_names = frozenset(scheduler_names)
        self.accounts: dict[str, Account] = {}
        self._present: dict[str, bool] = {}
        """Accounts whose pods the view has, and whether those still go on."""
        self._before: frozenset[str] | None = frozenset()
        """While the view is read again: who went on when we last looked. None when it is complete."""
        self.closed_until: int | None = None
        """Begin of the first hour that is open; None before anybody said."""
        self.seen_at = 0.0
        self.namings: dict[str, Naming] = {}
        """How to find the queues of accounts that have none yet."""
        self.labels_ignored: Counter[str] = Counter()
        """Pods with a `queue` or `job` label that names another one than they belong to, until they are
        told in metrics."""
        self.changes = 0
        """Counted, so that nothing is written that was written before."""

    # -- being told ------------------------------------------------------------------------------

    def see(self, pod: Pod, *, now: float) -> None:
        """A pod as it is."""
        uid = pod.metadata.uid
        found = account_of(pod, scheduler_names=self._scheduler_names, now=now)
        if found is None:
            return
        if self._is_settled(found):
            # A log that is read again tells first that it ran; that must not go on for ever.
            self._forget(uid)
            return
        self._present[uid] = found.end is None
        known = self.accounts.get(uid)
        if known is None and denies_job(pod):
            self.labels_ignored["job"] += 1
        if known is None or not known.queue:
            self.namings[uid] = naming_of(pod)
        self._put(found if known is None else join(known, found))

    def miss(self, uid: str, *, now: float) -> None:
        """A pod is gone: just now if we have been looking, else since we last did."""
        self._present.pop(uid, None)
        account = self.accounts.get(uid)
        if account is None:
            return
        looking = self._before is None and now - self.seen_at <= FRESH_SECONDS
        self._put(missed(account, now) if looking else self._last_seen(account))

    def look_anew(self) -> None:
        """The view is read again from its beginning, with pods that went long ago."""
        if self._before is None:
            self._before = frozenset(u for u, a in self.accounts.items() if a.end is None)
        self._present.clear()

    def looking(self, *, now: float) -> None:
        """The view is complete and fresh."""
        if self._before is not None:
            self._compare()
            self._before = None
        self.seen_at = max(self.seen_at, now)

    def _compare(self) -> None:
        """After a new look: who is not there has gone, and who is there has not."""
        for uid, account in list(self.accounts.items()):
            goes_on = self._present.get(uid, False)
            if account.end is None and uid not in self._present:
                self._put(self._last_seen(account))
            elif goes_on and account.end is not None:
                self._put(reopened(account))

    def _last_seen(self, account: Account) -> Account:
        known_before = self._before is None or account.uid in self._before
        return last_seen(account, self.seen_at if known_before else account.start)

    def name_queue(self, uid: str, queue: str) -> None:
        """The queue of a pod, by its pod group or its job; the first one stays."""
        account = self.accounts[uid]
        if not account.queue and queue:
            self._put(msgspec.structs.replace(account, queue=queue))
            naming = self.namings.pop(uid, None)
            if naming is not None and not naming.said <= {queue}:
                self.labels_ignored["queue"] += 1

    def unnamed(self) -> list[Account]:
        """Accounts whose queue is not known."""
        return [account for account in self.accounts.values() if not account.queue]

    # -- settling --------------------------------------------------------------------------------

    def begin(self, *, now: float) -> None:
        """Nobody kept a ledger before: it begins with this hour."""
        if self.closed_until is None:
            self.closed_until = hour_of(now)

    def open_hours(self, *, now: float) -> range:
        """Hours whose rows may still change."""
        assert self.closed_until is not None
        return range(self.closed_until, int(now), HOUR_SECONDS)

    def closable(self, *, now: float) -> int | None:
        """The next hour to be closed, if it is time."""
        assert self.closed_until is not None
        is_due = now >= self.closed_until + HOUR_SECONDS + CLOSE_AFTER_SECONDS
        return self.closed_until if is_due else None

    def close_until(self, moment: int) -> None:
        """Everything before is written down; never backwards."""
        if self.closed_until is None or moment > self.closed_until:
            self.closed_until = moment
            self.changes += 1
        self._forget_before(self.closed_until)

    def forget_as_standby(self, *, now: float) -> None:
        """Somebody else closes hours."""
        self._forget_before(hour_of(now) - STANDBY_HOURS * HOUR_SECONDS)

    # -- handing over ----------------------------------------------------------------------------

    def state(self, *, gone_only: bool = False) -> LedgerState:
        """To be kept outside; `gone_only` leaves out what the pods themselves still tell."""
        accounts = self.accounts.values()
        return LedgerState(
            closed_until=self.closed_until or 0,
            seen_at=int(self.seen_at),
            accounts=[
                a
                for a in accounts
                if not gone_only or (a.end is not None and a.uid not in self._present)
            ],
        )

    def adopt(self, state: LedgerState) -> None:
        """What a predecessor kept. Pods that it saw and that are not here ended unseen: they are
        charged to the moment at which they were last seen."""
        self.close_until(state.closed_until)
        self.absorb(state.accounts, seen_at=state.seen_at)

    def absorb(self, accounts: Iterable[Account], *, seen_at: int) -> None:
        """Join what was kept with what is known."""
        for kept in accounts:
            if kept.end is None and kept.uid not in self._present:
                kept = last_seen(kept, seen_at)
            if self._is_settled(kept):
                continue
            known = self.accounts.get(kept.uid)
            self._put(kept if known is None else join(known, kept))

    # -- inside ----------------------------------------------------------------------------------

    def _put(self, account: Account) -> None:
        if self.accounts.get(account.uid) != account:
            self.accounts[account.uid] = account
            self.changes += 1

    def _forget(self, uid: str) -> None:
        self._present.pop(uid, None)
        self.namings.pop(uid, None)
        if self.accounts.pop(uid, None) is not None:
            self.changes += 1

    def _is_settled(self, account: Account) -> bool:
        return (
            self.closed_until is not None
            and account.end is not None
            and account.end <= self.closed_until
        )

    def _forget_before(self, moment: int) -> None:
        for uid, account in list(self.accounts.items()):
            if account.end is not None and account.end <= moment:
                self._forget(uid)


def hour_of(moment: float) -> int:
    """The begin of the hour."""
    return int(moment) // HOUR_SECONDS * HOUR_SECONDS
