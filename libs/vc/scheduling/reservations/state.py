"""The reservations of one session, with their invariants.

A reservation is a placement that is not bound: its pods occupy node capacity and count in the queue
accounts as reserved. It ends with the session; the next one makes it again, from the nomination or
from the terminating pods. This module is below the session, so it imports only values.
"""

from collections.abc import Callable, Container, Sequence

from vc.messages.sessions import Reason, Stage
from vc.scheduling.model.rows import GroupRow, PodRow

ReservedNodes = list[tuple[PodRow, int]]
"""Pods and the rows of the nodes reserved for them."""


class ReservationError(AssertionError):
    """An invariant of the reservations does not hold."""


class Reservations:
    """Who has a reservation, on which nodes, and who lost one."""

    def __init__(self) -> None:
        self.reserved_nodes: dict[str, ReservedNodes] = {}
        """The nodes to write as a new nomination, by group: those of a preemptor with new victims,
        and those of a group that took reservations over. Invariant: every such group is waiting."""
        self.waiting: dict[str, Reason] = {}
        """Groups with a reservation for all pods that were tried, which cannot be used yet: pods still
        terminate or claims are unbound. Invariant: a group that waits for terminating pods has no
        binds in this session. Surplus pods may wait for claims after the minimum is bound."""
        self.partial: dict[str, Callable[[], None]] = {}
        """By group with a reservation for only a part of its gang: the function that cancels it.
        Invariant: such a group is not waiting, because a whole reservation replaces a partial one."""
        self.taken_over: dict[str, list[str]] = {}
        """By group: the groups of lower priority whose reservations it took over. Invariant: at
        least one, and none of them is lost to another group."""
        self.lost_to: dict[str, str] = {}
        """By group that lost its reservation: the group that took it over. Invariant: the inverse
        of `taken_over`."""

    def reserve(self, group: GroupRow, nodes: ReservedNodes) -> None:
        """Record the nodes of a new nomination."""
        self.reserved_nodes[group.key] = nodes

    def wait(self, group: GroupRow, reason: Reason) -> None:
        """Record that the whole gang has a reservation, and what it waits for."""
        self.waiting[group.key] = reason

    def keep_partial(self, group: GroupRow, cancel: Callable[[], None]) -> None:
        """Record a reservation for a part of the gang, which `cancel` reverts."""
        self.partial[group.key] = cancel

    def cancel_partial(self, group: GroupRow) -> bool:
        """Cancel the group's partial reservation; return whether it had one."""
        cancel = self.partial.pop(group.key, None)
        if cancel is not None:
            cancel()
        return cancel is not None

    def take_over(self, group: GroupRow, lost: list[str]) -> None:
        """Record that the group took the reservations of these groups over."""
        self.taken_over[group.key] = lost
        self.lost_to.update(dict.fromkeys(lost, group.key))

    def check(self, *, bound: Container[str], evicted_for: Sequence[str]) -> None:
        """Raise if an invariant does not hold at the end of a session.

        `bound` are the groups with binds, `evicted_for` those with new victims.
        """
        for key, reason in self.waiting.items():
            claims = reason.stage is Stage.VOLUMES
            _require(claims or key not in bound, key, "is bound and waits for terminating pods")
            _require(key not in self.partial, key, "has a whole and a partial reservation")
        for key in self.reserved_nodes:
            new = key in evicted_for or key in self.taken_over
            _require(new, key, "has a new nomination without victims or a take-over")
            _require(key in self.waiting, key, "has a new nomination and waits for nothing")
        for key in evicted_for:
            _require(key in self.reserved_nodes, key, "has victims and no reserved nodes")
        for key, lost in self.taken_over.items():
            _require(bool(lost), key, "took over no reservation")
            _require(
                key in bound or key in self.reserved_nodes or key in self.lost_to,
                key,
                "took over reservations, and is neither bound nor has reserved nodes",
            )
            for other in lost:
                _require(self.lost_to.get(other) == key, other, f"did not lose to {key}")
        for key, taker in self.lost_to.items():
            _require(key in self.taken_over.get(taker, ()), key, f"was not taken over by {taker}")


def _require(holds: object, group: str, problem: str) -> None:
    if not holds:
        raise ReservationError(f"reservations: {group} {problem}")
