"""preempt and reclaim of the reference: every set of victims is simulated on the nodes themselves."""

from collections.abc import Sequence
from fractions import Fraction

from tests.reference.cluster import Amounts, Job, Pod, add, total
from tests.reference.reclaim import rule_of
from tests.reference.session import Session
from tests.reference.shares import MILLION, share
from tests.reference.victims import Bundle, Order, Rule, Search, pods_of


def preempt(session: Session) -> None:
    """Evict jobs of lower priority in the same queue."""
    for job in sorted(_contenders(session), key=session.job_order):
        lower = [
            other
            for other in session.cluster.jobs.values()
            if other.queue == job.queue and other.priority < job.priority
        ]
        offered = bundles(session, lower, best_effort=_requests_nothing(session, job))
        if not _evict_for(session, job, offered, Order(session)) and session.even:
            _Even(session, job).run()


class _Even:
    """What jobs of equal priority give: pods beyond their minimum, to who has no more than they then."""

    def __init__(self, session: Session, job: Job) -> None:
        self._session = session
        self._job = job
        self._after = self._most_after()

    def run(self) -> None:
        session, job = self._session, self._job
        others = [
            other
            for other in session.cluster.jobs.values()
            if other is not job and other.queue == job.queue and other.priority <= job.priority
        ]
        found = bundles(session, others, best_effort=_requests_nothing(session, job))
        lower = [b for b in found if b.job.priority < job.priority]
        equal = [b for b in found if b.job.priority == job.priority and not b.whole]
        equal = [b for b in equal if self._fair([b])]
        if equal:
            _evict_for(session, job, [*lower, *equal], Order(session), [self._together])

    def _together(self, found: list[Bundle]) -> list[Bundle]:
        together: list[Bundle] = []
        for bundle in found:
            if self._fair([*together, bundle]):
                together.append(bundle)
        return together

    def _fair(self, chosen: list[Bundle]) -> bool:
        taken = self._session.dominant_share(self._after)
        for giver in {
            b.job.key: b.job for b in chosen if b.job.priority == self._job.priority
        }.values():
            gone = [name for names in self._session.outcome.victims.values() for name in names]
            gone += [pod.name for bundle in chosen for pod in bundle.pods]
            left = total(pod.request for pod in giver.placed if pod.name not in gone)
            add(left, self._session.given.get(giver.key, {}))
            if taken - self._session.dominant_share(left) > Fraction(1, MILLION):
                return False
        return True

    def _most_after(self) -> Amounts:
        """Per resource with the pods that ask for most, where several would do."""
        job = self._job
        after = total([job.allocated, self._session.given.get(job.key, {})])
        for name in {name for pod in job.pods for name in pod.request}:
            left = sorted(self._session.waiting(job), key=lambda pod: -pod.request.get(name, 0))
            for role, count in self._session.missing(job):
                for pod in [pod for pod in left if role in (None, pod.role)][:count]:
                    left.remove(pod)
                    add(after, {name: pod.request.get(name, 0)})
        return after


def reclaim(session: Session) -> None:
    """Queues that have more than they deserve are reclaimed from for those that have less."""
    waiting = _contenders(session)
    while waiting:
        job = session.next_job(waiting)
        waiting.remove(job)
        _Claim(session, job).run()


def _contenders(session: Session) -> list[Job]:
    return [job for job in session.cluster.jobs.values() if _contends(session, job)]


def _contends(session: Session, job: Job) -> bool:
    """It was refused for lack of capacity; or it asks for nothing but a place, which backfill would give it
    later, and there is none."""
    if not session.starving(job):
        return False
    if job.key in session.refused or session.phase[job.key] == "Pending":
        return session.refused.get(job.key) == "capacity"
    return (
        _requests_nothing(session, job) and _simulate(session, job, [], with_earlier=False) is None
    )


def _requests_nothing(session: Session, job: Job) -> bool:
    waiting = session.waiting(job)
    return bool(waiting) and all(pod.best_effort for pod in waiting)


def bundles(session: Session, jobs: Sequence[Job], *, best_effort: bool = False) -> list[Bundle]:
    """What these jobs can give; to a best-effort job only pods that ask for nothing either."""
    found: list[Bundle] = []
    for job in jobs:
        left = _left(session, job)
        allowed = [pod for pod in left if pod.preemptable and (pod.best_effort or not best_effort)]
        spare = [pod for pod in allowed if _keeps_minimums(session, job, [pod])]
        found += [Bundle(job, [pod], whole=False) for pod in spare]
        if allowed and len(allowed) == len(left) and job.ready >= job.minimum > 0:
            found.append(Bundle(job, list(reversed(allowed)), whole=True))
    return found


def _left(session: Session, job: Job) -> list[Pod]:
    gone = [name for names in session.outcome.victims.values() for name in names]
    return [pod for pod in job.placed if pod.name not in gone]


def _keeps_minimums(session: Session, job: Job, going: list[Pod]) -> bool:
    """Whether it has them without these; one that has not its minimum anyway has nothing to keep."""
    there = [*_left(session, job), *job.of("Succeeded")]
    if len(there) + len(job.gone) < job.minimum:
        return True
    stay = [*(pod.role for pod in there if pod not in going), *job.gone]
    lost = [pod.role for pod in going]
    return len(stay) >= job.minimum and all(stay.count(r) >= job.roles.get(r, 0) for r in lost)


def _minimums(session: Session) -> Rule:
    """Those that can go one after the other; a gang that goes whole breaks anyway."""

    def together(found: list[Bundle]) -> list[Bundle]:
        kept: list[Bundle] = []
        for bundle in found:
            mine = [b.pods[0] for b in kept if b.job is bundle.job and not b.whole]
            if bundle.whole or _keeps_minimums(session, bundle.job, [*mine, *bundle.pods]):
                kept.append(bundle)
        return kept

    return together


