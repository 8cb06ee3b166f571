"""Whether a namespace and a user may use the queue and the priority classes of a job."""

from vc.model.api.job import Job
from vc.model.api.keys import DEFAULT_QUEUE
from vc.validation.access import check_class, check_queue_allowed
from vc.validation.request import ReviewRequest
from vc.validation.result import ValidationResult
from vc.validation.world import World


def check_job_access(
    found: ValidationResult, job: Job, *, old: Job | None, request: ReviewRequest, world: World
) -> None:
    """Check a job that is created or changed from `old`. On a change
    only its own class can be new."""
    namespace = job.metadata.namespace or request.namespace
    name = job.spec.priority_class_name
    if old is None or old.spec.priority_class_name != name:
        check_class(found, "spec.priorityClassName", name, namespace=namespace, world=world)
    # The queue cannot change, and the tasks' classes were checked when the job was created.
    if old is not None:
        return
    check_queue_allowed(
        found,
        "spec.queue",
        job.spec.queue or DEFAULT_QUEUE,
        namespace=namespace,
        user=request.user_info,
        world=world,
    )
    for index, task in enumerate(job.spec.tasks):
        spec = task.template.get("spec")
        given = spec.get("priorityClassName") if isinstance(spec, dict) else ""
        # A template with the job's own class was checked above.
        if isinstance(given, str) and given != name:
            path = f"spec.tasks[{index}].template.spec.priorityClassName"
            check_class(found, path, given, namespace=namespace, world=world)
