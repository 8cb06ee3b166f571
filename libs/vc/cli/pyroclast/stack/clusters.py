"""The API server of a stack: the embedded cluster in its own process, or a real control plane.

A real control plane is etcd, kube-apiserver and kube-controller-manager, with KWOK as the kubelet
of fake nodes. CRDs and the namespace are created here, as the chart does elsewhere. A `given`
cluster (by KUBECONFIG) is used as it is: nothing is installed into a user's cluster.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from vc.cli.pyroclast.processes import Child
from vc.cli.pyroclast.stack.members import OwnMember, PartMember
from vc.cli.pyroclast.stack.plan import inherited_by
from vc.cli.pyroclast.stack.servers import FOLDER
from vc.cli.pyroclast.stack.supervision import Supervisor
from vc.cluster import AlreadyExistsError, Cluster
from vc.model.api.keys import SYSTEM_NAMESPACE
from vc.model.api.kinds import NAMESPACES, NODES, Kind
from vc.model.api.meta import ApiObject
from vc.model.api.struct import JsonObject
from vc.parts import ControlPlane, KwokServer, availability_of, fake_node
from vc.parts.errors import PartMissingError
from vc.simcluster.kubelet.node_pools import DEFAULT_POOLS, NodePool
from vc.simcluster.schema.registry import crd_folder, load_crds

CLUSTERS: Final = ("embedded", "kubernetes", "given")
EMBEDDED, KUBERNETES, GIVEN = CLUSTERS

_DEFINITIONS: Final = Kind(
    short="customresourcedefinitions",
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    namespaced=False,
    type=ApiObject,
)


async def start_cluster(
    which: str, *, home: Path, supervisor: Supervisor, api_port: int, arguments: list[str]
) -> Path:
    """Start the cluster and return its kubeconfig.

    `arguments` are for the embedded cluster only.
    """
    if which == EMBEDDED:
        return await _embedded(home, supervisor, api_port=api_port, arguments=arguments)
    if which == KUBERNETES:
        return await _kubernetes(home, supervisor)
    return _given()


def _given() -> Path:
    return Path(os.environ["KUBECONFIG"]).absolute()


async def _embedded(
    home: Path, supervisor: Supervisor, *, api_port: int, arguments: list[str]
) -> Path:
    kubeconfig = home / "kubeconfig"
    command = [sys.executable, "-m", "vc.cli.pyroclast.main", "simcluster", "--port", str(api_port)]
    child = Child(
        "simcluster",
        command + ["--kubeconfig", str(kubeconfig)] + arguments,
        # Only what a program needs: variables of the caller must not change the cluster.
        env=inherited_by(os.environ),
        log=home / "logs" / "simcluster.log",
    )
    await supervisor.start(OwnMember(child, role="cluster", port=api_port))
    return kubeconfig


async def _kubernetes(home: Path, supervisor: Supervisor) -> Path:
    # Checked before anything starts: without KWOK the control plane would have no nodes.
    for part in ("kubernetes", "kwok"):
        found = availability_of(part, own=True)
        if not found.is_now:
            raise PartMissingError(f"CLUSTER={KUBERNETES} needs {part}. {found.why}")
    plane = ControlPlane(folder=home / FOLDER / "kubernetes")
    await plane.start()
    # etcd and the controller manager are supervised as well as the API server.
    for process in plane.processes:
        port = plane.port if process is plane.apiserver else 0
        supervisor.take(PartMember(process, role="cluster", port=port))
    kwok = KwokServer(plane.kubeconfig, folder=home / FOLDER / "kwok")
    await kwok.start()
    # The supervisor restarts KWOK as well, because without it no pod would run.
    supervisor.take(PartMember(kwok.process, role="cluster"))
    await create_initial_objects(plane.kubeconfig)
    return plane.kubeconfig


async def create_initial_objects(
    kubeconfig: Path, pools: Sequence[NodePool] = DEFAULT_POOLS, *, definitions: bool = True
) -> None:
    """Create the CRDs (unless they are installed otherwise), the namespace and some nodes."""
    from vc.cluster.kubernetes import connect

    cluster = await connect(service="stack", kubeconfig=str(kubeconfig))
    try:
        # CRDs first: the services list their kinds as soon as they start.
        for definition in load_crds(crd_folder()) if definitions else ():
            await _ensure(cluster, _DEFINITIONS, definition)
        namespace: JsonObject = {
            "apiVersion": NAMESPACES.api_version,
            "kind": NAMESPACES.kind,
            "metadata": {"name": SYSTEM_NAMESPACE},
        }
        await _ensure(cluster, NAMESPACES, namespace)
        for pool in pools:
            for number in range(pool.count):
                await _ensure(cluster, NODES, _fake_node(pool, number))
    finally:
        await cluster.close()


def _fake_node(pool: NodePool, number: int) -> JsonObject:
    """A node for KWOK with the capacity of the embedded cluster's nodes, so that examples fit
    both.
    """
    node: JsonObject = dict(fake_node(f"{pool.name_prefix}{number}"))
    return {**node, "status": {"capacity": pool.capacity, "allocatable": pool.capacity}}


async def _ensure(cluster: Cluster, kind: Kind, body: JsonObject) -> None:
    try:
        await cluster.create(kind, body)
    except AlreadyExistsError:
        return
