"""Who stands in line in a fifo queue; the reference's way."""

from typing import TYPE_CHECKING

from tests.reference.cluster import Job

if TYPE_CHECKING:
    from tests.reference.session import Session


def in_line(session: "Session", jobs: list[Job]) -> list[Job]:
    """Without those of fifo queues behind a job that was let in and whose own pods are not all there; one
    that has none at all does not stand in line."""
    cluster = session.cluster
    short = [job for job in cluster.jobs.values() if session.refused.get(job.key) == "tasks"]
    first = [job for job in short if cluster.queues[job.queue].fifo and job.of("Pending")]
    passing = []
    for job in jobs:
        before = [j for j in first if session.job_order(j) < session.job_order(job)]
        if not any(other.queue == job.queue for other in before):
            passing.append(job)
        elif session.starving(job):
            session.refused[job.key] = "order"
    return passing
