"""What the gang needs to start: `minResources` of the PodGroup.

The pods are counted as a ResourceQuota counts them, with requests that default from
limits, so that quotas can be compared with the result: `cpu` and `requests.cpu` and
`limits.cpu`, `pods` and `count/pods`, extended resources plain and as `requests.`. Pods
are counted in the order of their priority.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from vc.model.api.job import Job, TaskSpec
from vc.model.api.outline import pod_spec_of
from vc.model.api.scheduling import PriorityClass
from vc.model.api.struct import JsonObject, ResourceList
from vc.model.values.quantity import MILLI, format_resources, parse_resources
from vc.model.values.resources import Resources

_NATIVE: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_ONE: Final = 10**MILLI


def min_resources(
    job: Job,
    tasks: Sequence[TaskSpec],
    *,
    member_count: int,
    priorities: Mapping[str, PriorityClass],
) -> ResourceList:
    """The sum over the pods of the gang. Raises QuantityError for an invalid amount."""
    # The scheduler starts pods in this order, so these are the pods that the gang starts with.
    ordered = sorted(tasks, key=lambda task: -_priority(job, task, priorities))
    counts = _gang(ordered, member_count)
    total = Resources()
    for task, count in zip(ordered, counts, strict=True):
        if count:
            total.add(pod_usage(task.template), times=count)
    return format_resources(total)


def _gang(tasks: Sequence[TaskSpec], member_count: int) -> list[int]:
    """Number of pods per task: first the minimums of the tasks, then the rest of the gang."""
    least = [task.min_available or 0 for task in tasks]
    limits = [task.replicas for task in tasks]
    counts = [0] * len(tasks)
    # A gang smaller than the sum of the minimums is filled by priority alone.
    rounds = [limits] if member_count < sum(least) else [least, limits]
    left = member_count
    for bounds in rounds:
        for position, bound in enumerate(bounds):
            more = max(0, min(bound - counts[position], left))
            counts[position] += more
            left -= more
    return counts


def _priority(job: Job, task: TaskSpec, priorities: Mapping[str, PriorityClass]) -> int:
    name = pod_spec_of(task.template).get("priorityClassName")
    known = priorities.get(name or job.spec.priority_class_name)
    return known.value if known is not None else 0


def pod_usage(template: JsonObject) -> dict[str, int]:
    """Usage of one pod of a template or outline, as a quota counts it."""
    spec = pod_spec_of(template)
    requests, limits = _effective(spec, "requests"), _effective(spec, "limits")
    usage = {"pods": _ONE, "count/pods": _ONE}
    for name, amount in requests.items():
        usage[name] = amount
        usage[f"requests.{name}"] = amount
    usage |= {f"limits.{name}": amount for name, amount in limits.items() if name in _NATIVE}
    return usage


def _effective(spec: JsonObject, side: str) -> Resources:
    """Effective amounts of a pod, as Kubernetes computes them.

    Containers are summed, init containers run one after another, and sidecars keep running.
    """
    total = Resources.total(_amounts(container, side) for container in spec.get("containers") or [])
    sidecars = Resources()
    peak = Resources()
    for container in spec.get("initContainers") or []:
        # An init container runs beside the sidecars that were started before it.
        step = sidecars + _amounts(container, side)
        if container.get("restartPolicy") == "Always":
            sidecars = step
        peak.raise_to(step)
    total.add(sidecars)
    # Init containers run before the others, so the larger of both sums counts.
    total.raise_to(peak)
    # A quota does not count what the pod requests none of.
    total = total.positive()
    total.add(parse_resources(spec.get("overhead")))
    return total


def _amounts(container: JsonObject, side: str) -> Resources:
    resources = container.get("resources") or {}
    limits = resources.get("limits") or {}
    given = {**limits, **(resources.get("requests") or {})} if side == "requests" else limits
    return parse_resources(given)
