"""The parts of a Node that decide where a pod may go."""

from vc_model.meta import ApiObject
from vc_model.struct import ApiStruct, ResourceList


class Taint(ApiStruct, frozen=True, kw_only=True):
    """What keeps pods away that do not tolerate it."""

    key: str
    value: str = ""
    effect: str = ""


class NodeSpec(ApiStruct, frozen=True, kw_only=True):
    """Whether the node takes pods."""

    unschedulable: bool = False
    taints: list[Taint] = []


class NodeCondition(ApiStruct, frozen=True, kw_only=True):
    """A condition; `Ready` decides."""

    type: str
    status: str
    reason: str = ""


class ContainerImage(ApiStruct, frozen=True, kw_only=True):
    """An image that is already there; only scoring looks at it."""

    names: list[str] = []
    size_bytes: int = 0


class NodeStatus(ApiStruct, frozen=True, kw_only=True):
    """What the node has."""

    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    conditions: list[NodeCondition] = []
    images: list[ContainerImage] = []


class Node(ApiObject, frozen=True, kw_only=True):
    """A node, projected."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        """A node without a Ready condition is new, not broken."""
        return all(c.status == "True" for c in self.status.conditions if c.type == "Ready")
