"""FIFO order of the reference: which jobs of a FIFO queue may be placed."""

from typing import TYPE_CHECKING

from tests.reference.cluster import Job

if TYPE_CHECKING:
    from tests.reference.session import Session


def fifo_order(session: "Session", jobs: list[Job]) -> list[Job]:
    """Without jobs of fifo queues behind an enqueued job whose own pods are gated or not all there, or which
    was tried and did not fit; a job without any pods keeps no position."""
    cluster = session.cluster
    kept = ("tasks", "capacity")
    short = [job for job in cluster.jobs.values() if session.refused.get(job.key) in kept]
    there = [job for job in short if job.of("Pending") or job.of("Gated")]
    first = [job for job in there if cluster.queues[job.queue].fifo]
    passing = []
    for job in jobs:
        before = [j for j in first if session.job_order(j) < session.job_order(job)]
        if not any(other.queue == job.queue for other in before):
            passing.append(job)
        elif session.starving(job):
            session.refused[job.key] = "order"
    return passing
