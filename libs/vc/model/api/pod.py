"""The parts of a Pod that matter for decisions.

Environment, arguments and other texts are left out on purpose: the watcher decodes pods into these
structs, and undeclared fields never reach the bus.
"""

from vc.model.api.meta import ApiObject
from vc.model.api.selectors import LabelSelector
from vc.model.api.struct import ApiStruct, JsonObject, ResourceList


class ResourceRequirements(ApiStruct, frozen=True, kw_only=True):
    """The requests and limits of a container or pod."""

    requests: ResourceList = {}
    limits: ResourceList = {}


class ContainerPort(ApiStruct, frozen=True, kw_only=True):
    """A container port; only host ports matter for placement."""

    container_port: int = 0
    host_port: int = 0
    protocol: str = "TCP"


class Container(ApiStruct, frozen=True, kw_only=True):
    """A container, without its command and environment."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: list[ContainerPort] = []
    restart_policy: str | None = None
    """`Always` on an init container makes it a sidecar."""


class Toleration(ApiStruct, frozen=True, kw_only=True):
    """A taint that the pod tolerates."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class TopologySpreadConstraint(ApiStruct, frozen=True, kw_only=True):
    """How evenly the selected pods must be spread over the domains of a topology key."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    match_label_keys: list[str] = []
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None


class ClaimReference(ApiStruct, frozen=True, kw_only=True):
    """A volume's reference to a claim."""

    claim_name: str
    read_only: bool = False


class EphemeralVolume(ApiStruct, frozen=True, kw_only=True):
    """A claim that is created with the pod, under the name `<pod>-<volume>`."""


class Volume(ApiStruct, frozen=True, kw_only=True):
    """A volume; only claims matter for placement."""

    name: str
    persistent_volume_claim: ClaimReference | None = None
    ephemeral: EphemeralVolume | None = None


class SchedulingGate(ApiStruct, frozen=True, kw_only=True):
    """A gate that prevents the pod from being scheduled."""

    name: str


class PodSpec(ApiStruct, frozen=True, kw_only=True):
    """The fields of a pod's spec that the scheduler and the controllers read."""

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
    """Pod-level resources; they replace the sum of the containers."""
    volumes: list[Volume] = []
    resource_claims: list[JsonObject] = []
    """Claims of dynamic resource allocation.
    They are not supported, so a pod with any is not bound.
    """
    scheduling_group: JsonObject | None = None
    """A group of Kubernetes' Workload API since 1.36;
    a pod of such a group is never bound alone.
    """
    workload_ref: JsonObject | None = None
    """The same as `scheduling_group` in Kubernetes 1.35."""
    host_network: bool = False
    restart_policy: str = "Always"
    termination_grace_period_seconds: int | None = None
    hostname: str = ""
    subdomain: str = ""
    held_requests: ResourceList = {}
    """Not a field of the API: the watcher sets it during an in-place resize, and it replaces all
    requests above (`vc.model.pod_resize`).
    """


class TerminatedState(ApiStruct, frozen=True, kw_only=True):
    """How a container terminated."""

    exit_code: int = 0
    reason: str = ""
    finished_at: str | None = None


class ContainerState(ApiStruct, frozen=True, kw_only=True):
    """The state of a container;
    only termination matters for policies, because the phase shows the rest.
    """

    terminated: TerminatedState | None = None


class ContainerStatus(ApiStruct, frozen=True, kw_only=True):
    """Restarts, readiness and termination of a container."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState | None = None
    last_state: ContainerState | None = None
    allocated_resources: ResourceList = {}
    """What the node has allocated; read by the watcher, and not published on the bus."""
    resources: ResourceRequirements | None = None
    """What the container runs with; read by the watcher, and not published on the bus."""


class PodCondition(ApiStruct, frozen=True, kw_only=True):
    """A pod condition; type and status matter for decisions."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodStatus(ApiStruct, frozen=True, kw_only=True):
    """The observed state of a pod."""

    phase: str = ""
    reason: str = ""
    conditions: list[PodCondition] = []
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []
    nominated_node_name: str = ""
    start_time: str | None = None
    allocated_resources: ResourceList = {}
    """Pod-level allocation. This field and the next are read by the watcher,
    and not published on the bus.
    """
    resources: ResourceRequirements | None = None


class Pod(ApiObject, frozen=True, kw_only=True):
    """The projection of a pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
