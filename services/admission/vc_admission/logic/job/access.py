"""Whether a job's queue and priority classes are for its namespace and its author."""

from vc_admission.logic.access import check_class, check_queue_allowed
from vc_admission.logic.findings import Findings
from vc_admission.logic.wire import Request
from vc_admission.logic.world import World
from vc_model.job import Job
from vc_model.keys import DEFAULT_QUEUE


def check_job_access(
    found: Findings, job: Job, *, old: Job | None, request: Request, world: World
) -> None:
    """A job that is created, or changed from `old`: then only its own class can be new."""
    namespace = job.metadata.namespace or request.namespace
    name = job.spec.priority_class_name
    if old is None or old.spec.priority_class_name != name:
        check_class(found, "spec.priorityClassName", name, namespace=namespace, world=world)
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
        if isinstance(given, str) and given != name:
            path = f"spec.tasks[{index}].template.spec.priorityClassName"
            check_class(found, path, given, namespace=namespace, world=world)
