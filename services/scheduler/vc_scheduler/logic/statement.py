"""A transaction over the session: put pods on nodes, then keep all of it or none.

Pods lie on their nodes as soon as they are allocated, so later pods of the same statement see them.
`commit` turns them into binds, `discard` takes them off again in reverse order.
"""

from collections.abc import Callable

from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.awaiting import awaits_claims
from vc_scheduler.logic.rows import GroupRow, PodRow, Run
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.table import Ints


class Statement:
    """The placements of one group that stand or fall together."""

    def __init__(self, session: Session, group: GroupRow) -> None:
        self._session = session
        self._group = group
        self._placed: list[tuple[Run, tuple[PodRow, ...], Ints]] = []

    def allocate(self, run: Run, rows: Ints) -> None:
        """Put the next pods of the run on these nodes, in this order."""
        pods = self._session.waiting_pods(run)[: len(rows)]
        self._session.rooms.take(run.shape, rows)
        self._session.peers.put(pods, rows, sign=1)
        self._session.count_placed(self._group, run, pods=len(rows))
        self._placed.append((run, pods, rows))

    def commit(self) -> int:
        """Keep everything: these binds go out together. How many there are.

        None, and the room is kept, while claims of the pods are not bound.
        """
        if awaits_claims(self._session, self._group, self._placed):
            self.reserve()
            return 0
        names = self._session.snapshot.nodes.static.names
        count = 0
        for _, pods, rows in self._placed:
            for pod, row in zip(pods, rows.tolist(), strict=True):
                self._session.bind(self._group, pod, names[row])
            count += len(pods)
        self._placed.clear()
        return count

    def reserve(self) -> list[tuple[PodRow, int]]:
        """Keep the room without binding: pods that leave must be gone first. Who lies on which row."""
        kept = self.lying
        for run, pods, _ in self._placed:
            self._session.count_held(self._group, run, pods=len(pods))
        self._placed.clear()
        return kept

    def hold(self) -> Callable[[], None]:
        """The same, for room that may be given up again: what is returned does that."""
        placed = list(self._placed)
        self.reserve()

        def give_up() -> None:
            for run, pods, _ in placed:
                self._session.count_held(self._group, run, pods=-len(pods))
            self._placed = placed
            self.withdraw()

        return give_up

    def withdraw(self) -> None:
        """Take everything off again, whatever other statements did since."""
        for run, pods, rows in reversed(self._placed):
            self._session.peers.put(pods, rows, sign=-1)
            self._session.rooms.leave(run.shape, rows)
            self._session.count_placed(self._group, run, pods=-len(pods))
        self._placed.clear()

    @property
    def lying(self) -> list[tuple[PodRow, int]]:
        """Who lies on which row."""
        return [
            (pod, row)
            for _, pods, rows in self._placed
            for pod, row in zip(pods, rows.tolist(), strict=True)
        ]

    @property
    def rows(self) -> list[int]:
        """Nodes it has put something on."""
        return sorted({row for _, _, rows in self._placed for row in rows.tolist()})

    @property
    def amounts(self) -> Amounts:
        """What the pods that it has put somewhere ask for."""
        total: Amounts = {}
        for run, pods, _ in self._placed:
            for name, amount in run.shape.request:
                total[name] = total.get(name, 0) + amount * len(pods)
        return total

    def discard(self) -> None:
        """As if nothing had been."""
        for run, pods, rows in reversed(self._placed):
            self._session.peers.put(pods, rows, sign=-1)
            self._session.rooms.give_back(run.shape, rows)
            self._session.count_placed(self._group, run, pods=-len(pods))
        self._placed.clear()
