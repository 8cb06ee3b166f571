"""What a vcjob gets when it is created or changed, and the user did not say.

The defaulted object is made from the raw one, so nothing we do not declare is lost; the patch is
its difference. Order matters in one place: minAvailable is computed from the defaulted tasks. An
explicit 0 of minAvailable or maxRetry cannot be told from nothing, as upstream.
"""

from collections.abc import Mapping
from typing import Final

from vc_admission.logic.container_resources import fill_extended_limits
from vc_admission.logic.pod_template import default_dns_policy
from vc_admission.logic.world import World
from vc_messages.plugins import PluginAnnouncement
from vc_model.compat import Compat
from vc_model.job import Job, TaskSpec
from vc_model.keys import DEFAULT_QUEUE
from vc_model.struct import Json, JsonObject

MAX_RETRY: Final = 3

FORCED_PLUGINS: Final[dict[str, tuple[str, ...]]] = {
    "mpi": ("ssh", "svc"),
    "pytorch": ("svc",),
    "ray": ("svc",),
    "tensorflow": ("svc",),
}
"""Switched on with the named one even before it has announced itself."""


def default_job(raw: JsonObject, job: Job, *, world: World) -> JsonObject:
    """The raw job with its defaults. `job` is the same object, read."""
    spec = {**raw["spec"]} if isinstance(raw.get("spec"), dict) else {}
    if not job.spec.queue:
        spec["queue"] = DEFAULT_QUEUE
    if not job.spec.scheduler_name:
        spec["schedulerName"] = world.settings.scheduler_names[0]
    if not job.spec.max_retry:
        spec["maxRetry"] = MAX_RETRY
    if job.spec.tasks:
        spec["tasks"] = [
            _default_task(raw_task, task, index=index, compat=world.settings.compat)
            for index, (raw_task, task) in enumerate(
                zip(spec["tasks"], job.spec.tasks, strict=True)
            )
        ]
    if not job.spec.min_available:
        spec["minAvailable"] = sum(default_min_available(task) for task in job.spec.tasks)
    if isinstance(spec.get("plugins"), dict):
        spec["plugins"] = _with_forced(spec["plugins"], world.plugins)
    return {**raw, "spec": spec}


def default_min_available(task: TaskSpec) -> int:
    """A task's part of the gang: as written, else whole partitions, else all its pods."""
    if task.min_available is not None:
        return task.min_available
    policy = task.partition_policy
    if policy is not None and policy.min_partitions > 0:
        return policy.min_partitions * policy.partition_size
    return task.replicas


def _default_task(raw: JsonObject, task: TaskSpec, *, index: int, compat: Compat) -> JsonObject:
    changed: dict[str, Json] = {}
    if not task.name:
        changed["name"] = f"default{index}"
    if task.min_available is None:
        changed["minAvailable"] = default_min_available(task)
    if not task.max_retry:
        changed["maxRetry"] = MAX_RETRY
    if task.template:
        template = default_dns_policy(raw.get("template"))
        if compat is Compat.LENIENT:
            template = fill_extended_limits(template)
        changed["template"] = template
    return {**raw, **changed}


def _with_forced(plugins: JsonObject, known: Mapping[str, PluginAnnouncement]) -> JsonObject:
    """What the job's plugins need beside them, added with no arguments."""
    grown = dict(plugins)
    for name in sorted(plugins):
        announced = known[name].forces if name in known else ()
        for forced in sorted({*FORCED_PLUGINS.get(name, ()), *announced}):
            grown.setdefault(forced, [])
    return grown
