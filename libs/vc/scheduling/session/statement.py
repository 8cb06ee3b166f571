"""A transaction over the session: place the pods of a group, then commit or discard all of them.

Allocated pods occupy their nodes at once, so later pods of the same statement see them. `commit`
turns the placements into binds; `discard` reverts them in reverse order.
"""

from collections.abc import Callable, Sequence

from vc.model.values.resources import Resources
from vc.scheduling.model.node_table import Ints
from vc.scheduling.model.rows import GroupRow, PodRow, Run
from vc.scheduling.model.volume_rows import ClaimChoice
from vc.scheduling.session import reasons
from vc.scheduling.session.session import Session


class Statement:
    """Placements of one group that are committed or discarded together."""

    def __init__(self, session: Session, group: GroupRow) -> None:
        self._session = session
        self._group = group
        self._placed: list[tuple[Run, tuple[PodRow, ...], Ints]] = []

    def allocate(self, run: Run, rows: Ints) -> None:
        """Place the next waiting pods of the run on these nodes, in this order."""
        pods = self._session.waiting_pods(run)[: len(rows)]
        self._session.node_capacity.take(run.shape, rows)
        self._session.pod_affinity.put(pods, rows, sign=1)
        self._session.count_placed(self._group, run, pods=len(rows))
        self._placed.append((run, pods, rows))

    def commit(self) -> int:
        """Bind all placed pods and return their number.

        While claims of these pods are not bound, the placements become reservations and the result
        is 0.
        """
        # Pods bound before their claims would occupy nodes without their storage.
        if _awaits_claims(self._session, self._group, self._placed):
            self.reserve()
            return 0
        names = self._session.snapshot.nodes.static.names
        count = 0
        for _, pods, rows in self._placed:
            for pod, row in zip(pods, rows.tolist(), strict=True):
                self._session.decided.bind(self._group, pod, names[row])
            count += len(pods)
        self._placed.clear()
        return count

    def reserve(self) -> list[tuple[PodRow, int]]:
        """Keep the placements as reservations without binding, and return each pod with its row.
        The pods are bound in a later session, after terminating pods are gone."""
        kept = self.placements
        for run, pods, _ in self._placed:
            self._session.mark_reserved(self._group, run, pods=len(pods))
        self._placed.clear()
        return kept

    def reserve_revocably(self) -> Callable[[], None]:
        """Keep the placements as reservations, and return the function that cancels them."""
        placed = list(self._placed)
        self.reserve()

        def cancel() -> None:
            for run, pods, _ in placed:
                # The pods must not count as reserved any more when they are removed.
                self._session.mark_reserved(self._group, run, pods=-len(pods))
            self._placed = placed
            self.withdraw()

        return cancel

    def withdraw(self) -> None:
        """Revert all placements, even if other statements have changed the node capacity since."""
        for run, pods, rows in reversed(self._placed):
            self._session.pod_affinity.put(pods, rows, sign=-1)
            # This is not a rollback to an earlier state, so it counts as a removal with a new state id.
            self._session.node_capacity.remove_pods(run.shape, rows)
            self._session.count_placed(self._group, run, pods=-len(pods))
        self._placed.clear()

    @property
    def placements(self) -> list[tuple[PodRow, int]]:
        """Each placed pod with its row."""
        return [
            (pod, row)
            for _, pods, rows in self._placed
            for pod, row in zip(pods, rows.tolist(), strict=True)
        ]

    @property
    def rows(self) -> list[int]:
        """Rows of the nodes with placements of this statement."""
        return sorted({row for _, _, rows in self._placed for row in rows.tolist()})

    @property
    def amounts(self) -> Resources:
        """The sum of the requests of all placed pods."""
        total = Resources()
        for run, pods, _ in self._placed:
            total.add(run.shape.request, times=len(pods))
        return total

    def discard(self) -> None:
        """Revert all placements and restore the state from before the statement."""
        for run, pods, rows in reversed(self._placed):
            self._session.pod_affinity.put(pods, rows, sign=-1)
            # Reverse order restores the earlier state ids, so results cached for these states stay valid.
            self._session.node_capacity.give_back(run.shape, rows)
            self._session.count_placed(self._group, run, pods=-len(pods))
        self._placed.clear()


def _awaits_claims(
    session: Session, group: GroupRow, placed: Sequence[tuple[Run, tuple[PodRow, ...], Ints]]
) -> bool:
    """Whether placed pods must wait for their claims. If so, the choices for them are recorded.

    A claim with WaitForFirstConsumer is bound by other controllers (a provisioner, the volume
    controller) after its node or volume is written. The whole gang waits for it: pods bound earlier
    would occupy their nodes for storage that may never be provided.
    """
    if not session.framework.nodes.binds_volumes:
        return False
    waiting: dict[str, None] = {}
    chosen: dict[str, ClaimChoice] = {}
    for run, pods, rows in placed:
        if not run.shape.pod_terms.claims:
            continue
        for pod, row in zip(pods, rows.tolist(), strict=True):
            # Claims with an earlier choice also wait, but are not written again.
            waiting.update(dict.fromkeys(session.pod_affinity.claims.waiting(pod)))
            for choice in session.pod_affinity.claims.choices(pod, row):
                chosen.setdefault(choice.claim_uid, choice)
    if not waiting:
        return False
    session.await_claims(group, chosen.values(), reasons.waiting_for_claims(list(waiting)))
    return True
