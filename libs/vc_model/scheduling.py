"""What the scheduler shares out: PodGroup, Queue, PriorityClass, HyperNode."""

import msgspec

from vc_model.job import NetworkTopology
from vc_model.meta import ApiObject
from vc_model.selectors import LabelSelector
from vc_model.struct import ApiStruct, JsonObject, ResourceList


class SubGroupPolicy(ApiStruct, frozen=True, kw_only=True):
    """A second level of gangs inside a pod group."""

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
    """`Unschedulable` or `Scheduled`, with the session that said so."""

    type: str
    status: str
    transition_id: str = msgspec.field(default="", name="transitionID")
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class PodGroupStatus(ApiStruct, frozen=True, kw_only=True):
    """Where the gang stands."""

    phase: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: list[PodGroupCondition] = []


class PodGroup(ApiObject, frozen=True, kw_only=True):
    """The unit of scheduling."""

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class Guarantee(ApiStruct, frozen=True, kw_only=True):
    """What other queues never get."""

    resource: ResourceList = {}


class QueueSpec(ApiStruct, frozen=True, kw_only=True):
    """A share of the cluster."""

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
    """State, counters and what is taken."""

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
    """A name for a priority."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


class HyperNodeMember(ApiStruct, frozen=True, kw_only=True):
    """Which nodes or hypernodes belong to it."""

    type: str = "Node"
    selector: JsonObject = {}


class HyperNodeSpec(ApiStruct, frozen=True, kw_only=True):
    """A level of the network and its members."""

    tier: int = 0
    tier_name: str = ""
    members: list[HyperNodeMember] = []


class HyperNodeStatus(ApiStruct, frozen=True, kw_only=True):
    """How many nodes there are below."""

    node_count: int = 0
    conditions: list[JsonObject] = []


class HyperNode(ApiObject, frozen=True, kw_only=True):
    """A part of the network."""

    spec: HyperNodeSpec = HyperNodeSpec()
    status: HyperNodeStatus = HyperNodeStatus()