def _evict_for(
    session: Session,
    job: Job,
    offered: list[Bundle],
    order: Order,
    rules: Sequence[Rule] = (),
) -> bool:
    search = Search(
        order,
        [_minimums(session), *rules],
        lambda chosen: _simulate(session, job, chosen),
        monotone=not any(
            pod.near or pod.far or pod.spread or pod.rather or pod.ports
            for other in session.cluster.jobs.values()
            for pod in other.pods
        ),
    )
    chosen = search.best(offered)
    if chosen is not None:
        _commit(session, job, chosen)
    return chosen is not None


def _commit(session: Session, job: Job, chosen: list[Bundle]) -> None:
    victims = pods_of(chosen)
    earlier = _earlier(session)
    _away(session, victims)
    assert session.try_minimum(job) is not None
    for victim in [*victims, *earlier]:  # still there, but their queues have them no more
        session.cluster.nodes[victim.node].pods.append(victim)
    session.outcome.victims[job.key] = [pod.name for pod in victims]
    session.refused[job.key] = "victims"


def _simulate(
    session: Session, job: Job, chosen: list[Bundle], *, with_earlier: bool = True
) -> list[str] | None:
    """The nodes it would use without these; everything is as before afterwards."""
    victims = pods_of(chosen)
    earlier = _earlier(session) if with_earlier else []
    _away(session, victims)
    before = dict(session.placed)
    nodes = session.try_minimum(job)
    for name in [name for name in session.placed if name not in before]:
        pod = next(pod for pod in job.pods if pod.name == name)
        session.take_off(job, pod, session.cluster.nodes[session.placed[name]])
    for victim in victims:
        session.cluster.nodes[victim.node].pods.append(victim)
        for queue in session.cluster.line(session.cluster.jobs[victim.job].queue):
            add(session.allocated[queue.name], victim.request)
    for victim in earlier:
        session.cluster.nodes[victim.node].pods.append(victim)
    return nodes


def _earlier(session: Session) -> list[Pod]:
    """Remove the victims of earlier jobs from their nodes: they free capacity for this one as well."""
    gone = [name for names in session.outcome.victims.values() for name in names]
    pods = [pod for job in session.cluster.jobs.values() for pod in job.pods if pod.name in gone]
    for pod in pods:
        session.cluster.nodes[pod.node].pods.remove(pod)
    return pods


def _away(session: Session, victims: list[Pod]) -> None:
    for victim in victims:
        session.cluster.nodes[victim.node].pods.remove(victim)
        for queue in session.cluster.line(session.cluster.jobs[victim.job].queue):
            add(session.allocated[queue.name], victim.request, -1)


class _Claim:
    """What one job may reclaim from other queues."""

    def __init__(self, session: Session, job: Job) -> None:
        self._session = session
        self._job = job
        self._line = session.cluster.line(job.queue)
        self._rule = rule_of(session, job.queue, self._lacks())

    def run(self) -> None:
        if not self._rule.may_reclaim(self._session.allocated):
            return
        session = self._session
        givers = [j for j in session.cluster.jobs.values() if j.placed and self._may_ask(j)]
        offered = bundles(session, givers)
        found = [bundle for bundle in offered if self._would_give(bundle)]
        order = Order(session, self._rank)
        if self._given(sorted(found, key=order.key)):
            _evict_for(session, self._job, found, order, [self._given])
        elif offered and session.outcome.victims and _simulate(session, self._job, []) is not None:
            _commit(session, self._job, [])  # victims of other jobs free enough

    def _would_give(self, bundle: Bundle) -> bool:
        """Its queue gives one of its pods alone, as things are now."""
        line = self._session.cluster.line(bundle.job.queue)
        theirs = [queue for queue in line if queue not in self._line]
        return any(
            self._rule.may_evict(theirs, self._session.allocated, pod.request)
            for pod in bundle.pods
        )

    def _lacks(self) -> Amounts:
        needed: Amounts = {}
        for role, count in self._session.missing(self._job):
            alike = [pod for pod in self._job.of("Pending") if role in (None, pod.role)]
            for pod in sorted(alike, key=lambda pod: pod.best_effort)[:count]:
                add(needed, {n: a for n, a in pod.request.items() if n != "pods"})
        return needed

    def _may_ask(self, other: Job) -> bool:
        queue = self._session.cluster.queues.get(other.queue)
        if queue is None or not queue.reclaimable or queue in self._line:
            return False
        return self._rule.may_reclaim_from(self._session.cluster.line(other.queue))

    def _given(self, found: list[Bundle]) -> list[Bundle]:
        """One after the other, as far as their queues have too much and keep their guarantees."""
        has = {name: dict(amounts) for name, amounts in self._session.allocated.items()}
        taken: list[str] = []
        given: list[Bundle] = []
        for bundle in found:
            pods = [pod for pod in bundle.pods if pod.name not in taken]
            freed = total(pod.request for pod in pods)
            theirs = [
                q for q in self._session.cluster.line(bundle.job.queue) if q not in self._line
            ]
            if self._rule.may_evict(theirs, has, freed) and all(
                has[queue.name].get(n, 0) - freed.get(n, 0) >= a
                for queue in theirs
                for n, a in queue.guarantee.items()
            ):
                given.append(bundle)
                taken += [pod.name for pod in pods]
                for queue in theirs:
                    add(has[queue.name], freed, -1)
        return given

    def _rank(self, queue: str) -> tuple[int, int]:
        fair, has = self._session.shares.deserved[queue], self._session.allocated[queue]
        near = 0
        if self._session.plugin == "capacity":
            near = sum(q in self._line for q in self._session.cluster.line(queue))
        return (-near, -share(has, fair))
