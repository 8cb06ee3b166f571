"""The API server of a stack: the embedded cluster in a process of its own, or a real control plane.

The real one is etcd, kube-apiserver and kube-controller-manager, with KWOK as the kubelet of fake
nodes. Our definitions and our namespace are put into it here, as the chart does elsewhere. A cluster
that is `given` (by KUBECONFIG) is used as it is: nothing is installed into somebody's cluster.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from vc_cli.processes import Child
from vc_cli.stack_members import OwnMember, PartMember
from vc_cli.stack_plan import inherited_by
from vc_cli.stack_servers import FOLDER
from vc_cli.stack_supervision import Supervisor
from vc_cluster import AlreadyExistsError, Cluster
from vc_model.keys import SYSTEM_NAMESPACE
from vc_model.kinds import NAMESPACES, NODES, Kind
from vc_model.meta import ApiObject
from vc_model.struct import JsonObject
from vc_parts import ControlPlane, KwokServer, availability_of, fake_node
from vc_parts.errors import PartMissingError
from vc_simcluster.node_pools import DEFAULT_POOLS, NodePool
from vc_simcluster.registry import crd_folder, load_crds

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
    """Start it; gives the kubeconfig. `arguments` go to the embedded cluster only."""
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
    command = [sys.executable, "-m", "vc_cli.pyroclast", "simcluster", "--port", str(api_port)]
    child = Child(
        "simcluster",
        command + ["--kubeconfig", str(kubeconfig)] + arguments,
        env=inherited_by(os.environ),
        log=home / "logs" / "simcluster.log",
    )
    await supervisor.start(OwnMember(child, role="cluster", port=api_port))
    return kubeconfig


async def _kubernetes(home: Path, supervisor: Supervisor) -> Path:
    for part in ("kubernetes", "kwok"):
        found = availability_of(part, own=True)
        if not found.is_now:
            raise PartMissingError(f"CLUSTER={KUBERNETES} needs {part}. {found.why}")
    plane = ControlPlane(folder=home / FOLDER / "kubernetes")
    await plane.start()
    for process in plane.processes:
        port = plane.port if process is plane.apiserver else 0
        supervisor.take(PartMember(process, role="cluster", port=port))
    kwok = KwokServer(plane.kubeconfig, folder=home / FOLDER / "kwok")
    await kwok.start()
    supervisor.take(PartMember(kwok.process, role="cluster"))
    await furnish(plane.kubeconfig)
    return plane.kubeconfig


async def furnish(
    kubeconfig: Path, pools: Sequence[NodePool] = DEFAULT_POOLS, *, definitions: bool = True
) -> None:
    """Our definitions (unless somebody else brings them), our namespace and some nodes."""
    from vc_cluster.kubernetes import connect

    cluster = await connect(service="stack", kubeconfig=str(kubeconfig))
    try:
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
    """A node for KWOK with what the embedded cluster's nodes have, so that examples fit both."""
    node: JsonObject = dict(fake_node(f"{pool.name_prefix}{number}"))
    return {**node, "status": {"capacity": pool.capacity, "allocatable": pool.capacity}}


async def _ensure(cluster: Cluster, kind: Kind, body: JsonObject) -> None:
    try:
        await cluster.create(kind, body)
    except AlreadyExistsError:
        return
