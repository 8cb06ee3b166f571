"""Claims of the reference: enqueued resources of jobs, and resources of surplus pods."""

from tests.reference.cluster import Amounts, Cluster, Job

Claims = dict[str, Amounts]
"""Job to what it was enqueued with; nothing when it had all of that once."""


def update_claims(cluster: Cluster, claims: Claims) -> None:
    """As a session begins: jobs that are new and inside were enqueued with their minResources by an earlier one;
    a job that has reached what it was enqueued with claims no more, also when it loses some of it later."""
    for job in cluster.jobs.values():
        if job.phase != "Pending":
            claims.setdefault(job.key, dict(job.min_resources or {}))
            if job.placed and not any(_claimed(job, claims[job.key]).values()):
                claims[job.key] = {}


def claim_of(cluster: Cluster, job: Job) -> Amounts:
    """What it is enqueued with: nothing where it asks for more than the cluster has or a queue may have."""
    for name, amount in job.charged.items():
        bounds = [q.capability[name] for q in cluster.line(job.queue) if name in q.capability]
        if amount and amount > min([cluster.total(name), *bounds]):
            return {}
    return dict(job.min_resources or {})


def enqueued_resources(job: Job, claims: Claims) -> Amounts:
    inside = job.phase == "Inqueue" or (job.phase == "Running" and len(job.placed) >= job.minimum)
    return _claimed(job, claims.get(job.key, {})) if inside else {}


def _claimed(job: Job, claim: Amounts) -> Amounts:
    least = {name: min(amount, claim.get(name, 0)) for name, amount in job.charged.items()}
    return beyond(least, job.allocated)


def elastic_of(job: Job) -> Amounts:
    return {
        name: max(0, job.allocated.get(name, 0) - least)
        for name, least in (job.min_resources or {}).items()
    }


def beyond(wanted: Amounts, has: Amounts) -> Amounts:
    return {name: max(0, amount - has.get(name, 0)) for name, amount in wanted.items()}
