"""The users' own manifests, all services, virtual time: each job ends where its document says.

What is looked at are the pods as the API server has them: their variables, mounts, host names and
services, and that whatever a command refers to is there.
"""

from functools import partial
from typing import Any

import msgspec
import pytest

from tests.simulation.seeds import (
    FOLDER,
    GROUND,
    KINDS,
    SEEDS,
    Seed,
    check_pod,
    check_service,
    documents,
)
from tests.simulation.stack import CORE, Stack
from vc.cli.pyroclast.services import SERVICES
from vc.clock import run_virtual
from vc.messages.topics import PLUGINS
from vc.model.api import kinds
from vc.model.api.keys import JOB_NAME
from vc.model.api.kinds import Kind
from vc.model.api.struct import JsonObject
from vc.validation.offline import validate_documents

ALL_PLUGINS = tuple(f"plugin-{name}" for name in PLUGINS)


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
                check_pod(partial(read, stack), seed, pod)
            if seed.has_service:
                check_service(partial(read, stack), seed, pods)
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
