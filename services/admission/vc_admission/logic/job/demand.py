"""What a gang needs at the least, to be compared with what its queue may ever have.

Per resource the cheapest pods are counted, so the number is a lower bound: a warning made of it is
never wrong. Requests fall back to limits, as everywhere in Kubernetes.
"""

from collections.abc import Mapping
from typing import Final

from vc_admission.logic.amounts import Amounts, known_amounts, sum_amounts
from vc_admission.logic.job.defaults import default_min_available
from vc_admission.logic.pod_template import TemplateSpec, template_of
from vc_admission.logic.world import World, parent_of
from vc_model.job import JobSpec
from vc_model.pod_requests import pod_requests
from vc_model.quantity import MILLI

PODS: Final = "pods"
_ONE_POD: Final = 10**MILLI
_LEVELS_MAX: Final = 64
"""Walking up ends here even if the queues' parents form a cycle."""


def pod_amounts(spec: TemplateSpec) -> Amounts:
    """What one pod asks for, and its place."""
    return {**pod_requests(spec, known_amounts), PODS: _ONE_POD}


def gang_amounts(spec: JobSpec) -> Amounts:
    """A lower bound of what minAvailable pods ask for, per resource."""
    pods = [pod_amounts(template_of(task.template).spec) for task in spec.tasks]
    least = [max(default_min_available(task), 0) for task in spec.tasks]
    if sum(least) > spec.min_available:
        least = [0] * len(least)
    rest = max(spec.min_available - sum(least), 0)
    bound = sum_amounts(
        [
            {key: units * count for key, units in pod.items()}
            for pod, count in zip(pods, least, strict=True)
        ]
    )
    room = [max(task.replicas - count, 0) for task, count in zip(spec.tasks, least, strict=True)]
    for resource in {key for pod in pods for key in pod}:
        cheapest = sorted(
            (pod.get(resource, 0), count) for pod, count in zip(pods, room, strict=True)
        )
        missing = rest
        for units, count in cheapest:
            taken = min(count, missing)
            bound[resource] = bound.get(resource, 0) + units * taken
            missing -= taken
    return bound


def capability_of(world: World, name: str) -> Mapping[str, tuple[int, str]]:
    """Per resource the smallest capability on the way up to root, and whose it is."""
    caps: dict[str, tuple[int, str]] = {}
    for _ in range(_LEVELS_MAX):
        queue = world.queues.get(name)
        if queue is None:
            break
        for resource, units in known_amounts(queue.spec.capability).items():
            if resource not in caps or units < caps[resource][0]:
                caps[resource] = (units, name)
        name = parent_of(queue)
    return caps
