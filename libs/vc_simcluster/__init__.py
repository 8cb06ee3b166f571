"""The embedded cluster: an API server small enough to embed, with simulated nodes.

For trying, testing and simulating. `store` keeps versions and history, `api` is the Kubernetes
verbs over it (defaults, validation, admission, garbage collection), `nodes` plays kubelet, `http`
is the face that kubectl sees. `StoreCluster` is the in-memory twin of `vc_cluster.Cluster`.
"""

from vc_simcluster.api import Api, ObjectPage
from vc_simcluster.cluster import StoreCluster
from vc_simcluster.identity import seeded_uids
from vc_simcluster.kubelet import Timings
from vc_simcluster.node_pools import NodePool, read_pools
from vc_simcluster.nodes import SimulatedNodes
from vc_simcluster.registry import Registry, Resource, load_crds

__all__ = [
    "Api",
    "NodePool",
    "ObjectPage",
    "Registry",
    "Resource",
    "SimulatedNodes",
    "StoreCluster",
    "Timings",
    "load_crds",
    "read_pools",
    "seeded_uids",
]
