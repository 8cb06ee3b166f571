"""Which pod groups this process enqueued, and what each claims since.

A status is an object's, and whoever may write the object may write it: `Inqueue` in a fact counts for
nothing by itself. Only what a session of this process decided does. A new leader knows of none, so it
decides about every Inqueue group without bound pods again. A claim is what the group asked for when it
was enqueued, whatever is written into it later, and it ends: whoever holds a place in the cluster for
longer than `CLAIM_SECONDS` without having come to it holds it in vain.
"""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.rows import PENDING, GroupRow

CLAIM_SECONDS: Final = 600.0
"""Twice the time after which a group that found no room is sent back (`inqueue.py`)."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What a group was enqueued with."""

    uid: str
    amounts: tuple[tuple[str, int], ...]
    at: float
    ended: bool = False


class LetIn:
    """By group key; bounded by the groups that there are. Invariant: in the order of `at`."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        """`changed` is told of groups whose rows are to be made anew."""
        self._changed = changed
        self._claims: dict[str, Claim] = {}
        self._ended: dict[str, Claim] = {}
        """Claims that are over; the group is still known as enqueued by us."""

    def put(self, key: str, uid: str, amounts: Amounts, *, now: float) -> None:
        """A session of ours enqueued the group, and promised it this."""
        self.drop(key)
        self._changed(key)
        self._claims[key] = Claim(uid=uid, amounts=tuple(sorted(amounts.items())), at=now)
        if not amounts:
            self._end(key)

    def drop(self, key: str) -> None:
        """It is Pending again, or gone."""
        self._claims.pop(key, None)
        self._ended.pop(key, None)

    def over(self, row: GroupRow) -> GroupRow:
        """The row with what it claims; one that has come to what it was enqueued for claims nothing more."""
        claim = self._claims.get(row.key) or self._ended.get(row.key)
        if claim is None or claim.uid != row.uid:
            return row
        amounts = () if claim.ended else claim.amounts
        laid = msgspec.structs.replace(row, let_in_at=claim.at, claim=amounts)
        if laid.placed and not laid.claimed:
            self._end(row.key)
        return laid

    def noted(self, key: str, phase: str) -> None:
        """A session decided on this phase: whoever goes back claims nothing."""
        if phase in ("", PENDING):
            self.drop(key)

    def _end(self, key: str) -> None:
        claim = self._claims.pop(key, None)
        if claim is not None:
            self._ended[key] = msgspec.structs.replace(claim, ended=True)

    def expire(self, now: float) -> None:
        """Claims end."""
        over: list[str] = []
        for key, claim in self._claims.items():
            if now < claim.at + CLAIM_SECONDS:
                break
            over.append(key)
        for key in over:
            self._end(key)
            self._changed(key)

    def shift(self, seconds: float) -> None:
        """The API server's clock was set: claims last as long as before."""
        for claims in (self._claims, self._ended):
            for key, claim in claims.items():
                claims[key] = msgspec.structs.replace(claim, at=claim.at + seconds)
                self._changed(key)

    def expiries(self) -> Iterator[float]:
        """When the first claim ends; the others end later."""
        first = next(iter(self._claims.values()), None)
        if first is not None:
            yield first.at + CLAIM_SECONDS
