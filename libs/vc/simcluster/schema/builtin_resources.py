"""The built-in resources, as one table."""

from typing import Final

from vc.simcluster.store.resource import CRD_GROUP, EVENTS_GROUP, Resource

_STATUS: Final = frozenset({"status"})
_SCALE: Final = frozenset({"status", "scale"})
_POD: Final = frozenset({"status", "binding", "eviction", "log"})
_ALL: Final = ("all",)


def _row(
    api_version: str,
    kind: str,
    plural: str,
    *,
    short: str = "",
    cluster: bool = False,
    subresources: frozenset[str] = frozenset(),
    categories: tuple[str, ...] = (),
) -> Resource:
    group, _, version = api_version.rpartition("/")
    return Resource(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        namespaced=not cluster,
        short_names=tuple(short.split()),
        categories=categories,
        subresources=subresources,
        storage_version=version,
    )


_RBAC: Final = "rbac.authorization.k8s.io/v1"
_HOOKS: Final = "admissionregistration.k8s.io/v1"

NAMESPACES: Final = _row(
    "v1",
    "Namespace",
    "namespaces",
    short="ns",
    cluster=True,
    subresources=frozenset({"status", "finalize"}),
)
PODS: Final = _row("v1", "Pod", "pods", short="po", subresources=_POD, categories=_ALL)
NODES: Final = _row("v1", "Node", "nodes", short="no", cluster=True, subresources=_STATUS)
SERVICES: Final = _row(
    "v1",
    "Service",
    "services",
    short="svc",
    subresources=frozenset({"status", "proxy"}),
    categories=_ALL,
)
VOLUMES: Final = _row(
    "v1", "PersistentVolume", "persistentvolumes", short="pv", cluster=True, subresources=_STATUS
)
CLAIMS: Final = _row(
    "v1", "PersistentVolumeClaim", "persistentvolumeclaims", short="pvc", subresources=_STATUS
)
STORAGE_CLASSES: Final = _row(
    "storage.k8s.io/v1", "StorageClass", "storageclasses", short="sc", cluster=True
)
EVENTS: Final = _row("v1", "Event", "events", short="ev")
EVENTS_V1: Final = _row(f"{EVENTS_GROUP}/v1", "Event", "events", short="ev")
SECRETS: Final = _row("v1", "Secret", "secrets")
BUDGETS: Final = _row(
    "policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", short="pdb", subresources=_STATUS
)
PRIORITY_CLASSES: Final = _row(
    "scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", short="pc", cluster=True
)
CRDS: Final = _row(
    f"{CRD_GROUP}/v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    short="crd crds",
    cluster=True,
    subresources=_STATUS,
    categories=("api-extensions",),
)

BUILT_INS: Final[tuple[Resource, ...]] = (
    NAMESPACES,
    PODS,
    NODES,
    SERVICES,
    _row("v1", "ConfigMap", "configmaps", short="cm"),
    SECRETS,
    EVENTS,
    EVENTS_V1,
    _row("v1", "ServiceAccount", "serviceaccounts", short="sa"),
    VOLUMES,
    CLAIMS,
    _row("v1", "ResourceQuota", "resourcequotas", short="quota", subresources=_STATUS),
    _row("v1", "LimitRange", "limitranges", short="limits"),
    _row("v1", "Endpoints", "endpoints", short="ep"),
    _row(
        "apps/v1", "Deployment", "deployments", short="deploy", subresources=_SCALE, categories=_ALL
    ),
    _row("apps/v1", "ReplicaSet", "replicasets", short="rs", subresources=_SCALE, categories=_ALL),
    _row(
        "apps/v1", "StatefulSet", "statefulsets", short="sts", subresources=_SCALE, categories=_ALL
    ),
    _row("apps/v1", "DaemonSet", "daemonsets", short="ds", subresources=_STATUS, categories=_ALL),
    _row("batch/v1", "Job", "jobs", subresources=_STATUS, categories=_ALL),
    _row("batch/v1", "CronJob", "cronjobs", short="cj", subresources=_STATUS, categories=_ALL),
    BUDGETS,
    PRIORITY_CLASSES,
    STORAGE_CLASSES,
    _row("storage.k8s.io/v1", "CSINode", "csinodes", cluster=True),
    _row("coordination.k8s.io/v1", "Lease", "leases"),
    _row("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", short="netpol"),
    _row(_RBAC, "Role", "roles"),
    _row(_RBAC, "RoleBinding", "rolebindings"),
    _row(_RBAC, "ClusterRole", "clusterroles", cluster=True),
    _row(_RBAC, "ClusterRoleBinding", "clusterrolebindings", cluster=True),
    _row(_HOOKS, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", cluster=True),
    _row(_HOOKS, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", cluster=True),
    CRDS,
)
