"""The table of all kinds: API path, struct and topic."""

from typing import Final

import msgspec

from vc.model.api import job, kubernetes, node, pod, scheduling
from vc.model.api.meta import ApiObject, ObjectMeta, OwnerReference, controller_of, group_of_version


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A resource of the API server."""

    short: str
    """Our name of the kind: topics are `cluster.<short>`."""
    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    type: type[ApiObject]
    optional: bool = False
    """If the cluster does not serve the kind, or we may not read it,
    it counts as having no objects.
    """

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def topic(self) -> str:
        return f"cluster.{self.short}"

    def is_kind_of(self, owner: OwnerReference | None) -> bool:
        """Whether a reference is to an object of this kind.
        The group decides too, because `Job` is also a kind of batch/v1.
        """
        return (
            owner is not None
            and owner.kind == self.kind
            and group_of_version(owner.api_version) == self.group
        )

    def controls(self, metadata: ObjectMeta, *, uid: str) -> bool:
        """Whether the object of this kind and uid is the controller;
        group, kind and uid are compared.
        """
        owner = controller_of(metadata)
        return owner is not None and owner.uid == uid and self.is_kind_of(owner)

    def path(self, namespace: str = "", name: str = "") -> str:
        """The URL path of the collection or of one object."""
        prefix = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{prefix}{scope}/{self.plural}" + (f"/{name}" if name else "")


def _kind(
    short: str,
    api_version: str,
    kind: str,
    decoded: type[ApiObject],
    *,
    namespaced: bool = True,
    plural: str = "",
    optional: bool = False,
) -> Kind:
    group, _, version = api_version.rpartition("/")
    return Kind(
        short=short,
        group=group,
        version=version,
        kind=kind,
        plural=plural or short,
        namespaced=namespaced,
        type=decoded,
        optional=optional,
    )


_BATCH: Final = "batch.volcano.sh/v1alpha1"
_SCHEDULING: Final = "scheduling.volcano.sh/v1beta1"

JOBS: Final = _kind("jobs", _BATCH, "Job", job.Job)
COMMANDS: Final = _kind("commands", "bus.volcano.sh/v1alpha1", "Command", job.Command)
PODGROUPS: Final = _kind("podgroups", _SCHEDULING, "PodGroup", scheduling.PodGroup)
QUEUES: Final = _kind("queues", _SCHEDULING, "Queue", scheduling.Queue, namespaced=False)
PODS: Final = _kind("pods", "v1", "Pod", pod.Pod)
NODES: Final = _kind("nodes", "v1", "Node", node.Node, namespaced=False)
NAMESPACES: Final = _kind("namespaces", "v1", "Namespace", kubernetes.Namespace, namespaced=False)
CONFIGMAPS: Final = _kind("configmaps", "v1", "ConfigMap", kubernetes.ConfigMap)
PRIORITYCLASSES: Final = _kind(
    "priorityclasses",
    "scheduling.k8s.io/v1",
    "PriorityClass",
    scheduling.PriorityClass,
    namespaced=False,
)
REPLICASETS: Final = _kind("replicasets", "apps/v1", "ReplicaSet", kubernetes.Workload)
STATEFULSETS: Final = _kind("statefulsets", "apps/v1", "StatefulSet", kubernetes.Workload)
DAEMONSETS: Final = _kind("daemonsets", "apps/v1", "DaemonSet", kubernetes.Workload)
BATCHJOBS: Final = _kind("batchjobs", "batch/v1", "Job", kubernetes.Workload, plural="jobs")
CLAIMS: Final = _kind(
    "persistentvolumeclaims", "v1", "PersistentVolumeClaim", kubernetes.PersistentVolumeClaim
)
VOLUMES: Final = _kind(
    "persistentvolumes", "v1", "PersistentVolume", kubernetes.PersistentVolume, namespaced=False
)
STORAGECLASSES: Final = _kind(
    "storageclasses",
    "storage.k8s.io/v1",
    "StorageClass",
    kubernetes.StorageClass,
    namespaced=False,
)
CSINODES: Final = _kind(
    "csinodes",
    "storage.k8s.io/v1",
    "CSINode",
    kubernetes.CSINode,
    namespaced=False,
    optional=True,
)
QUOTAS: Final = _kind("resourcequotas", "v1", "ResourceQuota", kubernetes.ResourceQuota)
BUDGETS: Final = _kind(
    "poddisruptionbudgets", "policy/v1", "PodDisruptionBudget", kubernetes.PodDisruptionBudget
)

WATCHED: Final[tuple[Kind, ...]] = (
    JOBS, PODGROUPS, PODS, NODES, QUEUES, COMMANDS, PRIORITYCLASSES, NAMESPACES, REPLICASETS,
    STATEFULSETS, DAEMONSETS, BATCHJOBS, CLAIMS, VOLUMES, STORAGECLASSES, CSINODES, QUOTAS, BUDGETS,
    CONFIGMAPS,
)  # fmt: skip
"""The kinds that the watcher reads, each published on its own topic."""

# Kinds that are written or read directly, but never published on the bus.
LEASES: Final = _kind("leases", "coordination.k8s.io/v1", "Lease", kubernetes.Lease)
EVENTS: Final = _kind("events", "v1", "Event", ApiObject)
SERVICES: Final = _kind("services", "v1", "Service", ApiObject)
ACCESS_REVIEWS: Final = _kind(
    "subjectaccessreviews",
    "authorization.k8s.io/v1",
    "SubjectAccessReview",
    ApiObject,
    namespaced=False,
)
"""Not stored: creating one checks whether a user may perform an action."""
SECRETS: Final = _kind("secrets", "v1", "Secret", ApiObject)
NETWORKPOLICIES: Final = _kind(
    "networkpolicies", "networking.k8s.io/v1", "NetworkPolicy", ApiObject
)
TOKENREVIEWS: Final = _kind(
    "tokenreviews", "authentication.k8s.io/v1", "TokenReview", ApiObject, namespaced=False
)
CRONJOBS: Final = _kind("cronjobs", _BATCH, "CronJob", job.CronJob)
JOBFLOWS: Final = _kind("jobflows", "flow.volcano.sh/v1alpha1", "JobFlow", job.JobFlow)
JOBTEMPLATES: Final = _kind(
    "jobtemplates", "flow.volcano.sh/v1alpha1", "JobTemplate", job.JobTemplate
)
HYPERNODES: Final = _kind(
    "hypernodes",
    "topology.volcano.sh/v1alpha1",
    "HyperNode",
    scheduling.HyperNode,
    namespaced=False,
)

BY_TOPIC: Final[dict[str, Kind]] = {kind.topic: kind for kind in WATCHED}
