"""The entry point: the mutator and the validator of each kind.

They never raise. An object that cannot be decoded is refused by its validator and left unchanged by
its mutator, so that the API server's own schema check, which runs between the two, reports it first.
"""

from collections.abc import Callable
from typing import Final

from vc.model.api import kinds
from vc.model.api.graft import strip_nulls
from vc.model.api.job import Command, CronJob, Job, JobFlow, JobTemplate
from vc.model.api.kinds import Kind
from vc.model.api.scheduling import HyperNode, PodGroup, Queue
from vc.model.api.struct import JsonObject
from vc.validation.access import is_ours
from vc.validation.job.access import check_job_access
from vc.validation.job.create import check_job
from vc.validation.job.defaults import default_job
from vc.validation.job.host_lists import check_host_lists
from vc.validation.job.tasks import TASKS_MAX
from vc.validation.job.traps import warn_of_traps
from vc.validation.job.update import check_job_update
from vc.validation.kinds.command import check_command
from vc.validation.kinds.cronjob import check_cronjob
from vc.validation.kinds.hypernode import check_hypernode
from vc.validation.kinds.jobflow import check_jobflow
from vc.validation.kinds.jobtemplate import check_jobtemplate
from vc.validation.kinds.podgroup import check_podgroup, default_podgroup, restored
from vc.validation.maxima import check_count, check_sizes
from vc.validation.pods.pod import AdmittedPod, check_pod, default_pod
from vc.validation.queue.defaults import default_queue
from vc.validation.queue.deletion import check_queue_delete
from vc.validation.queue.rules import check_queue
from vc.validation.reading import read, too_deep
from vc.validation.request import DELETE, UPDATE, ReviewRequest
from vc.validation.result import ValidationResult
from vc.validation.support import answer
from vc.validation.world import World

Mutator = Callable[[ReviewRequest, JsonObject, World], JsonObject]
Validator = Callable[[ValidationResult, ReviewRequest, World], None]


def defaulted(request: ReviewRequest, world: World, *, kind: Kind) -> JsonObject:
    """The object with defaults, or unchanged if it cannot be decoded."""
    return MUTATORS[kind](request, request.object or {}, world)


def validate(found: ValidationResult, request: ReviewRequest, world: World, *, kind: Kind) -> None:
    """Apply every rule of the kind, and add the results to `found`."""
    # Finalizers could not be removed from an object that new rules refuse.
    if request.operation == UPDATE and _is_being_deleted(request):
        return
    check_count(found, world.objects_there, kind=kind, maxima=world.settings.maxima)
    VALIDATORS[kind](found, request, world)
    # A too deep object was refused above, and recursion over it is not safe.
    if request.operation != DELETE and not too_deep(request.object):
        answer(found, kind.kind, strip_nulls(request.object or {}), operation=request.operation)


def _is_being_deleted(request: ReviewRequest) -> bool:
    """Whether the object is terminating. Finalizers must be removable
    whatever the rules are by now."""
    metadata = (request.object or {}).get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("deletionTimestamp"))


# -- mutators ----------------------------------------------------------------------------------------


def _mutate_job(request: ReviewRequest, raw: JsonObject, world: World) -> JsonObject:
    if request.operation == UPDATE and _is_being_deleted(request):
        return raw
    return _defaulted_job(raw, world)


def _defaulted_job(raw: JsonObject, world: World) -> JsonObject:
    job = read(raw, Job, ValidationResult())
    # A job beyond the limit is refused by its validator; defaulting it would only cost time.
    if job is None or len(job.spec.tasks) > TASKS_MAX:
        return raw
    return default_job(raw, job, world=world)


def _mutate_queue(_: ReviewRequest, raw: JsonObject, __: World) -> JsonObject:
    queue = read(raw, Queue, ValidationResult())
    return raw if queue is None else default_queue(raw, queue)


def _mutate_podgroup(request: ReviewRequest, raw: JsonObject, world: World) -> JsonObject:
    # Only our services write status and our annotations (docs/adr/0033).
    if world.settings.accounts and not is_ours(request, world):
        raw = restored(raw, request.old_object)
    group = read(raw, PodGroup, ValidationResult())
    # The queue of an existing PodGroup must not change because of the namespace.
    if group is None or request.operation == UPDATE:
        return raw
    return default_podgroup(raw, group, namespace=request.namespace, world=world)


def _mutate_pod(request: ReviewRequest, raw: JsonObject, world: World) -> JsonObject:
    pod = read(raw, AdmittedPod, ValidationResult())
    if pod is None or not isinstance(raw.get("spec"), dict):
        return raw
    return default_pod(raw, pod, namespace=request.namespace, world=world)


