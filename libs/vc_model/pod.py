"""The parts of a Pod that somebody decides on.

Env, args and other texts are left out on purpose: the watcher decodes a pod into this
struct, and what is not declared never reaches the bus.
"""

from vc_model.meta import ApiObject
from vc_model.selectors import LabelSelector
from vc_model.struct import ApiStruct, JsonObject, ResourceList


class ResourceRequirements(ApiStruct, frozen=True, kw_only=True):
    """What a container asks for."""

    requests: ResourceList = {}
    limits: ResourceList = {}


class ContainerPort(ApiStruct, frozen=True, kw_only=True):
    """A port; only host ports matter for placement."""

    container_port: int = 0
    host_port: int = 0
    protocol: str = "TCP"


class Container(ApiStruct, frozen=True, kw_only=True):
    """A container without what it runs."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: list[ContainerPort] = []
    restart_policy: str | None = None
    """`Always` on an init container makes it a sidecar."""


class Toleration(ApiStruct, frozen=True, kw_only=True):
    """Which taint a pod accepts."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class TopologySpreadConstraint(ApiStruct, frozen=True, kw_only=True):
    """How evenly pods of a selector lie over a topology key."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    match_label_keys: list[str] = []
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None


class ClaimReference(ApiStruct, frozen=True, kw_only=True):
    """A volume's claim."""

    claim_name: str
    read_only: bool = False


class EphemeralVolume(ApiStruct, frozen=True, kw_only=True):
    """A claim that is made with the pod, under the name `<pod>-<volume>`."""


class Volume(ApiStruct, frozen=True, kw_only=True):
    """A volume; only claims matter for placement."""

    name: str
    persistent_volume_claim: ClaimReference | None = None
    ephemeral: EphemeralVolume | None = None


class SchedulingGate(ApiStruct, frozen=True, kw_only=True):
    """A gate that keeps the pod from being placed."""

    name: str


class PodSpec(ApiStruct, frozen=True, kw_only=True):
    """What the scheduler and the controllers read of a pod's spec."""

    containers: list[Container] = []
    init_containers: list[Container] = []
    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    node_selector: dict[str, str] = {}
    affinity: JsonObject | None = None
    tolerations: list[Toleration] = []
    topology_spread_constraints: list[TopologySpreadConstraint] = []
    scheduling_gates: list[SchedulingGate] = []
    overhead: ResourceList = {}
    resources: ResourceRequirements = ResourceRequirements()
    """Of the pod as a whole; stands in place of what its containers ask for together."""
    volumes: list[Volume] = []
    resource_claims: list[JsonObject] = []
    """Devices of dynamic resource allocation; not supported, so a pod with any is not bound."""
    scheduling_group: JsonObject | None = None
    """Of Kubernetes' Workload API from 1.36 on; a pod of such a group is never bound alone."""
    workload_ref: JsonObject | None = None
    """The same in 1.35."""
    host_network: bool = False
    restart_policy: str = "Always"
    termination_grace_period_seconds: int | None = None
    hostname: str = ""
    subdomain: str = ""
    held_requests: ResourceList = {}
    """No field of the API: the watcher writes it while an in-place resize is under way, and it stands in
    place of all requests above (`vc_model.pod_resize`)."""


class TerminatedState(ApiStruct, frozen=True, kw_only=True):
    """How a container ended."""

    exit_code: int = 0
    reason: str = ""
    finished_at: str | None = None


class ContainerState(ApiStruct, frozen=True, kw_only=True):
    """Only the end matters to policies; that it runs is in the phase."""

    terminated: TerminatedState | None = None


class ContainerStatus(ApiStruct, frozen=True, kw_only=True):
    """A container's restarts, readiness and end."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState | None = None
    last_state: ContainerState | None = None
    allocated_resources: ResourceList = {}
    """What the node has set aside; read by the watcher, not on the bus."""
    resources: ResourceRequirements | None = None
    """What the container runs with; read by the watcher, not on the bus."""


class PodCondition(ApiStruct, frozen=True, kw_only=True):
    """A condition, of which type and status decide."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodStatus(ApiStruct, frozen=True, kw_only=True):
    """What is known of the pod's run."""

    phase: str = ""
    reason: str = ""
    conditions: list[PodCondition] = []
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []
    nominated_node_name: str = ""
    start_time: str | None = None
    allocated_resources: ResourceList = {}
    """Of the pod as a whole; read by the watcher, not on the bus, as is the next one."""
    resources: ResourceRequirements | None = None


class Pod(ApiObject, frozen=True, kw_only=True):
    """A pod, projected."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
