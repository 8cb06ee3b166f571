"""An embedded API server with simulated nodes, for demos, tests and simulations.

`store` keeps objects, versions and history. `verbs` implements the Kubernetes verbs over the store,
with `schema`, `apply`, `webhooks` and `controllers` behind them. `kubelet` simulates nodes. `http`
serves the API to kubectl. `StoreCluster` is the in-memory twin of `vc.cluster.Cluster`.
"""

from vc.simcluster.cluster import StoreCluster
from vc.simcluster.kubelet.kubelet import Timings
from vc.simcluster.kubelet.node_pools import NodePool, read_pools
from vc.simcluster.kubelet.nodes import SimulatedNodes
from vc.simcluster.schema.registry import Registry, Resource, load_crds
from vc.simcluster.store.identity import seeded_uids
from vc.simcluster.verbs.api import Api, ObjectPage

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
