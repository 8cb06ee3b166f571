"""The way to the Kubernetes API: one interface, the real thing, and the embedded cluster's store.

`Cluster` is what shells hold. `KubernetesCluster` speaks HTTP to any API server; the store of
`vc_simcluster` is the in-memory twin. Both pass `tests/contracts/cluster`.
"""

from vc_cluster.errors import (
    AlreadyExistsError,
    ClusterError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NoDateError,
    NotFoundError,
    ServerError,
    TooManyRequestsError,
    UnavailableError,
)
from vc_cluster.interface import Cluster, ListPage, Preconditions, WatchEvent

__all__ = [
    "AlreadyExistsError",
    "Cluster",
    "ClusterError",
    "ConflictError",
    "ForbiddenError",
    "GoneError",
    "InvalidError",
    "ListPage",
    "NoDateError",
    "NotFoundError",
    "Preconditions",
    "ServerError",
    "TooManyRequestsError",
    "UnavailableError",
    "WatchEvent",
]
