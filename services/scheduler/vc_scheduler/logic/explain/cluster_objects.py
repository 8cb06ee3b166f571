"""Objects of a cluster that a remedy changes: what they must offer, and how they are found."""

from collections.abc import Mapping
from typing import Protocol, TypeVar

from vc_model.keys import GROUP_NAME, GROUP_NAME_ALTERNATIVE
from vc_model.kinds import Kind
from vc_model.meta import ApiObject, object_key
from vc_model.pod import Pod
from vc_model.quantity import format_resources, parse_resources
from vc_model.struct import ResourceList
from vc_scheduler.logic.amounts import PODS, Amounts, Problems, pod_request

_Object = TypeVar("_Object", bound=ApiObject)


class Cluster(Protocol):
    """Objects that can be changed."""

    now: float

    def objects(self) -> list[ApiObject]: ...
    def put(self, *objects: ApiObject) -> None: ...
    def delete(self, kind: Kind, key: str) -> None: ...


class CannotApplyError(ValueError):
    """The remedy names no change that a simulation could make; says which."""


def find(cluster: Cluster, kind: type[_Object], key: str) -> _Object:
    """The object; CannotApplyError when it does not exist."""
    for obj in cluster.objects():
        if isinstance(obj, kind) and obj.key == key:
            return obj
    raise CannotApplyError(f"there is no {kind.__name__} {key!r}")


def pods(cluster: Cluster) -> list[Pod]:
    """All of them."""
    return [obj for obj in cluster.objects() if isinstance(obj, Pod)]


def members(cluster: Cluster, group: str) -> list[Pod]:
    """The pods of a group, by its key."""
    namespace, _, name = group.partition("/")
    return [
        p for p in pods(cluster) if p.metadata.namespace == namespace and _group_name(p) == name
    ]


def added(written: ResourceList, amounts: Mapping[str, int]) -> ResourceList:
    """Resources that are not written stay so, unless something is added to them."""
    total = dict(parse_resources(written))
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount
    return dict(format_resources(total))


def group_of(pod: Pod) -> str:
    """The key of its pod group; empty when it has none."""
    name = _group_name(pod)
    return object_key(pod.metadata.namespace, name) if name else ""


def _group_name(pod: Pod) -> str:
    annotations = pod.metadata.annotations
    return annotations.get(GROUP_NAME) or annotations.get(GROUP_NAME_ALTERNATIVE) or ""


def asked_for(pod: Pod) -> Amounts:
    """What the pod requests, as the scheduler counts it; the count of pods is not part of it."""
    found = pod_request(pod.spec, Problems())
    return {name: amount for name, amount in found.items() if name != PODS}
