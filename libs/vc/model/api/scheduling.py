"""Scheduling objects: PodGroup, Queue, PriorityClass, HyperNode."""

import msgspec

from vc.model.api.job import NetworkTopology
from vc.model.api.meta import ApiObject
from vc.model.api.selectors import LabelSelector
from vc.model.api.struct import ApiStruct, JsonObject, ResourceList


class SubGroupPolicy(ApiStruct, frozen=True, kw_only=True):
    """A second level of gangs inside a PodGroup."""

    name: str = ""
    network_topology: NetworkTopology | None = None
    sub_group_size: int = 1
    min_sub_groups: int = 0
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] = []


class PodGroupSpec(ApiStruct, frozen=True, kw_only=True):
    """The gang and its queue."""

    min_member: int = 0
    min_task_member: dict[str, int] = {}
    queue: str = ""
    priority_class_name: str = ""
    min_resources: ResourceList | None = None
    network_topology: NetworkTopology | None = None
    sub_group_policy: list[SubGroupPolicy] = []


class PodGroupCondition(ApiStruct, frozen=True, kw_only=True):
    """A condition `Unschedulable` or `Scheduled`, with the session that set it."""

    type: str
    status: str
    transition_id: str = msgspec.field(default="", name="transitionID")
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class PodGroupStatus(ApiStruct, frozen=True, kw_only=True):
    """The phase and pod counts of the gang."""

    phase: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: list[PodGroupCondition] = []


class PodGroup(ApiObject, frozen=True, kw_only=True):
    """A group of pods that are scheduled together."""

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class Guarantee(ApiStruct, frozen=True, kw_only=True):
    """Resources that are reserved for a queue and not available to others."""

    resource: ResourceList = {}


class QueueSpec(ApiStruct, frozen=True, kw_only=True):
    """The share and the rules of a queue."""

    weight: int = 1
    capability: ResourceList = {}
    reclaimable: bool | None = None
    extend_clusters: list[JsonObject] = []
    guarantee: Guarantee = Guarantee()
    affinity: JsonObject | None = None
    type: str = ""
    parent: str = ""
    deserved: ResourceList = {}
    priority: int = 0
    dequeue_strategy: str = "traverse"


class QueueStatus(ApiStruct, frozen=True, kw_only=True):
    """State, PodGroup counts and allocated resources of a queue."""

    state: str = ""
    unknown: int = 0
    pending: int = 0
    running: int = 0
    inqueue: int = 0
    completed: int = 0
    reservation: JsonObject | None = None
    allocated: ResourceList = {}


class Queue(ApiObject, frozen=True, kw_only=True):
    """A queue of pod groups."""

    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


class PriorityClass(ApiObject, frozen=True, kw_only=True):
    """A priority that pods and jobs refer to by name."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


class HyperNodeMember(ApiStruct, frozen=True, kw_only=True):
    """Selects the nodes or hypernodes that are members."""

    type: str = "Node"
    selector: JsonObject = {}


class HyperNodeSpec(ApiStruct, frozen=True, kw_only=True):
    """A tier of the network topology and its members."""

    tier: int = 0
    tier_name: str = ""
    members: list[HyperNodeMember] = []


class HyperNodeStatus(ApiStruct, frozen=True, kw_only=True):
    """The number of nodes in a hypernode, and its conditions."""

    node_count: int = 0
    conditions: list[JsonObject] = []


class HyperNode(ApiObject, frozen=True, kw_only=True):
    """A part of the network topology."""

    spec: HyperNodeSpec = HyperNodeSpec()
    status: HyperNodeStatus = HyperNodeStatus()
