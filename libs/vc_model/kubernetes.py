"""Other Kubernetes objects, each with no more than what some service reads."""

from vc_model.meta import ApiObject
from vc_model.selectors import LabelSelector
from vc_model.struct import ApiStruct, JsonObject, ResourceList


class NamespaceStatus(ApiStruct, frozen=True, kw_only=True):
    """Active or Terminating."""

    phase: str = ""


class Namespace(ApiObject, frozen=True, kw_only=True):
    """A namespace; its annotation may name a default queue."""

    status: NamespaceStatus = NamespaceStatus()


class WorkloadSpec(ApiStruct, frozen=True, kw_only=True):
    """What replica sets, stateful sets, daemon sets and batch jobs have in common for us."""

    replicas: int | None = None
    parallelism: int | None = None
    selector: LabelSelector | None = None


class WorkloadStatus(ApiStruct, frozen=True, kw_only=True):
    """Stateful sets tell their current revision."""

    update_revision: str = ""


class Workload(ApiObject, frozen=True, kw_only=True):
    """A controller of plain pods."""

    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()


class ClaimSpec(ApiStruct, frozen=True, kw_only=True):
    """What a claim asks for."""

    access_modes: list[str] = []
    resources: JsonObject = {}
    storage_class_name: str | None = None
    volume_name: str = ""
    volume_mode: str | None = None
    selector: LabelSelector | None = None


class ClaimStatus(ApiStruct, frozen=True, kw_only=True):
    """Pending, Bound or Lost."""

    phase: str = ""


class PersistentVolumeClaim(ApiObject, frozen=True, kw_only=True):
    """A claim on storage."""

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class PersistentVolumeSpec(ApiStruct, frozen=True, kw_only=True):
    """What a volume has and where it can be reached."""

    capacity: ResourceList = {}
    access_modes: list[str] = []
    storage_class_name: str = ""
    claim_ref: JsonObject | None = None
    node_affinity: JsonObject | None = None
    volume_mode: str | None = None
    csi: JsonObject | None = None


class PersistentVolumeStatus(ApiStruct, frozen=True, kw_only=True):
    """Available, Bound, Released or Failed."""

    phase: str = ""


class PersistentVolume(ApiObject, frozen=True, kw_only=True):
    """A piece of storage."""

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class StorageClass(ApiObject, frozen=True, kw_only=True):
    """How storage is made, and whether it waits for a node."""

    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[JsonObject] = []


class DriverAllocatable(ApiStruct, frozen=True, kw_only=True):
    """How many volumes of a driver a node takes; None for no limit."""

    count: int | None = None


class NodeDriver(ApiStruct, frozen=True, kw_only=True):
    """A storage driver on a node."""

    name: str
    allocatable: DriverAllocatable | None = None


class CSINodeSpec(ApiStruct, frozen=True, kw_only=True):
    """The drivers of a node."""

    drivers: list[NodeDriver] = []


class CSINode(ApiObject, frozen=True, kw_only=True):
    """What storage drivers say of a node; it has the node's name."""

    spec: CSINodeSpec = CSINodeSpec()


class ResourceQuotaSpec(ApiStruct, frozen=True, kw_only=True):
    """Limits of a namespace."""

    hard: ResourceList = {}
    scopes: list[str] = []
    scope_selector: JsonObject | None = None


class ResourceQuotaStatus(ApiStruct, frozen=True, kw_only=True):
    """What is used of them."""

    hard: ResourceList = {}
    used: ResourceList = {}


class ResourceQuota(ApiObject, frozen=True, kw_only=True):
    """A namespace's quota."""

    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class PodDisruptionBudgetSpec(ApiStruct, frozen=True, kw_only=True):
    """Which pods are protected."""

    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(ApiStruct, frozen=True, kw_only=True):
    """How many may go now."""

    disruptions_allowed: int = 0


class PodDisruptionBudget(ApiObject, frozen=True, kw_only=True):
    """A limit on evictions."""

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class ConfigMap(ApiObject, frozen=True, kw_only=True):
    """Configuration; the watcher only follows our own."""

    data: dict[str, str] = {}


class LeaseSpec(ApiStruct, frozen=True, kw_only=True):
    """Who leads, and since when."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(ApiObject, frozen=True, kw_only=True):
    """A leader's claim."""

    spec: LeaseSpec = LeaseSpec()
