"""The users' own manifests, all services, virtual time: each job ends where its document says.

What is looked at are the pods as the API server has them: their variables, mounts, host names and
services, and that whatever a command refers to is there.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.simulation.stack import CORE, Stack
from vc_admission.logic.offline import validate_documents
from vc_cli.services import SERVICES
from vc_clock import run_virtual
from vc_messages.topics import PLUGINS
from vc_model import kinds
from vc_model.keys import JOB_NAME
from vc_model.kinds import Kind
from vc_model.struct import JsonObject

FOLDER = Path(__file__).parents[2] / "examples" / "seeds"
GROUND = "01-ground.yaml"
ALL_PLUGINS = tuple(f"plugin-{name}" for name in PLUGINS)

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


def read(stack: Stack, kind: Kind, name: str, namespace: str) -> JsonObject:
    """An object as the API server has it."""
    return stack.api.get(stack.api.registry.for_kind(kind), name=name, namespace=namespace)


def pods_of(stack: Stack, seed: Seed) -> dict[str, JsonObject]:
    resource = stack.api.registry.for_kind(kinds.PODS)
    found = [msgspec.json.decode(raw) for raw in stack.api.list(resource).items]
    return {
        pod["metadata"]["name"]: pod
        for pod in found
        if pod["metadata"]["labels"].get(JOB_NAME) == seed.job
    }


def containers(pod: JsonObject) -> Iterator[JsonObject]:
    yield from pod["spec"]["containers"]
    yield from pod["spec"].get("initContainers") or []


def resolved(stack: Stack, pod: JsonObject, container: JsonObject) -> dict[str, str]:
    """Variables with what they refer to; a missing ConfigMap or key is an error."""
    values: dict[str, str] = {}
    for variable in container.get("env", []):
        name = variable["name"]
        if "valueFrom" not in variable:
            values[name] = variable["value"]
            continue
        reference = variable["valueFrom"]["configMapKeyRef"]
        namespace = pod["metadata"]["namespace"]
        held = read(stack, kinds.CONFIGMAPS, reference["name"], namespace)
        values[name] = held["data"][reference["key"]]
    return values


def check_pod(stack: Stack, seed: Seed, pod: JsonObject) -> None:
    name = pod["metadata"]["name"]
    volumes = {volume["name"] for volume in pod["spec"].get("volumes", [])}
    for container in containers(pod):
        values = resolved(stack, pod, container)
        for text in (*container.get("command", []), *container.get("args", [])):
            for reference in _REFERENCE.findall(text):
                assert reference in values, f"{name}: {text}"
        mounts = container.get("volumeMounts", [])
        assert {mount["mountPath"] for mount in mounts} >= seed.mounts, name
        assert {mount["name"] for mount in mounts} <= volumes, name
        for variable, value in seed.variables.get(name, {}).items():
            assert values[variable] == value, f"{name}: {variable}"
    for volume in pod["spec"].get("volumes", []):
        check_volume(stack, volume, pod["metadata"]["namespace"])
    if seed.has_service:
        assert pod["spec"]["hostname"] == name
        assert pod["spec"]["subdomain"] == seed.job


def check_volume(stack: Stack, volume: JsonObject, namespace: str) -> None:
    """What a volume takes its files from is there, and has the files."""
    if "secret" in volume:
        held = read(stack, kinds.SECRETS, volume["secret"]["secretName"], namespace)
        assert {item["key"] for item in volume["secret"]["items"]} <= held["data"].keys()
    if "configMap" in volume:
        assert read(stack, kinds.CONFIGMAPS, volume["configMap"]["name"], namespace)["data"]


def check_service(stack: Stack, seed: Seed, pods: dict[str, JsonObject]) -> None:
    """The headless Service of the job's name selects exactly the job's pods."""
    service = read(stack, kinds.SERVICES, seed.job, seed.namespace)["spec"]
    assert service["clusterIP"] == "None"
    for pod in pods.values():
        assert service["selector"].items() <= pod["metadata"]["labels"].items()
    assert read(stack, kinds.NETWORKPOLICIES, seed.job, seed.namespace)


async def apply(stack: Stack, file: str) -> None:
    for document in documents(file):
        kind = KINDS[document["kind"]]
        namespace = document["metadata"].get("namespace", "default") if kind.namespaced else ""
        await stack.cluster.create(kind, document, namespace=namespace)


def seed_stack() -> Stack:
    return Stack(services=(*CORE, *(name for name in ALL_PLUGINS if name not in CORE)))


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.job)
def test_a_seed_runs_as_its_document_promises(seed: Seed) -> None:
    async def main() -> None:
        async with seed_stack() as stack:
            await apply(stack, GROUND)
            await apply(stack, seed.file)
            await stack.until(
                lambda: stack.job(seed.job, seed.namespace).status.running == seed.pods,
                seconds=60,
                what="all pods run",
            )
            pods = pods_of(stack, seed)
            assert len(pods) == seed.pods
            for pod in pods.values():
                check_pod(stack, seed, pod)
            if seed.has_service:
                check_service(stack, seed, pods)
            await stack.until(
                lambda: stack.job(seed.job, seed.namespace).status.state.phase == seed.phase,
                seconds=120,
                what=seed.phase,
            )
            await stack.clock.sleep(5)
            assert stack.job(seed.job, seed.namespace).status.state.phase == seed.phase
            assert stack.job(seed.job, seed.namespace).status.retry_count == 0
            if seed.kept is not None:
                assert pods_of(stack, seed).keys() == seed.kept
            assert stack.problems == []

    run_virtual(main())


def test_the_mpi_master_restarts_in_its_place_while_the_network_comes_up() -> None:
    seed = SEEDS[-1]

    async def main() -> None:
        async with seed_stack() as stack:
            await apply(stack, GROUND)
            await apply(stack, seed.file)
            await stack.until(
                lambda: stack.job(seed.job, seed.namespace).status.state.phase == "Completed",
                seconds=120,
                what="completed",
            )
            (master,) = pods_of(stack, seed).values()
            (status,) = master["status"]["containerStatuses"]
            assert status["restartCount"] == 1
            assert master["status"]["phase"] == "Succeeded"

    run_virtual(main())


def test_a_pod_group_of_its_own_is_let_in() -> None:
    async def main() -> None:
        async with seed_stack() as stack:
            await apply(stack, GROUND)
            await apply(stack, "04-podgroup.yaml")

            def phase() -> Any:
                group = read(stack, kinds.PODGROUPS, "training-job", "default")
                return group.get("status", {}).get("phase")

            await stack.until(lambda: phase() == "Inqueue", seconds=30, what="let in")

    run_virtual(main())


def test_admission_accepts_every_seed() -> None:
    files = sorted(path.name for path in FOLDER.glob("*.yaml"))
    reports = validate_documents(document for file in files for document in documents(file))
    assert [(report.name, report.problems) for report in reports if report.problems] == []
    assert {seed.file for seed in SEEDS} | {GROUND, "04-podgroup.yaml"} == set(files)


def test_every_plugin_of_ours_is_a_service() -> None:
    assert set(ALL_PLUGINS) == {name for name in SERVICES if name.startswith("plugin-")}
