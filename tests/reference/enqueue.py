"""enqueue of the reference: which jobs become Inqueue."""

from tests.reference.cluster import Amounts, Job, add, total
from tests.reference.reclaim import rule_of
from tests.reference.requested import beyond, claim_of
from tests.reference.session import Session


def enqueue(session: Session) -> None:
    waiting = [j for j in session.jobs_not_refused() if session.phase[j.key] == "Pending"]
    while waiting:
        job = session.next_job(waiting)
        waiting.remove(job)
        if job.min_resources is None or session.time_is_up(job) or _enqueueable(session, job):
            session.phase[job.key] = "Inqueue"
            session.outcome.enqueued.append(job.key)
            claim = session.outcome.claims[job.key] = claim_of(session.cluster, job)
            for queue in session.cluster.line(job.queue):
                add(
                    session.enqueued[queue.name],
                    beyond(job.charged if claim else {}, job.allocated),
                )
        else:
            session.refused[job.key] = "gate"
            waiting = session.unless_fifo(job, waiting)


def _enqueueable(session: Session, job: Job) -> bool:
    if session.above_others(job):
        return False
    needed = {name: amount for name, amount in job.charged.items() if amount}
    mine = _preemptable(session, job)
    roots = session.cluster.children("")
    theirs = _reclaimable(session, job)
    for name, amount in needed.items():
        taken = session.used_at_first.get(name, 0) + sum(session.enqueued[q.name].get(name, 0) for q in roots)  # fmt: skip
        free = session.cluster.total(name) * 1200 // 1000 - taken
        if amount > free + mine.get(name, 0) + theirs.get(name, 0):
            return False
    for queue in session.cluster.line(job.queue):
        for name, most in session.shares.limits[queue.name].items():
            taken = session.allocated[queue.name].get(name, 0)
            taken += session.enqueued[queue.name].get(name, 0) - session.elastic[queue.name].get(
                name, 0
            )
            if needed.get(name, 0) > most - taken + mine.get(name, 0) and name in needed:
                return False
    return True


def _preemptable(session: Session, job: Job) -> Amounts:
    """What evictions inside the queue could free for it."""
    if "preempt" not in session.actions:
        return {}
    return total(
        other.allocated
        for other in session.cluster.jobs.values()
        if other.queue == job.queue and other.priority < job.priority
    )


def _reclaimable(session: Session, job: Job) -> Amounts:
    """What other queues have too much of, as far as this one deserves it."""
    if "reclaim" not in session.actions:
        return {}
    needed = {name: n for name, n in (job.min_resources or {}).items() if name != "pods"}
    rule = rule_of(session, job.queue, needed)
    spare: Amounts = {}
    for queue in session.cluster.queues.values():
        jobs = [j for j in session.cluster.jobs.values() if j.queue == queue.name]
        if queue not in rule.ancestors and queue.reclaimable and jobs:
            add(spare, rule.surplus(queue))
    return rule.claimable(spare)
