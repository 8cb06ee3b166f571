"""Validation of a vcjob that is created: all rules, all problems together."""

from typing import Final

from vc.jobs.plugins.flags import written_flags
from vc.model.api.job import Job, JobSpec
from vc.model.api.meta import ObjectMeta
from vc.validation.job.host_lists import check_host_lists
from vc.validation.job.policies import check_policies
from vc.validation.job.tasks import check_tasks
from vc.validation.job.volumes import check_volumes
from vc.validation.maxima import check_sizes as check_maxima
from vc.validation.names import check_qualified, check_subdomain
from vc.validation.queue_choice import check_queue_takes_jobs
from vc.validation.result import ValidationResult
from vc.validation.topology import check_topology
from vc.validation.world import World

GENERATED_SUFFIX: Final = "xxxxx"
"""Placeholder for what the API server appends to generateName."""


def name_of(metadata: ObjectMeta) -> str:
    """The name of the object, or one of the length that the API server will generate."""
    if metadata.name or not metadata.generate_name:
        return metadata.name
    return metadata.generate_name + GENERATED_SUFFIX


def check_job(found: ValidationResult, job: Job, *, world: World) -> None:
    """Check a whole job after defaulting."""
    check_qualified(found, "metadata.name", name_of(job.metadata), what="the job's name")
    check_job_spec(found, job.spec, job_name=name_of(job.metadata), world=world)
    check_queue_takes_jobs(found, "spec.queue", job.spec.queue, world=world)


def check_job_spec(found: ValidationResult, spec: JobSpec, *, job_name: str, world: World) -> None:
    """Check a job without its queue. This also applies to job templates."""
    compat = world.settings.compat
    check_tasks(found, spec, job_name=job_name, compat=compat)
    check_gang(found, spec)
    check_policies(found, "spec.policies", spec.policies, compat=compat)
    _check_plugins(found, spec, world=world)
    check_host_lists(found, spec, job_name=job_name, world=world)
    check_maxima(found, spec, maxima=world.settings.maxima)
    check_volumes(found, "spec.volumes", spec.volumes)
    check_topology(found, "spec.networkTopology", spec.network_topology)
    if spec.priority_class_name:
        check_subdomain(found, "spec.priorityClassName", spec.priority_class_name)
    # Each field has its own smallest value: 0 retries are allowed, 0 successes are not.
    for field, value, least in (
        ("maxRetry", spec.max_retry, 0),
        ("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished, 0),
        ("minSuccess", spec.min_success, 1),
    ):
        if value is not None and value < least:
            found.refuse(f"spec.{field}", f"must be {least} or more", value=value)


def check_gang(found: ValidationResult, spec: JobSpec) -> None:
    """Check that the gang is possible at all. This is also checked when a job is scaled."""
    total = sum(task.replicas for task in spec.tasks)
    if spec.min_available < 0:
        found.refuse(
            "spec.minAvailable",
            "must be 0 or more",
            value=spec.min_available,
            upstream="job 'minAvailable' must be >= 0",
        )
    if spec.min_available > total:
        found.refuse(
            "spec.minAvailable",
            f"is more than the {total} replicas of all tasks; lower it or raise replicas",
            value=spec.min_available,
            upstream="job 'minAvailable' should not be greater than total replicas in tasks",
        )


def _check_plugins(found: ValidationResult, spec: JobSpec, *, world: World) -> None:
    for name in sorted(spec.plugins):
        if name not in world.plugins:
            known = ", ".join(sorted(world.plugins))
            found.refuse(
                f"spec.plugins[{name}]",
                f"there is no such plugin; known are {known}",
                value=name,
                upstream=f"unable to find job plugin: {name}",
            )
    if "mpi" not in spec.plugins:
        return
    # The mpi plugin cannot decorate a job without its master.
    master = written_flags(spec.plugins["mpi"]).get("master", "master")
    # Without tasks the job is refused anyway.
    if spec.tasks and master not in {task.name for task in spec.tasks}:
        found.refuse(
            "spec.plugins[mpi]",
            "the master task is missing; name an existing task with --master=NAME",
            value=master,
        )
