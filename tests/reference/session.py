"""A session of the reference: job order, allocate and backfill; `enqueue` and `evictions` have the rest."""

from collections.abc import Callable, Iterable
from fractions import Fraction

from tests.reference.cluster import (  # fmt: skip
    Amounts,
    Cluster,
    Job,
    Node,
    Pod,
    Queue,
    add,
    read_cluster,
    total,
)
from tests.reference.fifo import fifo_order
from tests.reference.nodes import best_node, capacity_for
from tests.reference.outcome import Outcome
from tests.reference.requested import Claims, elastic_of, enqueued_resources, update_claims
from tests.reference.shares import MILLION, Shares, holds, share, with_more
from vc.model.api.meta import ApiObject

ELASTIC_PODS, ELASTIC_PART = 8, 16
Missing = list[tuple[str | None, int]]
Place = tuple[object, ...]


class Session:
    """A session over a cluster."""

    def __init__(
        self,
        objects: Iterable[ApiObject],
        *,
        actions: tuple[str, ...],
        plugin: str = "proportion",
        binpack: bool = False,
        leaves_only: bool = False,
        level: int = 0,
        even: bool = False,
        sla_at: float | None = None,
        now: float = 0.0,
        delay: float = 0.0,
        met_at: dict[str, float] | None = None,
        claims: Claims | None = None,
    ) -> None:
        """`leaves_only`: queues above others take no jobs. `level`: so many queues above may deserve what
        is taken back. `sla_at`: the time, where jobs may wait only so long. `delay`: how long pods beyond a
        minimum wait, after the job got it (`met_at`). `claims`: what jobs were enqueued with, brought up to date."""
        self.cluster: Cluster = read_cluster(objects)
        self.claims: Claims = {} if claims is None else claims
        update_claims(self.cluster, self.claims)
        self.actions = actions
        self.plugin = plugin
        self.binpack = binpack
        self.leaves_only = leaves_only
        self.level = level
        self.even = even
        self.sla_at = sla_at
        self.now = now
        self.delay = delay
        self.met_at = met_at or {}
        self.outcome = Outcome()
        self.refused: dict[str, str] = {}
        """Job to why: "capacity" when nodes or its queue have too little, else something else."""
        for job in self.cluster.jobs.values():
            queue = self.cluster.queues.get(job.queue)
            closed = queue is None or not queue.open or job.queue == "root"
            if closed or self.cluster.misplaced(job.queue):
                self.refused[job.key] = "queue"
        self.phase = {key: job.phase for key, job in self.cluster.jobs.items()}
        self.placed: dict[str, str] = {}
        """Pod to the node where it was put in this session."""
        self.given: dict[str, Amounts] = {}
        """Job to what its pods have that were put somewhere in this session."""
        self.bound: dict[str, int] = {}
        self.allocated = self._rolled_up(lambda job: job.allocated)
        add(self.allocated.get("root", {}), self.cluster.unowned())
        self.enqueued = self._rolled_up(lambda job: enqueued_resources(job, self.claims))
        self.elastic = self._rolled_up(elastic_of)
        self.used_at_first = {name: self.cluster.used(name) for name in self._resources()}
        self.outside = self._outside()
        self.shares = Shares(self.cluster, self._waiting_amounts(), plugin)
        self.outcome.deserved = self.shares.deserved

    def close(self) -> Outcome:
        """What was done, and what it means for phases."""
        self.outcome.phases = {
            job.key: self._phase_after(job) for job in self.cluster.jobs.values()
        }
        return self.outcome

    # -- allocate and backfill -------------------------------------------------------------------

    def allocate(self) -> None:
        waiting = [job for job in fifo_order(self, self._eligible()) if self._asking(job)]
        starving, first_refused = [job for job in waiting if self.starving(job)], dict[str, Place]()
        while starving:
            job = self.next_job(starving)
            starving.remove(job)
            place = self.job_order(job)
            if not self.place_minimum(job):
                first_refused.setdefault(job.queue, place)
                starving = self.unless_fifo(job, starving)
        growing = [job for job in waiting if self._may_grow(job, first_refused)]
        while growing:
            job = self.next_job(growing)
            growing.remove(job)
            part = max(1, min(ELASTIC_PODS, len(self._asking(job)) // ELASTIC_PART))
            most = part if growing else len(job.pods)
            more = self._place_more(job, most, best_effort=False)
            growing += [job] if more and self._asking(job) else []

    def _asking(self, job: Job) -> list[Pod]:
        return [pod for pod in self.waiting(job) if not pod.best_effort]

    def _may_grow(self, job: Job, first_refused: dict[str, Place]) -> bool:
        """It has its minimum, passes no job in a FIFO queue, and its time for more has come."""
        if job.key in self.refused or self.starving(job) or not self._asking(job):
            return False
        first = first_refused.get(job.queue) if self.cluster.queues[job.queue].fifo else None
        if first is not None and self.job_order(job) > first:
            return False
        since = self.met_at.get(job.key, self.now if self.missing(job) else float("-inf"))
        return self.now >= since + self.delay

    def backfill(self) -> None:
        found = self._eligible()
        fifo_order(self, found)
        waiting = [
            job
            for job in found
            if job.key not in self.refused and any(p.best_effort for p in self.waiting(job))
        ]
        while waiting:
            job = self.next_job(waiting)
            waiting.remove(job)
            if not self.starving(job) or self.place_minimum(job):
                self._place_more(job, len(job.pods), best_effort=True)

    def _eligible(self) -> list[Job]:
        """Let in, not refused, and with all the pods that it needs."""
        found = []
        for job in self.jobs_not_refused():
            if self.phase[job.key] == "Pending":
                continue
            pending = job.of("Pending")
            if self.starving(job):
                counts = dict.fromkeys(job.roles, 0)
                for role in [*job.ready_roles, *(pod.role for pod in pending)]:
                    counts[role] = counts.get(role, 0) + 1
                short = any(counts[role] < least for role, least in job.roles.items())
                if short or job.ready + len(pending) < job.minimum or not pending:
                    self.refused[job.key] = "tasks"
                    continue
            if pending:
                found.append(job)
        return found

    def place_minimum(self, job: Job) -> bool:
        """Bind what it lacks, all of it, or nothing."""
        before = len(self.placed)
        if self.try_minimum(job) is not None:
            for name in list(self.placed)[before:]:
                self.outcome.binds[name] = self.placed[name]
                self.bound[job.key] = self.bound.get(job.key, 0) + 1
            return True
        self.refused[job.key] = "capacity"
        return False

    def try_minimum(self, job: Job) -> list[str] | None:
        """Put what it lacks on nodes; the nodes, or None and nothing lies there.

        Pods that ask for something come first; where not all of one kind fit, others make up. When that
        fails, those are tried first that the nodes could take the fewest of.
        """
        wanted = [
            (role, count, sorted(self._alike(job, role), key=lambda alike: alike[0].best_effort))
            for role, count in self.missing(job)
        ]
        nodes = self._try(job, wanted)
        if nodes is not None:
            return nodes
        tighter = [(role, count, sorted(runs, key=self._tightness)) for role, count, runs in wanted]
        most = (True, 10**12)
        tighter.sort(key=lambda some: (some[0] is None, self._tightness(some[2][0]) if some[2] else most))  # fmt: skip
        return self._try(job, tighter)

    def _tightness(self, alike: list[Pod]) -> tuple[bool, int]:
        return (alike[0].best_effort, capacity_for(self.cluster, alike[0]))

    def _try(
        self, job: Job, wanted: list[tuple[str | None, int, list[list[Pod]]]]
    ) -> list[str] | None:
        done: list[tuple[Pod, Node]] = []
        for _, count, runs in wanted:
            left = count
            for alike in runs:
                pods = [pod for pod in alike if pod.name not in self.placed]
                left -= self._put_some(job, pods[:left], done)
            if left:
                for pod, node in reversed(done):
                    self.take_off(job, pod, node)
                return None
        return [node.name for _, node in done]

    def _put_some(self, job: Job, pods: list[Pod], done: list[tuple[Pod, Node]]) -> int:
        """One after the other, until one does not fit; how many did."""
        for count, pod in enumerate(pods):
            node = best_node(self.cluster, pod, binpack=self.binpack)
            if node is None or not self._queue_has_quota(job, pod.request, 1):
                return count
            self.put(job, pod, node)
            done.append((pod, node))
        return len(pods)

    def _place_more(self, job: Job, most: int, *, best_effort: bool) -> int:
        """As many as fit, one after the other; the next kind when one is stuck."""
        count = 0
        for pods in self._alike(job, None):
            for pod in pods if pods[0].best_effort == best_effort else ():
                node = best_node(self.cluster, pod, binpack=self.binpack)
                if count == most or node is None or not self._queue_has_quota(job, pod.request, 1):
                    break
                self.put(job, pod, node)
                self.outcome.binds[pod.name] = node.name
                self.bound[job.key] = self.bound.get(job.key, 0) + 1
                count += 1
        return count

    def _alike(self, job: Job, role: str | None) -> list[list[Pod]]:
        """Waiting pods of a role (of any, when None), neighbours of one kind together."""
        runs: list[list[Pod]] = []
        for pod in self.waiting(job):
            if role is None or pod.role == role:
                if runs and runs[-1][0].kind == pod.kind:
                    runs[-1].append(pod)
                else:
                    runs.append([pod])
        return runs

    def put(self, job: Job, pod: Pod, node: Node) -> None:
        node.pods.append(pod)
        self.placed[pod.name] = node.name
        add(self.given.setdefault(job.key, {}), pod.request)
        for queue in self.cluster.line(job.queue):
            add(self.allocated[queue.name], pod.request)

    def take_off(self, job: Job, pod: Pod, node: Node) -> None:
        node.pods.remove(pod)
        del self.placed[pod.name]
        add(self.given[job.key], pod.request, -1)
        for queue in self.cluster.line(job.queue):
            add(self.allocated[queue.name], pod.request, -1)

    # -- who may go where ------------------------------------------------------------------------

    def _queue_has_quota(self, job: Job, request: Amounts, count: int) -> bool:
        if self.above_others(job):
            return False
        needed = {name: amount * count for name, amount in request.items()}
        line = self.cluster.line(job.queue)
        for queue in line:
            for name, most in self.shares.limits[queue.name].items():
                if name in needed and self.allocated[queue.name].get(name, 0) + needed[name] > most:
                    return False
        return all(self._guarantees_kept(line, name, needed) for name in needed)

    def above_others(self, job: Job) -> bool:
        return self.leaves_only and bool(self.cluster.children(job.queue))

    def _guarantees_kept(self, line: list[Queue], name: str, needed: Amounts) -> bool:
        if not any(queue.guarantee.get(name) for queue in self.cluster.queues.values()):
            return True
        after = with_more(self.allocated, line, needed)
        for queue in line:
            held = holds(self.cluster, after, queue, name)
            more = held > holds(self.cluster, self.allocated, queue, name)
            if more and held > queue.capability.get(name, held):
                return False
        roots = self.cluster.children("")
        before = sum(holds(self.cluster, self.allocated, queue, name) for queue in roots)
        held = sum(holds(self.cluster, after, queue, name) for queue in roots)
        return held == before or held <= self.cluster.total(name) - self.outside.get(name, 0)

    # -- whose turn it is ------------------------------------------------------------------------

    def next_job(self, waiting: list[Job]) -> Job:
        queues = {job.queue: self.cluster.queues[job.queue] for job in waiting}
        first = min(queues.values(), key=self._queue_order)
        return min((job for job in waiting if job.queue == first.name), key=self.job_order)

    def _queue_order(self, queue: Queue) -> tuple[object, ...]:
        shares = [self._share(above) for above in reversed(self.cluster.line(queue.name))]
        poor = self.plugin == "capacity" and not self.shares.deserved[queue.name]
        return (-queue.priority, tuple(shares), poor, queue.created, queue.uid, queue.name)

    def _share(self, queue: Queue) -> int:
        fair, has = self.shares.deserved[queue.name], self.allocated[queue.name]
        if self.plugin == "proportion":
            return share(has, fair)
        return share({n: a for n, a in has.items() if n in fair}, fair) if fair else MILLION

    def job_order(self, job: Job) -> tuple[object, ...]:
        has = total([job.allocated, self.given.get(job.key, {})])
        dominant = self.dominant_share(has) * MILLION // 1
        return (self._time_is_up_at(job), -job.priority, not self.starving(job), dominant, job.created, job.uid, job.key)  # fmt: skip

    def _time_is_up_at(self, job: Job) -> float:
        if self.sla_at is None or not job.waiting_time:
            return float("inf")
        return job.created + 60 * int(job.waiting_time.removesuffix("m"))

    def time_is_up(self, job: Job) -> bool:
        return self.sla_at is not None and self._time_is_up_at(job) <= self.sla_at

    def dominant_share(self, has: Amounts) -> Fraction:
        """The largest part of the cluster; all of it where the cluster has none."""
        totals = {name: self.cluster.total(name) for name, amount in has.items() if amount}
        parts = [Fraction(has[n], total) if total else Fraction(1) for n, total in totals.items()]
        return max(parts, default=Fraction(0))

    def unless_fifo(self, job: Job, waiting: list[Job]) -> list[Job]:
        """Nobody of a fifo queue passes a job that has to wait."""
        if not self.cluster.queues[job.queue].fifo:
            return waiting
        for behind in waiting:
            if behind.queue == job.queue and (self.starving(behind) or self.phase[behind.key] == "Pending"):  # fmt: skip
                self.refused[behind.key] = "order"
        return [other for other in waiting if other.queue != job.queue]

    # -- jobs ------------------------------------------------------------------------------------

    def jobs_not_refused(self) -> list[Job]:
        return [job for job in self.cluster.jobs.values() if job.key not in self.refused]

    def starving(self, job: Job) -> bool:
        return not self.bound.get(job.key) and bool(self.missing(job))

    def waiting(self, job: Job) -> list[Pod]:
        return [pod for pod in job.of("Pending") if pod.name not in self.placed]

    def missing(self, job: Job) -> Missing:
        """Roles first, then what may be of any role."""
        ready = job.ready_roles
        lacking: Missing = [
            (role, least - ready.count(role)) for role, least in job.roles.items() if ready.count(role) < least
        ]  # fmt: skip
        rest = job.minimum - len(ready) - sum(count for _, count in lacking)
        return [*lacking, (None, rest)] if rest > 0 else lacking

    def _phase_after(self, job: Job) -> str:
        phase = self.phase[job.key]
        if not job.pods and phase == "Completed":
            return phase
        waits = self.starving(job) or (phase == "Pending" and not job.ready)
        if job.placed and waits and job.key in self.refused:
            return "Unknown"
        done = len(job.of("Succeeded")) + len(job.of("Failed")) + len(job.gone)
        scheduled = len(job.placed) + self.bound.get(job.key, 0) + done
        if scheduled and scheduled >= job.minimum:
            rest = job.of("Pending") or job.of("Gated")
            return "Completed" if done == scheduled and not rest else "Running"
        return "Inqueue" if phase == "Inqueue" else "Pending"

    # -- sums ------------------------------------------------------------------------------------

    def _rolled_up(self, of: Callable[[Job], Amounts]) -> dict[str, Amounts]:
        sums: dict[str, Amounts] = {name: {} for name in self.cluster.queues}
        for job in self.cluster.jobs.values():
            for queue in self.cluster.line(job.queue):
                add(sums[queue.name], of(job))
        return sums

    def _resources(self) -> list[str]:
        return sorted({name for node in self.cluster.nodes.values() for name in node.allocatable})

    def _waiting_amounts(self) -> dict[str, Amounts]:
        """By queue, what its jobs ask for."""
        asked: dict[str, Amounts] = {}
        for job in self.cluster.jobs.values():
            pending = job.of("Pending")
            mine = asked.setdefault(job.queue, {})
            if self.phase[job.key] == "Pending" and not pending:
                add(mine, job.charged)
            for pod in pending:
                add(mine, pod.request)
        return asked

    def _outside(self) -> Amounts:
        """What pods have that belong to no queue."""
        queues = self.cluster.queues
        inside = total(j.allocated for j in self.cluster.jobs.values() if j.queue in queues or "root" in queues)  # fmt: skip
        return {n: max(0, used - inside.get(n, 0)) for n, used in self.used_at_first.items()}
