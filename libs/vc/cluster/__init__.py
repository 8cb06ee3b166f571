"""Access to the Kubernetes API: one interface, an HTTP client, and an in-memory twin.

Shells use `Cluster`. `KubernetesCluster` is an HTTP client for any API server; the store of
`vc.simcluster` is the in-memory twin. Both pass `tests/contracts/cluster`.
"""

from vc.cluster.errors import (
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
from vc.cluster.interface import Cluster, ListPage, Preconditions, WatchEvent

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