MUTATORS: Final[dict[Kind, Mutator]] = {
    kinds.JOBS: _mutate_job,
    kinds.QUEUES: _mutate_queue,
    kinds.PODGROUPS: _mutate_podgroup,
    kinds.PODS: _mutate_pod,
}

# -- validators --------------------------------------------------------------------------------------


def _validate_job(found: ValidationResult, request: ReviewRequest, world: World) -> None:
    if request.operation == UPDATE:
        _validate_job_update(found, request, world)
        return
    job = read(request.object or {}, Job, found)
    if job is None:
        return
    check_job(found, job, world=world)
    check_job_access(found, job, old=None, request=request, world=world)
    # Warnings are only useful for a job that is admitted.
    if not found.problems:
        warn_of_traps(found, job.spec, world=world)


def _validate_job_update(found: ValidationResult, request: ReviewRequest, world: World) -> None:
    """Validate an update with defaults on both sides.

    The old job may be older than admission, and the mutating webhook may be off, so neither side
    needs to have defaults. Omitting a field that has a default is no change.
    """
    job = read(_defaulted_job(request.object or {}, world), Job, found)
    old = read(_defaulted_job(request.old_object or {}, world), Job, found)
    if job is not None and old is not None:
        check_job_update(found, old=old, new=job)
        check_job_access(found, job, old=old, request=request, world=world)
        # A job that is too large already must be able to shrink.
        if _grows(old, job):
            name = job.metadata.name
            check_host_lists(found, job.spec, job_name=name, world=world)
            check_sizes(found, job.spec, maxima=world.settings.maxima, before=old.spec)


def _grows(old: Job, new: Job) -> bool:
    """Whether a task grows. Existing sizes are not refused: a job that is
    too large must be able to shrink."""
    pairs = zip(old.spec.tasks, new.spec.tasks, strict=False)
    return any(task.replicas > before.replicas for before, task in pairs)


def _validate_queue(found: ValidationResult, request: ReviewRequest, world: World) -> None:
    old = read(request.old_object, Queue, found) if request.old_object is not None else None
    if request.operation == DELETE:
        name = request.name or (old.metadata.name if old else "")
        check_queue_delete(found, name, old=old, world=world)
        return
    queue = read(request.object or {}, Queue, found)
    if queue is not None:
        check_queue(found, queue, old=old, world=world)


def _validate_podgroup(found: ValidationResult, request: ReviewRequest, world: World) -> None:
    group = read(request.object or {}, PodGroup, found)
    old = None
    if request.operation == UPDATE:
        # An old object that cannot be decoded counts as empty, so that it can be corrected.
        old = read(request.old_object or {}, PodGroup, ValidationResult()) or PodGroup()
    if group is not None:
        check_podgroup(found, group, old=old, request=request, world=world)


def _validate_pod(found: ValidationResult, request: ReviewRequest, world: World) -> None:
    check_pod(found, request.object or {}, request=request, world=world)


def _validate_command(found: ValidationResult, request: ReviewRequest, world: World) -> None:
    command = read(request.object or {}, Command, found)
    if command is not None:
        check_command(found, command, request=request, world=world)


def _validate_cronjob(found: ValidationResult, request: ReviewRequest, world: World) -> None:
    cron = read(request.object or {}, CronJob, found)
    if cron is not None:
        check_cronjob(found, cron, world=world)


def _validate_jobflow(found: ValidationResult, request: ReviewRequest, _: World) -> None:
    flow = read(request.object or {}, JobFlow, found)
    if flow is not None:
        check_jobflow(found, flow)


def _validate_jobtemplate(found: ValidationResult, request: ReviewRequest, world: World) -> None:
    template = read(request.object or {}, JobTemplate, found)
    if template is not None:
        check_jobtemplate(found, template, world=world)


def _validate_hypernode(found: ValidationResult, request: ReviewRequest, _: World) -> None:
    node = read(request.object or {}, HyperNode, found)
    if node is not None:
        check_hypernode(found, node)


VALIDATORS: Final[dict[Kind, Validator]] = {
    kinds.JOBS: _validate_job,
    kinds.QUEUES: _validate_queue,
    kinds.PODGROUPS: _validate_podgroup,
    kinds.PODS: _validate_pod,
    kinds.CRONJOBS: _validate_cronjob,
    kinds.COMMANDS: _validate_command,
    kinds.JOBFLOWS: _validate_jobflow,
    kinds.JOBTEMPLATES: _validate_jobtemplate,
    kinds.HYPERNODES: _validate_hypernode,
}
