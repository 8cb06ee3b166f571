"""The parts of a Node that decide where a pod may go."""

import msgspec

from vc_model.images import ContainerImage, pack_images
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


class NodeStatus(ApiStruct, frozen=True, kw_only=True):
    """What the node has."""

    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    conditions: list[NodeCondition] = []
    images: list[ContainerImage] = []
    """As the API server lists them; empty after reading."""
    packed_images: bytes = b""
    """The same in a few bytes, see `vc_model.images`. Packed as it is read, so that nobody who follows
    nodes holds the names of all images of all of them."""

    def __post_init__(self) -> None:
        if self.images:
            msgspec.structs.force_setattr(self, "packed_images", pack_images(self.images))
            msgspec.structs.force_setattr(self, "images", [])


class Node(ApiObject, frozen=True, kw_only=True):
    """A node, projected."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        """A node without a Ready condition is new, not broken."""
        return all(c.status == "True" for c in self.status.conditions if c.type == "Ready")
