"""reclaim: a queue below its share takes back what others have beyond theirs.

Who is below and who beyond the plugin says that knows what queues deserve (`taking_back.py`). Whatever it
says, a queue never gives what it is guaranteed, and nothing when it is not reclaimable. Queues above both
sides change nothing and are not asked.
"""

from collections.abc import Sequence

from vc_scheduler.logic.actions.contenders import CONTENDERS_MAX, contenders, wanted
from vc_scheduler.logic.actions.turns import Turns
from vc_scheduler.logic.amounts import NOT_REQUESTED, Amounts
from vc_scheduler.logic.evicting import Room
from vc_scheduler.logic.framework import Shares
from vc_scheduler.logic.placing import Missing, asks_for_nothing
from vc_scheduler.logic.rows import GroupRow, PodRow, QueueRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.shares import share_of
from vc_scheduler.logic.taking_back import taking_back
from vc_scheduler.logic.victims import Bundle, bundles
from vc_scheduler.logic.voters import RECLAIMABLE


def reclaim(session: Session) -> None:
    """Queue by queue, in their order; nothing without a plugin that says what queues deserve."""
    shares = session.framework.shares
    if shares is None:
        return
    turns = Turns(session, contenders(session))
    tried = 0
    while tried < CONTENDERS_MAX and (group := turns.next()) is not None:
        _Reclaim(session, group, shares).run()
        turns.done(group)
        tried += 1


class _Reclaim:
    """For one job."""

    def __init__(self, session: Session, group: GroupRow, shares: Shares) -> None:
        self._session = session
        self._group = group
        self._deserved = shares.deserved(session)
        self._names = {row.name: None for row in session.line(group.queue)}
        self._missing = wanted(session, group)
        self._rule = taking_back(shares, session, group.queue, _needed(group, self._missing))
        self._free = not session.framework.voters.preemptive

    def run(self) -> None:
        if not (self._free or self._rule.may_take()):
            return
        others = [
            other
            for other in self._session.snapshot.everybody.values()
            if other.placed and self._asked(other)
        ]
        found = sorted(
            bundles(self._session, others, permits=_anybody, switch=RECLAIMABLE), key=self._overuse
        )
        room = Room(self._session, self._group, self._missing)
        # Whoever is asked first may lie on nodes that are of no use: then anybody who may give is
        # tried, and the victims that are left must be what their queues can give together.
        if found and not room.make(self._given(found)):
            room.make(found, accepts=self._all_give)

    def _all_give(self, chosen: Sequence[Bundle]) -> bool:
        return len(self._given(chosen)) == len(chosen)

    def _asked(self, other: GroupRow) -> bool:
        """Its queue gives, and ours may ask it."""
        row = self._session.snapshot.queues.get(other.queue)
        if row is None or not row.reclaimable or other.queue in self._names:
            return False
        return self._free or self._rule.may_ask(self._session.line(other.queue))

    def _given(self, found: Sequence[Bundle]) -> list[Bundle]:
        """The bundles that queues can be asked for, one after the other."""
        has: dict[str, Amounts] = {}
        taken: dict[str, None] = {}
        given: list[Bundle] = []
        for bundle in found:
            pods = [pod for pod in bundle.pods if pod.uid not in taken]
            rows = [r for r in self._session.line(bundle.group.queue) if r.name not in self._names]
            for row in rows:
                has.setdefault(row.name, dict(self._session.allocated(row.name)))
            freed = _sum(pods)
            if self._rule.gives(rows, has, freed) and all(
                _keeps_guarantee(row, has[row.name], freed) for row in rows
            ):
                given.append(bundle)
                taken.update({pod.uid: None for pod in pods})
                for row in rows:
                    for name, amount in freed.items():
                        has[row.name][name] = has[row.name].get(name, 0) - amount
        return given

    def _overuse(self, bundle: Bundle) -> tuple[bool, int, int]:
        queue = bundle.group.queue
        share = share_of(self._session.allocated(queue), self._deserved.get(queue, {}))
        return (bundle.whole, -self._rule.nearness(self._session.line(queue)), -share)


def _keeps_guarantee(row: QueueRow, has: Amounts, freed: Amounts) -> bool:
    return all(has.get(name, 0) - freed.get(name, 0) >= least for name, least in row.guarantee)


def _anybody(group: GroupRow, pod: PodRow) -> bool:
    del group, pod
    return True


def _needed(group: GroupRow, missing: Missing) -> Amounts:
    """What the missing pods ask for, those that ask for something first, as they will be placed; how
    many they are is not a matter of shares."""
    needed: Amounts = {}
    for role, count in missing:
        left = count
        for run in sorted(group.runs, key=asks_for_nothing):
            pods = min(left, len(run.pods)) if role in (None, run.role) else 0
            if pods:
                left -= pods
                for name, amount in run.shape.request:
                    if name not in NOT_REQUESTED:
                        needed[name] = needed.get(name, 0) + amount * pods
    return needed


def _sum(pods: list[PodRow]) -> Amounts:
    total: Amounts = {}
    for pod in pods:
        for name, amount in pod.shape.request:
            total[name] = total.get(name, 0) + amount
    return total
