"""reclaim: a queue below its share takes back what others have beyond theirs.

Who is below and who beyond the plugin says that knows what queues deserve (`taking_back.py`). Whatever it
says, a queue never gives what it is guaranteed, and nothing when it is not reclaimable. Queues above both
sides change nothing and are not asked.
"""

import functools
from collections.abc import Iterator, Sequence

from vc_scheduler.logic.actions.contenders import contenders, question, wanted
from vc_scheduler.logic.actions.turns import Turns
from vc_scheduler.logic.amounts import NOT_REQUESTED, Amounts
from vc_scheduler.logic.evicting import Room
from vc_scheduler.logic.eviction.minimums import Minimums
from vc_scheduler.logic.eviction.victim_order import VictimOrder
from vc_scheduler.logic.framework import Shares
from vc_scheduler.logic.leaving import could_help, reach_without
from vc_scheduler.logic.placing import Missing, asks_for_nothing
from vc_scheduler.logic.reach import Reach
from vc_scheduler.logic.rows import GroupRow, PodRow, QueueRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.shapes import Shape
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
    offers = _Offers(session)
    order = VictimOrder(session)
    for group in trials.among(_by_turns(Turns(session, contenders(session)), trials)):
        attempt = _Reclaim(session, group, shares, offers, order)
        if not attempt.may_take() or not attempt.could_help():
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


_Kind = tuple[str, bytes]
"""Pods of one shape in one queue."""


class _Offers:
    """What was found out for jobs before, and is so until somebody is evicted."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shapes: dict[str, dict[bytes, Shape]] = {}
        self._by_queue: dict[str, list[Bundle]] = {}
        self.reaches: dict[tuple[object, ...], Reach | None] = {}
        self.found: dict[tuple[object, ...], tuple[VictimOrder, list[Bundle]]] = {}
        """What can be asked for, by queue, those it asks, and which resources it needs."""

    def shapes_in(self, queue: str) -> dict[bytes, Shape]:
        """Shapes of the pods that jobs of a queue have on nodes."""
        if not self._shapes:
            for group in self._session.snapshot.everybody.values():
                shapes = self._shapes.setdefault(group.queue, {})
                shapes.update({pod.shape.key: pod.shape for pod in group.placed})
        return self._shapes.get(queue, {})

    def of(self, queue: str) -> list[Bundle]:
        """What jobs of a queue could give, in no order."""
        known = self._by_queue.get(queue)
        if known is None:
            everybody = self._session.snapshot.everybody.values()
            others = [other for other in everybody if other.placed and other.queue == queue]
            known = bundles(self._session, others, permits=_anybody, switch=RECLAIMABLE)
            self._by_queue[queue] = known
        return known

    def forget(self) -> None:
        self._by_queue.clear()
        self.reaches.clear()
        self.found.clear()


class _Reclaim:
    """For one job."""

    def __init__(
        self,
        session: Session,
        group: GroupRow,
        shares: Shares,
        offers: _Offers,
        order: VictimOrder,
    ) -> None:
        self._session = session
        self._group = group
        self._offers = offers
        self._order = order
        self._deserved = shares.deserved(session)
        self._names = {row.name: None for row in session.line(group.queue)}
        self._missing = wanted(session, group)
        self._needed = _needed(group, self._missing)
        self._rule = taking_back(shares, session, group.queue, self._needed)
        self._free = not session.framework.voters.preemptive

    def may_take(self) -> bool:
        """Whether its queue may take anything back."""
        return self._free or self._rule.may_take()

    def could_help(self) -> bool:
        """Whether there was room if everybody went of the queues that would give something."""
        if self._asking not in self._offers.reaches:
            self._offers.reaches[self._asking] = self._reach()
        reach = self._offers.reaches[self._asking]
        return reach is not None and could_help(self._session, self._group, self._missing, reach)

    def _reach(self) -> Reach | None:
        """None when nobody would go."""
        giving = {queue: None for queue, _ in self._willing}
        if not giving and not self._others_leave():
            return None
        everybody = self._session.snapshot.everybody.values()
        pods = [pod for other in everybody if other.queue in giving for pod in other.placed]
        return reach_without(self._session, pods)

    def run(self) -> bool:
        """Whether room was made."""
        if self._asking not in self._offers.found:
            self._offers.found[self._asking] = self._found()
        order, found = self._offers.found[self._asking]
        room = Room(self._session, self._group, self._missing, order=order, switch=RECLAIMABLE)
        if not self._given(found):
            return self._others_leave() and any(map(self._offers.of, self._asked)) and room.wait()
        return room.make(found, rules=[Minimums(self._session).together, self._given])

    @functools.cached_property
    def _asked(self) -> tuple[str, ...]:
        """The queues that it may ask."""
        rows = self._session.snapshot.queues.values()
        return tuple(row.name for row in rows if self._asks(row))

    @functools.cached_property
    def _asking(self) -> tuple[object, ...]:
        """What the answers depend on."""
        return (self._group.queue, self._asked, tuple(sorted(self._needed)))

    @functools.cached_property
    def _willing(self) -> dict[_Kind, None]:
        """The kinds of pods that their queues would give now. With less they give no others."""
        willing: dict[_Kind, None] = {}
        for queue in self._asked:
            rows = self._asked_of(queue)
            has = {row.name: self._session.allocated(row.name) for row in rows}
            for key, shape in self._offers.shapes_in(queue).items():
                if self._rule.gives(rows, has, dict(shape.request)):
                    willing[queue, key] = None
        return willing

    def _asked_of(self, queue: str) -> list[QueueRow]:
        """The queue and those above it that are not above ours."""
        return [row for row in self._session.line(queue) if row.name not in self._names]

    def _others_leave(self) -> bool:
        return bool(self._session.evicted or self._session.snapshot.leaving)

    def _found(self) -> tuple[VictimOrder, list[Bundle]]:
        """What jobs of the queues that give could give, and the order in which it is considered."""
        queues = dict.fromkeys(queue for queue, _ in self._willing)
        bundles_found = [
            bundle
            for queue in queues
            for bundle in self._offers.of(queue)
            if any((queue, pod.shape.key) in self._willing for pod in bundle.pods)
        ]
        ranks = {queue: self._rank(queue) for queue in queues}
        order = self._order.ranked(ranks.__getitem__)
        return order, sorted(bundles_found, key=order.key)

    def _rank(self, queue: str) -> tuple[int, int]:
        """Nearer queues first, then those that have the most of their share."""
        share = share_of(self._session.allocated(queue), self._deserved.get(queue, {}))
        return (-self._rule.nearness(self._session.line(queue)), -share)

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
        refused: dict[_Kind, None] = {}
        """Kinds of single pods that a queue does not give; with less it gives no more."""
        for bundle in found:
            kind = (bundle.group.queue, bundle.pods[0].shape.key)
            if kind in refused and len(bundle.pods) == 1:
                continue
            pods = [pod for pod in bundle.pods if pod.uid not in taken]
            rows = self._asked_of(bundle.group.queue)
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
            elif len(bundle.pods) == len(pods) == 1:
                refused[kind] = None
        return given


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
