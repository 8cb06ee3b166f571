"""In Volcano's place, and beside it: a real API server that has its definitions and objects already."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.deployment import Deployment
from tests.integration.deploy import volcanos_objects as volcano
from tests.integration.deploy.everything import Everything
from tests.integration.deploy.kubectl import Kubectl
from tests.integration.stack.running import require

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.redis,
    pytest.mark.kubernetes,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("stack"),
]

DEFINITIONS = ("jobs.batch", "podgroups.scheduling", "queues.scheduling")
OPEN_STATUS = "/spec/versions/0/schema/openAPIV3Schema/properties/status"


class Inherited(Deployment):
    """Everything of Volcano's is there before the first of our services starts."""

    def __init__(self, home: Path) -> None:
        super().__init__(home, real=True)
        self.kubectl: Kubectl
        self.uid = ""
        self.pod_uids: set[str] = set()

    async def _accounts(self, admission_port: int) -> dict[str, str]:
        self.kubectl = Kubectl(self.ground.kubeconfig, folder=self.home)
        await asyncio.to_thread(self._leave_objects)
        return await super()._accounts(admission_port)

    def _leave_objects(self) -> None:
        for name in DEFINITIONS:
            # Another version's definition: it has fields in its status that ours has not.
            change = [
                {
                    "op": "add",
                    "path": f"{OPEN_STATUS}/x-kubernetes-preserve-unknown-fields",
                    "value": True,
                }
            ]
            crd = f"{name}.volcano.sh"
            self.kubectl.ok("patch", "crd", crd, "--type=json", "-p", json.dumps(change))
        self.create(volcano.queue())
        self.status("queue", volcano.QUEUE, volcano.queue_status())
        self.uid = self.create(volcano.job())
        self.status("vcjob", volcano.JOB, volcano.job_status())
        self.create(volcano.podgroup(self.uid))
        nodes = ("node-0", "node-1")
        self.pod_uids = {
            self.create(volcano.pod(self.uid, index, node=nodes[index]))
            for index in range(volcano.PODS)
        }

    def create(self, manifest: dict[str, Any]) -> str:
        path = "jsonpath={.metadata.uid}"
        return self.kubectl.ok("create", "-f", "-", "-o", path, given=json.dumps(manifest))

    def status(self, kind: str, name: str, status: dict[str, Any]) -> None:
        patch = json.dumps({"status": status})
        self.kubectl.ok("patch", kind, name, "--subresource=status", "--type=merge", "-p", patch)

    def read(self, kind: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl.ok("get", kind, name, "-o", "json"))
        return found


def check_taken_over(deployment: Inherited) -> None:
    sees = Everything(deployment.kubectl)
    sees.phase(volcano.JOB, "Completed")
    job = deployment.read("vcjob", volcano.JOB)
    assert job["status"]["succeeded"] == volcano.PODS
    assert job["status"].get("retryCount", 0) == 0
    pods = json.loads(deployment.kubectl.ok("get", "pods", "-o", "json"))["items"]
    assert {pod["metadata"]["uid"] for pod in pods} == deployment.pod_uids, "the very same pods"
    sees.until(f"queue/{volcano.QUEUE}", "{.spec.parent}", "root")
    queue = deployment.read("queue", volcano.QUEUE)
    assert queue["metadata"]["annotations"]["example.com/owner"] == "research"
    assert queue["status"]["reservation"] == {"nodes": ["node-0"]}
    kept = {
        "vcjob": job["status"],
        "queue": queue["status"],
    }
    for kind, status in kept.items():
        found = {key: status.get(key) for key in volcano.STRANGE}
        assert found == volcano.STRANGE, f"{kind}: status fields of others"


async def test_a_running_job_of_volcano_goes_on_under_us_and_nothing_unknown_is_lost(
    tmp_path: Path,
) -> None:
    require("kafka", "redis", "kubernetes", "kwok", "kubectl")
    deployment = Inherited(tmp_path)
    try:
        await deployment.start()
        group = f"{volcano.JOB}-{deployment.uid}"
        sees = Everything(deployment.kubectl)
        await asyncio.to_thread(sees.until, f"vcjob/{volcano.JOB}", "{.status.running}", "2")
        status = (await asyncio.to_thread(deployment.read, "podgroup", group))["status"]
        assert {key: status.get(key) for key in volcano.STRANGE} == volcano.STRANGE
        await asyncio.to_thread(check_taken_over, deployment)
    finally:
        await deployment.stop()


# -- beside it -------------------------------------------------------------------------------------

OURS = "pyroclast"
LOOK_SECONDS = 5.0
"""Many sessions: who has not bound a pod by then leaves it alone."""


async def test_beside_volcano_only_pods_that_name_us_are_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our watcher and scheduler alone, under another name; groups and pods are made by others."""
    require("kafka", "redis", "kubernetes", "kwok", "kubectl")
    monkeypatch.setenv("SCHEDULER_NAMES", OURS)
    deployment = Deployment(tmp_path, real=True)
    deployment.chosen = ("watcher", "scheduler")
    try:
        await deployment.start()
        kubectl = Kubectl(deployment.ground.kubeconfig, folder=tmp_path)
        await asyncio.to_thread(make_both, kubectl)
        sees = Everything(kubectl)
        nodes = "{.items[*].status.phase}"
        await asyncio.to_thread(sees.until, "pods -l side=ours", nodes, "Running")
        await asyncio.sleep(LOOK_SECONDS)
        theirs = json.loads(kubectl.ok("get", "pods", "-l", "side=theirs", "-o", "json"))["items"]
        assert len(theirs) == volcano.PODS
        assert [pod["spec"].get("nodeName") for pod in theirs] == [None] * volcano.PODS
        group = json.loads(kubectl.ok("get", "podgroup", "theirs", "-o", "json"))
        said = group.get("status", {})
        assert not said.get("conditions"), "their scheduler speaks of their pods"
        assert said.get("phase", "") in ("", "Pending", "Inqueue"), (
            "let in at most, before it had pods"
        )
    finally:
        await deployment.stop()


def make_both(kubectl: Kubectl) -> None:
    kubectl.ok("create", "-f", "-", given=json.dumps(volcano.default_queue()))
    kubectl.ok(
        "patch", "queue", "default", "--subresource=status", "--type=merge", "-p",
        json.dumps({"status": {"state": "Open"}}),
    )  # fmt: skip
    for name, scheduler in (("theirs", "volcano"), ("ours", OURS)):
        items = volcano.foreign_gang(name, scheduler=scheduler)
        for item in items:
            item["metadata"]["labels"] = {"side": name}
        document = {"apiVersion": "v1", "kind": "List", "items": items}
        kubectl.ok("create", "-f", "-", given=json.dumps(document))
