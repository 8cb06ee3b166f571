"""The cluster that a remedy changes: its interface, and how objects are found in it."""

from collections.abc import Mapping
from typing import Protocol, TypeVar

from vc.model.api.keys import GROUP_NAME, GROUP_NAME_ALTERNATIVE
from vc.model.api.kinds import Kind
from vc.model.api.meta import ApiObject, object_key
from vc.model.api.pod import Pod
from vc.model.api.struct import ResourceList
from vc.model.values.quantity import format_resources, parse_resources
from vc.model.values.resources import Resources
from vc.scheduling.model.amounts import PODS, Problems, pod_request

_Object = TypeVar("_Object", bound=ApiObject)


class Cluster(Protocol):
    """Objects that can be listed, replaced and deleted, with a clock."""

    now: float

    def objects(self) -> list[ApiObject]: ...
    def put(self, *objects: ApiObject) -> None: ...
    def delete(self, kind: Kind, key: str) -> None: ...


class CannotApplyError(ValueError):
    """The remedy does not describe a change that can be simulated; the message says which."""


def find(cluster: Cluster, kind: type[_Object], key: str) -> _Object:
    """Return the object; raises CannotApplyError when it does not exist."""
    for obj in cluster.objects():
        if isinstance(obj, kind) and obj.key == key:
            return obj
    raise CannotApplyError(f"there is no {kind.__name__} {key!r}")


def pods(cluster: Cluster) -> list[Pod]:
    """All pods of the cluster, in the order of its objects."""
    return [obj for obj in cluster.objects() if isinstance(obj, Pod)]


def members(cluster: Cluster, group: str) -> list[Pod]:
    """Return the pods of the group with this key."""
    namespace, _, name = group.partition("/")
    return [
        p for p in pods(cluster) if p.metadata.namespace == namespace and _group_name(p) == name
    ]


def added(written: ResourceList, amounts: Mapping[str, int]) -> ResourceList:
    """Return the resources plus the amounts; resources that are not written count as zero."""
    return dict(format_resources(parse_resources(written) + amounts))


def group_of(pod: Pod) -> str:
    """Return the key of the pod's group; empty when it has none."""
    name = _group_name(pod)
    return object_key(pod.metadata.namespace, name) if name else ""


def _group_name(pod: Pod) -> str:
    annotations = pod.metadata.annotations
    return annotations.get(GROUP_NAME) or annotations.get(GROUP_NAME_ALTERNATIVE) or ""


def requests_of(pod: Pod) -> Resources:
    """Return the pod's request as the scheduler counts it, without the resource `pods`."""
    return pod_request(pod.spec, Problems()).without((PODS,))
