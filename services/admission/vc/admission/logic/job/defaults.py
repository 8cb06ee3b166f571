"""Defaults of a vcjob that is created or changed.

The defaulted object is made from the raw one, so undeclared fields are not lost. The patch is the
difference. The order matters in one place: minAvailable is computed from the defaulted tasks. An
explicit 0 of minAvailable or maxRetry cannot be distinguished from an absent value, as in upstream.
"""

from collections.abc import Mapping
from typing import Final

from vc.admission.logic.pods.container_resources import fill_extended_limits
from vc.admission.logic.pods.pod_template import default_dns_policy
from vc.admission.logic.world import World
from vc.messages.plugins import PluginAnnouncement
from vc.model.api.job import Job, TaskSpec
from vc.model.api.keys import DEFAULT_QUEUE
from vc.model.api.struct import Json, JsonObject
from vc.model.compat import Compat

MAX_RETRY: Final = 3

FORCED_PLUGINS: Final[dict[str, tuple[str, ...]]] = {
    "mpi": ("ssh", "svc"),
    "pytorch": ("svc",),
    "ray": ("svc",),
    "tensorflow": ("svc",),
}
"""Plugins that are enabled together with the named one, even before it has announced itself."""


def default_job(raw: JsonObject, job: Job, *, world: World) -> JsonObject:
    """The raw job with its defaults. `job` is the same object, decoded."""
    spec = {**raw["spec"]} if isinstance(raw.get("spec"), dict) else {}
    # An empty value is the zero value of Go clients and counts as absent.
    if not job.spec.queue:
        spec["queue"] = DEFAULT_QUEUE
    if not job.spec.scheduler_name:
        spec["schedulerName"] = world.settings.scheduler_names[0]
    if not job.spec.max_retry:
        spec["maxRetry"] = MAX_RETRY
    # The raw tasks are kept beside the decoded ones, so that unknown fields survive.
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
    """The minimum of a task: as written, else whole partitions, else all its pods."""
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
        # In upstream mode a missing limit is refused instead, as with Volcano.
        if compat is Compat.LENIENT:
            template = fill_extended_limits(template)
        changed["template"] = template
    return {**raw, **changed}


def _with_forced(plugins: JsonObject, known: Mapping[str, PluginAnnouncement]) -> JsonObject:
    """The plugins of the job, and those they force, which get no arguments."""
    grown = dict(plugins)
    for name in sorted(plugins):
        announced = known[name].forces if name in known else ()
        for forced in sorted({*FORCED_PLUGINS.get(name, ()), *announced}):
            # A plugin that the user configured keeps its arguments.
            grown.setdefault(forced, [])
    return grown
