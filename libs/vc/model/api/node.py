"""The parts of a Node that matter for placement."""

import msgspec

from vc.model.api.images import ContainerImage, pack_images
from vc.model.api.meta import ApiObject
from vc.model.api.struct import ApiStruct, ResourceList


class Taint(ApiStruct, frozen=True, kw_only=True):
    """A taint, which repels pods without a matching toleration."""

    key: str
    value: str = ""
    effect: str = ""


class NodeSpec(ApiStruct, frozen=True, kw_only=True):
    """Whether the node accepts pods."""

    unschedulable: bool = False
    taints: list[Taint] = []


class NodeCondition(ApiStruct, frozen=True, kw_only=True):
    """A node condition; only `Ready` is used."""

    type: str
    status: str
    reason: str = ""


class NodeStatus(ApiStruct, frozen=True, kw_only=True):
    """The resources, conditions and images of a node."""

    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    conditions: list[NodeCondition] = []
    images: list[ContainerImage] = []
    """As the API server lists them; emptied on decoding."""
    packed_images: bytes = b""
    """The images in packed form, see `vc.model.api.images`. They are packed on decoding, so that no
    service that follows nodes keeps the names of all images in memory.
    """

    def __post_init__(self) -> None:
        if self.images:
            # The struct is frozen; decoding is the only time it is changed.
            msgspec.structs.force_setattr(self, "packed_images", pack_images(self.images))
            msgspec.structs.force_setattr(self, "images", [])


class Node(ApiObject, frozen=True, kw_only=True):
    """The projection of a node."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        """Whether the node is ready.
        A node without a Ready condition is new and counts as ready.
        """
        return all(c.status == "True" for c in self.status.conditions if c.type == "Ready")
