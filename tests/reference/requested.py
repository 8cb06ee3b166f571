"""What jobs are promised, and what they have beyond that."""

from tests.reference.cluster import Amounts, Job


def promised_to(job: Job) -> Amounts:
    claims = job.phase == "Inqueue" or (job.phase == "Running" and len(job.placed) >= job.minimum)
    return beyond(job.charged, job.allocated) if claims else {}


def elastic_of(job: Job) -> Amounts:
    return {
        name: max(0, job.allocated.get(name, 0) - least)
        for name, least in (job.min_resources or {}).items()
    }


def beyond(wanted: Amounts, has: Amounts) -> Amounts:
    return {name: max(0, amount - has.get(name, 0)) for name, amount in wanted.items()}
