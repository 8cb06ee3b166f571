"""Defaults of a vcjob that is created or changed, written into the raw object.

The values come from `vc.jobs.defaults`, which the job-controller and the dashboard use too. The
defaulted object is made from the raw one, so undeclared fields are not lost. The patch is the
difference.
"""

from vc.jobs.defaults import with_defaults, with_dns_policy
from vc.jobs.plugins.forced import with_forced
from vc.model.api.job import Job, TaskSpec
from vc.model.api.struct import Json, JsonObject
from vc.model.compat import Compat
from vc.validation.pods.container_resources import fill_extended_limits
from vc.validation.world import World


def default_job(raw: JsonObject, job: Job, *, world: World) -> JsonObject:
    """The raw job with its defaults. `job` is the same object, decoded."""
    spec = {**raw["spec"]} if isinstance(raw.get("spec"), dict) else {}
    defaults = with_defaults(job, world.settings.scheduler_names[0]).spec
    # Where the user wrote a value, the default is that value, and the patch has no entry for it.
    spec |= {
        "queue": defaults.queue,
        "schedulerName": defaults.scheduler_name,
        "maxRetry": defaults.max_retry,
        "minAvailable": defaults.min_available,
    }
    # The raw tasks are kept beside the decoded ones, so that unknown fields survive.
    if job.spec.tasks:
        spec["tasks"] = [
            _default_task(raw_task, task, compat=world.settings.compat)
            for raw_task, task in zip(spec["tasks"], defaults.tasks, strict=True)
        ]
    if isinstance(spec.get("plugins"), dict):
        written = spec["plugins"]
        added = [name for name in with_forced(written, world.plugins) if name not in written]
        spec["plugins"] = {**written, **{name: [] for name in added}}
    return {**raw, "spec": spec}


def _default_task(raw: JsonObject, task: TaskSpec, *, compat: Compat) -> JsonObject:
    """The raw task with the name, minimum and retries of the defaulted one."""
    changed: dict[str, Json] = {
        "name": task.name,
        "minAvailable": task.min_available,
        "maxRetry": task.max_retry,
    }
    if task.template:
        template = with_dns_policy(raw.get("template"))
        # In upstream mode a missing limit is refused instead, as with Volcano.
        if compat is Compat.LENIENT:
            template = fill_extended_limits(template)
        changed["template"] = template
    return {**raw, **changed}
