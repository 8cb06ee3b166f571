"""The users' own manifests and what their documents promise, for whatever cluster they run on."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import yaml

from vc.model.api import kinds
from vc.model.api.kinds import Kind
from vc.model.api.struct import JsonObject

FOLDER = Path(__file__).parents[2] / "examples" / "seeds"
GROUND = "01-ground.yaml"

Read = Callable[[Kind, str, str], JsonObject]
"""An object of a kind, by name and namespace, as the API server has it."""

KINDS: dict[str, Kind] = {
    kind.kind: kind
    for kind in (
        kinds.NAMESPACES,
        kinds.QUEUES,
        kinds.PRIORITYCLASSES,
        kinds.PODGROUPS,
        kinds.JOBS,
    )
}
_REFERENCE = re.compile(r"(?<!\$)\$[({]([A-Za-z_][A-Za-z0-9_]*)[)}]")


class Seed(msgspec.Struct, frozen=True, kw_only=True):
    """A job and what its document promises."""

    file: str
    namespace: str = "default"
    phase: str
    pods: int
    """Made at the first go."""
    kept: frozenset[str] | None = None
    """Pods that are there when the phase is reached; None: all."""
    variables: dict[str, dict[str, str]] = {}
    """Pod to some of its variables, resolved."""
    mounts: frozenset[str] = frozenset()
    """Paths in every container of ours."""
    has_service: bool = True

    @property
    def job(self) -> str:
        return self.file.removesuffix(".yaml").partition("-")[2]


SSH = "/root/.ssh"
HOSTS = "/etc/volcano"
TORCH = {"MASTER_ADDR": "torchrun-gang-master-0.torchrun-gang", "MASTER_PORT": "23456"}

SEEDS = [
    Seed(
        file="02-distributed-training.yaml",
        namespace="ml-training",
        phase="Completed",
        pods=4,
        variables={
            "distributed-training-worker-2": {
                "VC_MASTER_HOST": "distributed-training-master-0.distributed-training",
                "VC_WORKER_NUM": "3",
                "VC_TASK_INDEX": "2",
                "VK_TASK_INDEX": "2",
                "VC_TASK_NUM": "3",
            }
        },
        mounts=frozenset({SSH, HOSTS, "/dev/shm"}),
    ),
    Seed(file="03-urgent-training.yaml", phase="Running", pods=2, has_service=False),
    Seed(
        file="05-tf-training.yaml",
        phase="Completed",
        pods=5,
        variables={
            "tf-training-worker-3": {
                "VK_TASK_INDEX": "3",
                "VK_TASK_NUM": "4",
                "VC_PS_HOSTS": "tf-training-ps-0.tf-training",
            }
        },
        mounts=frozenset({SSH, HOSTS}),
    ),
    Seed(file="06-mpi-job.yaml", phase="Running", pods=8, has_service=False),
    Seed(
        file="07-pytorch-ddp.yaml",
        phase="Completed",
        pods=4,
        variables={"pytorch-ddp-worker-1": {"VC_TASK_INDEX": "1", "VC_WORKER_NUM": "4"}},
        mounts=frozenset({HOSTS}),
    ),
    Seed(file="08-spark-job.yaml", phase="Running", pods=5, has_service=False),
    Seed(
        file="09-torchrun-gang.yaml",
        namespace="ml",
        phase="Completed",
        pods=3,
        kept=frozenset({"torchrun-gang-master-0"}),
        variables={
            "torchrun-gang-master-0": {**TORCH, "RANK": "0", "WORLD_SIZE": "3"},
            "torchrun-gang-worker-1": {**TORCH, "RANK": "2", "WORLD_SIZE": "3"},
        },
        mounts=frozenset({HOSTS}),
    ),
    Seed(
        file="10-mpi-gang.yaml",
        namespace="ml",
        phase="Completed",
        pods=3,
        kept=frozenset({"mpi-gang-mpimaster-0"}),
        variables={
            "mpi-gang-mpimaster-0": {
                "MPI_HOST": "mpi-gang-mpiworker-0.mpi-gang,mpi-gang-mpiworker-1.mpi-gang"
            }
        },
        mounts=frozenset({SSH, HOSTS}),
    ),
]


def documents(file: str) -> list[JsonObject]:
    return list(yaml.safe_load_all((FOLDER / file).read_text()))


def containers(pod: JsonObject) -> Iterator[JsonObject]:
    yield from pod["spec"]["containers"]
    yield from pod["spec"].get("initContainers") or []


def resolved(read: Read, pod: JsonObject, container: JsonObject) -> dict[str, str]:
    """Variables with what they refer to; a missing ConfigMap or key is an error."""
    values: dict[str, str] = {}
    for variable in container.get("env", []):
        name = variable["name"]
        if "valueFrom" not in variable:
            values[name] = variable["value"]
            continue
        reference = variable["valueFrom"]["configMapKeyRef"]
        namespace = pod["metadata"]["namespace"]
        held = read(kinds.CONFIGMAPS, reference["name"], namespace)
        values[name] = held["data"][reference["key"]]
    return values


def check_pod(read: Read, seed: Seed, pod: JsonObject) -> None:
    name = pod["metadata"]["name"]
    volumes = {volume["name"] for volume in pod["spec"].get("volumes", [])}
    for container in containers(pod):
        values = resolved(read, pod, container)
        for text in (*container.get("command", []), *container.get("args", [])):
            for reference in _REFERENCE.findall(text):
                assert reference in values, f"{name}: {text}"
        mounts = container.get("volumeMounts", [])
        assert {mount["mountPath"] for mount in mounts} >= seed.mounts, name
        assert {mount["name"] for mount in mounts} <= volumes, name
        for variable, value in seed.variables.get(name, {}).items():
            assert values[variable] == value, f"{name}: {variable}"
    for volume in pod["spec"].get("volumes", []):
        check_volume(read, volume, pod["metadata"]["namespace"])
    if seed.has_service:
        assert pod["spec"]["hostname"] == name
        assert pod["spec"]["subdomain"] == seed.job


def check_volume(read: Read, volume: JsonObject, namespace: str) -> None:
    """What a volume takes its files from is there, and has the files."""
    if "secret" in volume:
        held = read(kinds.SECRETS, volume["secret"]["secretName"], namespace)
        assert {item["key"] for item in volume["secret"]["items"]} <= held["data"].keys()
    if "configMap" in volume:
        assert read(kinds.CONFIGMAPS, volume["configMap"]["name"], namespace)["data"]


def check_service(read: Read, seed: Seed, pods: dict[str, JsonObject]) -> None:
    """The headless Service of the job's name selects exactly the job's pods."""
    service = read(kinds.SERVICES, seed.job, seed.namespace)["spec"]
    assert service["clusterIP"] == "None"
    for pod in pods.values():
        assert service["selector"].items() <= pod["metadata"]["labels"].items()
    assert read(kinds.NETWORKPOLICIES, seed.job, seed.namespace)
