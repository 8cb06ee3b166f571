"""What jobs of equal priority give a job of their queue: by share, and never their minimum.

No rank decides between them, so a plugin must call the move fair (`voters.py`: drf, where its
`enablePreemptable: true` is written): with all that it lacks, the job that takes has no more than
each of those that give has left. It comes to an end (docs/adr/0018): only a job without its minimum
takes, and only pods beyond a minimum are given, so each time one job fewer is without its minimum.
"""

from collections.abc import Sequence

from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.placing import Missing
from vc_scheduler.logic.rows import GroupRow, PodRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.victims import Bundle, Permits, bundles
from vc_scheduler.logic.voters import PREEMPTABLE


class Equals:
    """Victims for one job among those of its queue that are not above it."""

    def __init__(self, session: Session, group: GroupRow, missing: Missing) -> None:
        self._session = session
        self._group = group
        self._priority = session.priority(group)
        self._taker = _most_after(session, group, missing)

    def found(self, permits: Permits) -> list[Bundle]:
        """What lower ones give, then what equals may give one by one; nothing when no equal gives."""
        session = self._session
        others = [
            other
            for other in session.snapshot.everybody.values()
            if other.queue == self._group.queue
            and other.key != self._group.key
            and other.placed
            and session.priority(other) <= self._priority
        ]
        given = bundles(session, others, permits=permits, switch=PREEMPTABLE)
        equal = [b for b in given if self._is_equal(b) and not b.whole and self.fair([b])]
        return [*(b for b in given if not self._is_equal(b)), *equal] if equal else []

    def together(self, found: Sequence[Bundle]) -> list[Bundle]:
        """Those of them that may all go, one after the other."""
        given: dict[str, list[Bundle]] = {}
        kept: list[Bundle] = []
        for bundle in found:
            if self._is_equal(bundle):
                mine = given.setdefault(bundle.group.key, [])
                if not self.fair([*mine, bundle]):
                    continue
                mine.append(bundle)
            kept.append(bundle)
        return kept

    def fair(self, chosen: Sequence[Bundle]) -> bool:
        """Whether equals may give these together."""
        freed: dict[str, tuple[GroupRow, list[PodRow]]] = {}
        for bundle in chosen:
            if self._is_equal(bundle):
                freed.setdefault(bundle.group.key, (bundle.group, []))[1].extend(bundle.pods)
        return all(self._yields(group, pods) for group, pods in freed.values())

    def _is_equal(self, bundle: Bundle) -> bool:
        return self._session.priority(bundle.group) == self._priority

    def _yields(self, giver: GroupRow, pods: list[PodRow]) -> bool:
        session = self._session
        left = session.group_allocated(giver)
        earlier = [pod for pod in giver.placed if pod.uid in session.evicted_uids]
        for pod in (*earlier, *pods):
            for name, amount in pod.shape.request:
                left[name] = left.get(name, 0) - amount
        return session.framework.voters.yields(session, taker=self._taker, giver=left)


def _most_after(session: Session, group: GroupRow, missing: Missing) -> Amounts:
    """What the job has with what it lacks, the largest pods where any will do."""
    total = session.group_allocated(group)
    waiting = [pod for run in group.runs for pod in session.waiting_pods(run)]
    for name in sorted({name for pod in waiting for name, _ in pod.shape.request}):
        asked = [(dict(pod.shape.request).get(name, 0), pod.role) for pod in waiting]
        total[name] = total.get(name, 0) + _largest(asked, missing)
    return total


def _largest(asked: list[tuple[int, str]], missing: Missing) -> int:
    """The most that so many of each role can ask for together."""
    left = sorted(asked, reverse=True)
    total = 0
    for role, count in missing:
        taken = [entry for entry in left if role in (None, entry[1])][:count]
        total += sum(amount for amount, _ in taken)
        for entry in taken:
            left.remove(entry)
    return total
