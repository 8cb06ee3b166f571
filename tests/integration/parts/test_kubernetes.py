"""A real API server with KWOK's nodes: rights, pods that run and end, garbage collection, restarts."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.integration.parts.require import eventually, require
from vc.parts import ControlPlane, KwokServer, User, fake_node, obtain
from vc.parts.kwok_stages import DELAY_ANNOTATION, EXIT_CODE_ANNOTATION

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
]

KUBECTL_SECONDS_MAX = 30.0


class Kubectl:
    """Runs kubectl with one kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        self._command = [str(obtain("kubectl").path), "--kubeconfig", str(kubeconfig)]

    async def run(
        self, *arguments: str, document: object = None
    ) -> subprocess.CompletedProcess[str]:
        """The outcome, good or bad; a document goes to standard input as JSON."""
        return await asyncio.to_thread(self._run, arguments, document)

    def _run(
        self, arguments: tuple[str, ...], document: object
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command + list(arguments),
            input=json.dumps(document) if document else None,
            capture_output=True,
            text=True,
            timeout=KUBECTL_SECONDS_MAX,
            check=False,
        )

    async def create(self, document: object) -> None:
        """Creates one object."""
        done = await self.run("create", "-f", "-", document=document)
        assert done.returncode == 0, done.stderr

    async def get(self, *arguments: str) -> dict[str, Any]:
        """An object or list; empty when it is not there."""
        done = await self.run("get", *arguments, "--ignore-not-found", "-o", "json")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
        return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plane() -> AsyncIterator[ControlPlane]:
    require("kubernetes", "kubectl", own=True)
    async with ControlPlane(users=[User(name="nobody")], audit=True) as started:
        yield started


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kubectl(plane: ControlPlane) -> AsyncIterator[Kubectl]:
    """An administrator's kubectl on a cluster with one fake node, n1."""
    require("kwok")
    async with KwokServer(plane.kubeconfig):
        client = Kubectl(plane.kubeconfig)
        await client.create(fake_node("n1", cpu="4"))

        async def ready() -> bool:
            conditions = (await client.get("node", "n1"))["status"].get("conditions", [])
            return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)

        await eventually(ready, "node n1 is Ready")
        yield client


def pod(name: str, **annotations: str) -> dict[str, object]:
    """A pod that is bound to n1 from the start."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "nodeName": "n1",
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "none"}],
        },
    }


async def reaches_phase(kubectl: Kubectl, name: str, phase: str) -> None:
    """Waits for the pod's phase."""

    async def holds() -> bool:
        found = await kubectl.get("pod", name)
        return bool(found.get("status", {}).get("phase") == phase)

    await eventually(holds, f"pod {name} is {phase}")


async def test_the_server_says_its_version_and_has_its_namespaces(
    plane: ControlPlane, kubectl: Kubectl
) -> None:
    version = json.loads((await kubectl.run("version", "-o", "json")).stdout)
    assert version["serverVersion"]["gitVersion"] == "v1.35.4"
    names = {item["metadata"]["name"] for item in (await kubectl.get("namespaces"))["items"]}
    assert {"default", "kube-system"} <= names


async def test_rights_are_checked(plane: ControlPlane, kubectl: Kubectl) -> None:
    nobody = Kubectl(plane.kubeconfig_for("nobody"))
    done = await nobody.run("get", "pods")
    assert done.returncode == 1
    assert 'User "nobody" cannot list resource "pods"' in done.stderr


async def test_a_fake_node_keeps_its_capacity_and_has_no_taint(kubectl: Kubectl) -> None:
    node = await kubectl.get("node", "n1")
    assert node["status"]["allocatable"]["cpu"] == "4"
    assert "taints" not in node["spec"]


async def test_a_bound_pod_runs_and_vanishes_when_deleted(kubectl: Kubectl) -> None:
    await kubectl.create(pod("runs"))
    await reaches_phase(kubectl, "runs", "Running")
    done = await kubectl.run("delete", "pod", "runs")
    assert done.returncode == 0, done.stderr
    assert await kubectl.get("pod", "runs") == {}


async def test_pods_end_after_the_delay_with_the_code_that_annotations_tell(
    kubectl: Kubectl,
) -> None:
    await kubectl.create(pod("succeeds", **{DELAY_ANNOTATION: "1s"}))
    await kubectl.create(pod("fails", **{DELAY_ANNOTATION: "1s", EXIT_CODE_ANNOTATION: "3"}))
    await reaches_phase(kubectl, "succeeds", "Succeeded")
    await reaches_phase(kubectl, "fails", "Failed")
    status = (await kubectl.get("pod", "fails"))["status"]["containerStatuses"][0]
    assert status["state"]["terminated"]["exitCode"] == 3


async def test_a_deployment_makes_pods_and_garbage_collection_takes_them(kubectl: Kubectl) -> None:
    done = await kubectl.run("create", "deployment", "web", "--image=none", "--replicas=2")
    assert done.returncode == 0, done.stderr

    async def pods(count: int) -> bool:
        found = await kubectl.get("pods", "-l", "app=web")
        return len(found.get("items", [])) == count

    await eventually(lambda: pods(2), "the deployment has two pods")
    await kubectl.run("delete", "deployment", "web")
    await eventually(lambda: pods(0), "its pods are gone")


async def test_objects_survive_a_restart_of_server_and_store(
    plane: ControlPlane, kubectl: Kubectl
) -> None:
    done = await kubectl.run("create", "configmap", "kept", "--from-literal=a=b")
    assert done.returncode == 0, done.stderr
    await plane.etcd.process.kill()
    await plane.etcd.process.restart()
    await plane.apiserver.restart()
    assert (await kubectl.get("configmap", "kept"))["data"] == {"a": "b"}


async def test_requests_can_be_counted_in_the_audit_log(
    plane: ControlPlane, kubectl: Kubectl
) -> None:
    assert plane.audit_log is not None
    await kubectl.create(pod("counted"))

    async def counted() -> bool:
        return len(created_pods(plane.audit_log, "counted")) == 1

    await eventually(counted, "the creation is in the audit log")


def created_pods(audit_log: Path | None, name: str) -> list[dict[str, Any]]:
    """The audit events that created pods of this name."""
    assert audit_log is not None
    events: list[dict[str, Any]] = [json.loads(line) for line in audit_log.read_text().splitlines()]
    creations = [event for event in events if event["verb"] == "create"]
    wanted = ("pods", name)
    found = []
    for event in creations:
        target = event.get("objectRef", {})
        if (target.get("resource"), target.get("name")) == wanted:
            found.append(event)
    return found
