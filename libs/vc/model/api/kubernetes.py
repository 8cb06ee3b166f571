"""Other Kubernetes objects, each with only the fields that a service reads."""

from vc.model.api.meta import ApiObject
from vc.model.api.selectors import LabelSelector
from vc.model.api.struct import ApiStruct, JsonObject, ResourceList


class NamespaceStatus(ApiStruct, frozen=True, kw_only=True):
    """The phase of a namespace: Active or Terminating."""

    phase: str = ""


class Namespace(ApiObject, frozen=True, kw_only=True):
    """A namespace; its annotation may name a default queue."""

    status: NamespaceStatus = NamespaceStatus()


class WorkloadSpec(ApiStruct, frozen=True, kw_only=True):
    """The common fields of replica sets, stateful sets, daemon sets and batch jobs."""

    replicas: int | None = None
    parallelism: int | None = None
    selector: LabelSelector | None = None


class WorkloadStatus(ApiStruct, frozen=True, kw_only=True):
    """The status of a workload; stateful sets have a current revision."""

    update_revision: str = ""


class Workload(ApiObject, frozen=True, kw_only=True):
    """A controller of pods that are not part of a vcjob."""

    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()


class ClaimSpec(ApiStruct, frozen=True, kw_only=True):
    """The storage that a claim requests."""

    access_modes: list[str] = []
    resources: JsonObject = {}
    storage_class_name: str | None = None
    volume_name: str = ""
    volume_mode: str | None = None
    selector: LabelSelector | None = None


class ClaimStatus(ApiStruct, frozen=True, kw_only=True):
    """The phase of a claim: Pending, Bound or Lost."""

    phase: str = ""


class PersistentVolumeClaim(ApiObject, frozen=True, kw_only=True):
    """A claim on storage."""

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class PersistentVolumeSpec(ApiStruct, frozen=True, kw_only=True):
    """The capacity of a volume, and the nodes that can reach it."""

    capacity: ResourceList = {}
    access_modes: list[str] = []
    storage_class_name: str = ""
    claim_ref: JsonObject | None = None
    node_affinity: JsonObject | None = None
    volume_mode: str | None = None
    csi: JsonObject | None = None


class PersistentVolumeStatus(ApiStruct, frozen=True, kw_only=True):
    """The phase of a volume: Available, Bound, Released or Failed."""

    phase: str = ""


class PersistentVolume(ApiObject, frozen=True, kw_only=True):
    """Storage of the cluster, with the claim that it is bound to and the nodes that reach it."""

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class StorageClass(ApiObject, frozen=True, kw_only=True):
    """How volumes are provisioned, and whether binding waits for the first consumer."""

    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[JsonObject] = []


class DriverAllocatable(ApiStruct, frozen=True, kw_only=True):
    """How many volumes of a driver can be attached to a node; None for no limit."""

    count: int | None = None


class NodeDriver(ApiStruct, frozen=True, kw_only=True):
    """A storage driver on a node."""

    name: str
    allocatable: DriverAllocatable | None = None


class CSINodeSpec(ApiStruct, frozen=True, kw_only=True):
    """The storage drivers of a node."""

    drivers: list[NodeDriver] = []


class CSINode(ApiObject, frozen=True, kw_only=True):
    """Storage driver information of the node with the same name."""

    spec: CSINodeSpec = CSINodeSpec()


class ResourceQuotaSpec(ApiStruct, frozen=True, kw_only=True):
    """The limits of a namespace."""

    hard: ResourceList = {}
    scopes: list[str] = []
    scope_selector: JsonObject | None = None


class ResourceQuotaStatus(ApiStruct, frozen=True, kw_only=True):
    """The usage against these limits."""

    hard: ResourceList = {}
    used: ResourceList = {}


class ResourceQuota(ApiObject, frozen=True, kw_only=True):
    """The resource quota of a namespace."""

    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class PodDisruptionBudgetSpec(ApiStruct, frozen=True, kw_only=True):
    """The pods that a disruption budget protects."""

    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(ApiStruct, frozen=True, kw_only=True):
    """How many of them may be disrupted now."""

    disruptions_allowed: int = 0


class PodDisruptionBudget(ApiObject, frozen=True, kw_only=True):
    """A limit on evictions."""

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class ConfigMap(ApiObject, frozen=True, kw_only=True):
    """A ConfigMap; the watcher follows only those in our own namespace."""

    data: dict[str, str] = {}


class LeaseSpec(ApiStruct, frozen=True, kw_only=True):
    """The holder of a lease and its times."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(ApiObject, frozen=True, kw_only=True):
    """A lease for leader election."""

    spec: LeaseSpec = LeaseSpec()
