"""reclaim: a queue below its share takes back what others have beyond theirs.

Who is below and who beyond the plugin says that knows what queues deserve (`taking_back.py`). Whatever it
says, a queue never gives what it is guaranteed, and nothing when it is not reclaimable. Queues above both
sides change nothing and are not asked.
"""

from collections.abc import Iterator, Sequence

from vc_scheduler.logic.actions.contenders import contenders, question, wanted
from vc_scheduler.logic.actions.turns import Turns
from vc_scheduler.logic.amounts import NOT_REQUESTED, Amounts
from vc_scheduler.logic.evicting import Room
from vc_scheduler.logic.framework import Shares
from vc_scheduler.logic.placing import Missing, asks_for_nothing
from vc_scheduler.logic.rows import GroupRow, PodRow, QueueRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.shares import share_of
from vc_scheduler.logic.taking_back import taking_back
from vc_scheduler.logic.trials import Trials
from vc_scheduler.logic.victims import Bundle, bundles
from vc_scheduler.logic.voters import RECLAIMABLE


def reclaim(session: Session) -> None:
    """Queue by queue, in their order; nothing without a plugin that says what queues deserve."""
    shares = session.framework.shares
    if shares is None:
        return
    trials = Trials(session, lambda group: question(session, group))
    offers = _Offers()
    for group in trials.among(_by_turns(Turns(session, contenders(session)), trials)):
        attempt = _Reclaim(session, group, shares, offers)
        if not attempt.may_take():
            trials.in_vain(group)
            continue
        made = attempt.run()
        trials.tried(group, helped=made)
        if made:
            offers.forget()


def _by_turns(turns: Turns, trials: Trials) -> Iterator[GroupRow]:
    """Jobs in turn; those whose question was answered take none."""
    group = turns.next()
    while group is not None:
        if trials.answered(group):
            group = turns.instead(group)
            continue
        yield group
        turns.done(group)
        group = turns.next()


class _Offers:
    """What was found out for jobs before, and is so until somebody is evicted."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, tuple[str, ...]], list[Bundle]] = {}
        """By queue and those it asks: their bundles, in the order in which they are asked."""
        self.given: dict[tuple[object, ...], list[Bundle]] = {}
        """Likewise, and by what is needed: those they can be asked for, one after the other."""

    def forget(self) -> None:
        self.found.clear()
        self.given.clear()


class _Reclaim:
    """For one job."""

    def __init__(self, session: Session, group: GroupRow, shares: Shares, offers: _Offers) -> None:
        self._session = session
        self._group = group
        self._offers = offers
        self._deserved = shares.deserved(session)
        self._names = {row.name: None for row in session.line(group.queue)}
        self._missing = wanted(session, group)
        self._needed = _needed(group, self._missing)
        self._rule = taking_back(shares, session, group.queue, self._needed)
        self._free = not session.framework.voters.preemptive

    def may_take(self) -> bool:
        """Whether its queue may take anything back."""
        return self._free or self._rule.may_take()

    def run(self) -> bool:
        """Whether room was made."""
        rows = self._session.snapshot.queues.values()
        asked = tuple(row.name for row in rows if self._asks(row))
        known = (self._group.queue, asked)
        if known not in self._offers.found:
            self._offers.found[known] = self._found(asked)
        found = self._offers.found[known]
        if not found:
            return False
        needed = (*known, tuple(sorted(self._needed.items())))
        if needed not in self._offers.given:
            self._offers.given[needed] = self._given(found)
        room = Room(self._session, self._group, self._missing, switch=RECLAIMABLE)
        # Whoever is asked first may lie on nodes that are of no use: then anybody who may give is
        # tried, and the victims that are left must be what their queues can give together.
        given = self._offers.given[needed]
        return room.make(given) or room.make(found, accepts=self._all_give)

    def _found(self, asked: tuple[str, ...]) -> list[Bundle]:
        """What jobs of these queues could give, in the order in which they are asked."""
        others = [
            other
            for other in self._session.snapshot.everybody.values()
            if other.placed and other.queue in asked
        ]
        given = bundles(self._session, others, permits=_anybody, switch=RECLAIMABLE)
        return sorted(given, key=self._overuse)

    def _all_give(self, chosen: Sequence[Bundle]) -> bool:
        return len(self._given(chosen)) == len(chosen)

    def _asks(self, row: QueueRow) -> bool:
        """The queue gives, and ours may ask it."""
        if not row.reclaimable or row.name in self._names:
            return False
        return self._free or self._rule.may_ask(self._session.line(row.name))

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
