"""Which pod groups this process enqueued, and the resources that each of them claims since.

Any client that may write a PodGroup may write its status, so `Inqueue` in a fact proves nothing.
Only decisions of this process count. A new leader has made none, so it decides again about every
Inqueue group without bound pods. A claim is what the group requested when it was enqueued, whatever
is written later. It ends after `CLAIM_SECONDS`, because a group that does not start within that
time only blocks others.

Times are kept here too and not read from a status. A group whose status another client resets, and
which is enqueued again, continues with the time of its first claim. A group that returned to
Pending after a time-out rests whatever its status says (`actions/inqueue_timeout.py`). Both are
forgotten `REST_SECONDS` after the group returned to Pending.
"""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from vc.model.api.scheduling import PodGroupStatus
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.pod_group_status import says_timed_out
from vc.scheduling.model.rows import PENDING, GroupRow

CLAIM_SECONDS: Final = 600.0
"""Twice the time after which an enqueued group that does not fit returns to Pending, see
`actions/inqueue_timeout.py`."""

REST_SECONDS: Final = 300.0
"""How long a group stays Pending after the inqueue time-out, unless its gang fits."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """The resources with which a group was enqueued."""

    uid: str
    amounts: tuple[tuple[str, int], ...]
    at: float
    """When it was enqueued first. Writes to its status do not change it."""
    ended: bool = False
    had_minimum: bool = False
    """It had its minimum on nodes, so a later claim is a new one."""
    pending_at: float = 0.0
    timed_out: bool = False
    """It returned to Pending by the inqueue time-out."""


class EnqueuedGroups:
    """By group key; bounded by the number of groups. Invariant: sorted by `at`."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        """`changed` is called with the groups whose rows must be created again."""
        self._changed = changed
        self._claims: dict[str, Claim] = {}
        self._ended: dict[str, Claim] = {}
        """Claims that have ended; the groups still count as enqueued by this process."""
        self._pending: dict[str, Claim] = {}
        """Claims of groups that are Pending again, in the order of `pending_at`."""

    def put(self, key: str, uid: str, amounts: Amounts, *, now: float) -> None:
        """A session enqueued the group with these resources."""
        known = self._claims.get(key) or self._ended.get(key) or self._pending.get(key)
        self.drop(key)
        self._changed(key)
        # A group keeps the time of its first claim. Otherwise a client that resets the status again
        # and again would renew the claim, and block its queue for ever.
        at = known.at if known is not None and known.uid == uid else now
        self._claims[key] = Claim(uid=uid, amounts=tuple(sorted(amounts.items())), at=at)
        if not amounts or now >= at + CLAIM_SECONDS:
            self._end(key)
        elif at < now:  # rare: another writer set its status back
            self._claims = dict(sorted(self._claims.items(), key=lambda item: item[1].at))

    def drop(self, key: str) -> None:
        """The group was deleted."""
        self._claims.pop(key, None)
        self._ended.pop(key, None)
        self._pending.pop(key, None)

    def over(self, row: GroupRow) -> GroupRow:
        """The row with its claim. The claim ends once the group has what it was enqueued for."""
        back = self._pending.get(row.key)
        if back is not None and back.uid == row.uid:
            timed_out_at = back.pending_at if back.timed_out else None
            return msgspec.structs.replace(row, claim_since=back.at, timed_out_at=timed_out_at)
        claim = self._claims.get(row.key) or self._ended.get(row.key)
        if claim is None or claim.uid != row.uid:
            return row
        amounts = () if claim.ended else claim.amounts
        laid = msgspec.structs.replace(
            row, enqueued_at=claim.at, claim_since=claim.at, claim=amounts
        )
        if laid.placed and not claim.had_minimum and len(laid.placed) >= laid.min_member:
            table = self._ended if claim.ended else self._claims
            table[row.key] = msgspec.structs.replace(claim, had_minimum=True)
        # The group has what it was enqueued for. From now on its allocated resources count, and
        # counting the claim too would charge the queue twice.
        if laid.placed and not laid.claimed:
            self._end(row.key)
        return laid

    def status_decided(self, key: str, status: PodGroupStatus, *, now: float) -> None:
        """A session decided on this status. A group that returns to Pending claims nothing."""
        if status.phase not in ("", PENDING):
            return
        claim = self._claims.pop(key, None) or self._ended.pop(key, None)
        # A group that once had its minimum was not blocked by its claim, so it need not rest.
        if claim is not None and not claim.had_minimum:
            timed_out = says_timed_out(status)
            self._pending[key] = msgspec.structs.replace(claim, pending_at=now, timed_out=timed_out)

    def _end(self, key: str) -> None:
        claim = self._claims.pop(key, None)
        if claim is not None:
            self._ended[key] = msgspec.structs.replace(claim, ended=True)

    def expire(self, now: float) -> None:
        """End claims and rests after their time."""
        while self._pending:
            key, back = next(iter(self._pending.items()))
            if now < back.pending_at + REST_SECONDS:
                break
            del self._pending[key]
            self._changed(key)
        over: list[str] = []
        for key, claim in self._claims.items():
            # Claims are sorted by time, so the first valid one ends the search.
            if now < claim.at + CLAIM_SECONDS:
                break
            over.append(key)
        for key in over:
            self._end(key)
            self._changed(key)

    def shift(self, seconds: float) -> None:
        """The API server's clock was changed: the remaining time of claims stays the same."""
        for claims in (self._claims, self._ended, self._pending):
            for key, claim in claims.items():
                claims[key] = msgspec.structs.replace(
                    claim, at=claim.at + seconds, pending_at=claim.pending_at + seconds
                )
                self._changed(key)

    def expiries(self) -> Iterator[float]:
        """When the first claim ends. The session that sees a resting group registers the end of its rest."""
        first = next(iter(self._claims.values()), None)
        if first is not None:
            yield first.at + CLAIM_SECONDS
