"""A lower bound of what a gang needs, to be compared with the capability of its queue.

For each resource the cheapest pods are counted. The result is a lower bound, so a warning based on
it is never wrong. Requests fall back to limits, as everywhere in Kubernetes.
"""

from collections.abc import Mapping
from typing import Final

from vc.jobs.defaults import default_min_available
from vc.model.api.job import JobSpec
from vc.model.pod_requests import pod_requests
from vc.model.values.quantity import MILLI
from vc.model.values.resources import Resources
from vc.validation.amounts import known_amounts
from vc.validation.pods.pod_template import TemplateSpec, template_of
from vc.validation.world import World, parent_of

PODS: Final = "pods"
_ONE_POD: Final = 10**MILLI
_LEVELS_MAX: Final = 64
"""Limit of the walk to root, in case the parents of the queues form a cycle."""


def pod_amounts(spec: TemplateSpec) -> Resources:
    """The requests of one pod, and one pod."""
    return Resources({**pod_requests(spec, known_amounts), PODS: _ONE_POD})


def gang_amounts(spec: JobSpec) -> Resources:
    """A lower bound of the requests of minAvailable pods, per resource."""
    pods = [pod_amounts(template_of(task.template).spec) for task in spec.tasks]
    least = [max(default_min_available(task), 0) for task in spec.tasks]
    # Minimums of tasks that exceed the gang do not apply, so any pods may form the gang.
    if sum(least) > spec.min_available:
        least = [0] * len(least)
    rest = max(spec.min_available - sum(least), 0)
    bound = Resources()
    for pod, count in zip(pods, least, strict=True):
        bound.add(pod, times=count)
    beyond = [max(task.replicas - count, 0) for task, count in zip(spec.tasks, least, strict=True)]
    # Each resource is minimized on its own: no choice of pods can need less of it.
    for resource in {key for pod in pods for key in pod}:
        cheapest = sorted((pod[resource], count) for pod, count in zip(pods, beyond, strict=True))
        missing = rest
        for units, count in cheapest:
            taken = min(count, missing)
            bound[resource] += units * taken
            missing -= taken
    return bound


def capability_of(world: World, name: str) -> Mapping[str, tuple[int, str]]:
    """Per resource, the smallest capability on the way to root, and its queue."""
    caps: dict[str, tuple[int, str]] = {}
    for _ in range(_LEVELS_MAX):
        queue = world.queues.get(name)
        if queue is None:
            break
        for resource, units in known_amounts(queue.spec.capability).items():
            # The smallest capability on the way up is the one that stops the job.
            if resource not in caps or units < caps[resource][0]:
                caps[resource] = (units, name)
        name = parent_of(queue)
    return caps
