"""A scenario that makes every service do all that it does, told by kubectl as a user would."""

import json
from typing import Any

from tests.e2e.workload import PLUGIN_SETS, gang
from tests.integration.deploy.kubectl import Kubectl
from tests.integration.stack.running import eventually
from vc.model.api.keys import SYSTEM_NAMESPACE

LONG_SECONDS = 600.0
WAIT_SECONDS_MAX = 120.0
SCHEDULER = "volcano"
OWN_KEY = ("--ssh-private-key=not a real key", "--ssh-public-key=nor its other half")


class Everything:
    """Steps that may be run in any order; together they leave out nothing that can be provoked."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    def run(self) -> None:
        for step in (
            self.plugins,
            self.claims_and_expiry,
            self.provisioning,
            self.commands,
            self.scaling,
            self.queues,
            self.workloads,
            self.preemption,
            self.too_large_to_fit,
        ):
            step()

    # -- steps -----------------------------------------------------------------------------------

    def plugins(self) -> None:
        for number, plugins in enumerate(PLUGIN_SETS):
            self.apply(gang(f"plugins-{number}", plugins=plugins))
        self.apply(gang("own-key", plugins={"ssh": list(OWN_KEY)}))
        for name in ("own-key", *(f"plugins-{number}" for number in range(len(PLUGIN_SETS)))):
            self.phase(name, "Completed")

    def claims_and_expiry(self) -> None:
        """A volume that waits for its first consumer: the scheduler gives it to the job's claim."""
        self.apply(storage_class("waiting", "kubernetes.io/no-provisioner"), volume("there"))
        job = gang("claims", plugins={"svc": [], "ssh": []})
        job["spec"]["volumes"] = [{"mountPath": "/data", "volumeClaim": claim("waiting")}]
        job["spec"]["ttlSecondsAfterFinished"] = 1
        self.apply(job)
        self.gone("vcjob/claims")

    def provisioning(self) -> None:
        """A volume that is yet to be made: the claim is told on which node."""
        self.apply(storage_class("made", "csi.example.com"))
        job = gang("provisioned", plugins={})
        job["spec"]["volumes"] = [{"mountPath": "/data", "volumeClaim": claim("made")}]
        self.apply(job)
        told = "{.items[*].metadata.annotations.volume\\.kubernetes\\.io/selected-node}"
        self.until("pvc", told, "*")
        self._kubectl.ok("delete", "vcjob", "provisioned")

    def commands(self) -> None:
        self.apply(gang("ordered", run_seconds=LONG_SECONDS, plugins={"svc": [], "ssh": []}))
        self.phase("ordered", "Running")
        self.command("AbortJob", kind="Job", version="batch.volcano.sh/v1alpha1", name="ordered")
        self.phase("ordered", "Aborted")
        self.command("ResumeJob", kind="Job", version="batch.volcano.sh/v1alpha1", name="ordered")
        self.phase("ordered", "Running")
        self._kubectl.ok("delete", "vcjob", "ordered")

    def scaling(self) -> None:
        self.apply(gang("scaled", run_seconds=LONG_SECONDS, plugins={"svc": [], "ssh": []}))
        self.phase("scaled", "Running")
        more = [
            {"op": "replace", "path": "/spec/tasks/1/replicas", "value": 3},
            {"op": "replace", "path": "/spec/minAvailable", "value": 4},
        ]
        self._kubectl.ok("patch", "vcjob", "scaled", "--type=json", "-p", json.dumps(more))
        self.until("podgroup/scaled", "{.spec.minMember}", "4")
        self.until("vcjob/scaled", "{.status.running}", "4")
        self._kubectl.ok("delete", "vcjob", "scaled")

    def queues(self) -> None:
        self.apply(queue("closing"))
        self.until("queue/closing", "{.spec.parent}", "root")
        for action, state in (("CloseQueue", "Closed"), ("OpenQueue", "Open")):
            self.command(
                action, kind="Queue", version="scheduling.volcano.sh/v1beta1", name="closing"
            )
            self.until("queue/closing", "{.status.state}", state)
        self.command(  # admission asks whether its author may update the queue
            "OpenQueue",
            kind="Queue",
            version="scheduling.volcano.sh/v1beta1",
            name="closing",
            namespace="default",
        )
        self.command(
            "CloseQueue", kind="Queue", version="scheduling.volcano.sh/v1beta1", name="root"
        )
        self.until("events", "{.items[?(@.reason=='CommandRefused')].reason}", "CommandRefused")

        self._kubectl.ok("delete", "queue", "closing")  # admission counts its pod groups first

    def workloads(self) -> None:
        """Of the kinds that are not ours: their pods get a group."""
        self.apply(replicaset("plain", pods=2))
        self.until("replicaset/plain", "{.status.readyReplicas}", "2")
        self._kubectl.ok("annotate", "replicaset/plain", "scheduling.volcano.sh/group-min-member=2")
        self.until("podgroup", "{.items[*].spec.minMember}", "2")
        self._kubectl.ok("scale", "replicaset/plain", "--replicas=0")
        self.until("podgroup", "{.items[*].metadata.name}", "")
        self._kubectl.ok("delete", "replicaset", "plain")

    def preemption(self) -> None:
        """Four nodes of eight: the small one fills them, the urgent one takes two."""
        self.apply(priority("dev", 100), priority("production", 1000))
        filling = gang("filling", pods=4, cpu="7", run_seconds=LONG_SECONDS, plugins={})
        filling["spec"] |= {"priorityClassName": "dev", "minAvailable": 1}
        self.apply(filling)
        self.until("vcjob/filling", "{.status.running}", "4")
        urgent = gang("urgent", pods=2, cpu="7", run_seconds=LONG_SECONDS, plugins={})
        urgent["spec"]["priorityClassName"] = "production"
        self.apply(urgent)
        self.phase("urgent", "Running")
        self._kubectl.ok("delete", "vcjob", "filling", "urgent")

    def too_large_to_fit(self) -> None:
        """Let in, and then without room for all: said on the group, on every pod and by events."""
        job = gang("large", pods=2, cpu="6", run_seconds=LONG_SECONDS, plugins={})
        for task in job["spec"]["tasks"]:
            task["template"]["spec"]["nodeSelector"] = {"no-node": "has-this"}
        self.apply(job)
        scheduled = "{.items[*].status.conditions[?(@.type=='PodScheduled')].status}"
        self.until("pods -l volcano.sh/job-name=large", scheduled, "False False")
        self._kubectl.ok("delete", "vcjob", "large")

    # -- words -----------------------------------------------------------------------------------

    def apply(self, *manifests: dict[str, Any]) -> None:
        document = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self._kubectl.ok("apply", "-f", "-", given=json.dumps(document))

    def command(
        self, action: str, *, kind: str, version: str, name: str, namespace: str = ""
    ) -> None:
        plural = "vcjob" if kind == "Job" else "queue"
        namespace = namespace or ("default" if kind == "Job" else SYSTEM_NAMESPACE)
        uid = self._kubectl.ok("get", plural, name, "-o", "jsonpath={.metadata.uid}")
        target = {"apiVersion": version, "kind": kind, "name": name, "uid": uid}
        body = {
            "apiVersion": "bus.volcano.sh/v1alpha1",
            "kind": "Command",
            "metadata": {"name": f"{name}-{action.lower()}", "namespace": namespace},
            "action": action,
            "target": target,
        }
        self._kubectl.ok("create", "-f", "-", given=json.dumps(body))
        self.gone(f"command/{name}-{action.lower()} -n {namespace}")

    def phase(self, job: str, wanted: str) -> None:
        self.until(f"vcjob/{job}", "{.status.state.phase}", wanted)

    def until(self, what: str, path: str, wanted: str) -> None:
        seen = ""

        def holds() -> bool:
            nonlocal seen
            seen = self._kubectl.run("get", *what.split(), "-o", f"jsonpath={path}").stdout
            return seen == wanted or wanted in seen.split() or (wanted == "*" and bool(seen))

        eventually(holds, f"{what} {path} = {wanted!r}, not {seen!r}", seconds_max=WAIT_SECONDS_MAX)

    def gone(self, what: str) -> None:
        eventually(
            lambda: "NotFound" in self._kubectl.run("get", *what.split()).stderr,
            f"{what} is gone",
            seconds_max=WAIT_SECONDS_MAX,
        )


def queue(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1},
    }


def storage_class(name: str, provisioner: str) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def claim(storage_class_name: str) -> dict[str, Any]:
    return {
        "storageClassName": storage_class_name,
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "1Gi"}},
    }


def volume(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": "waiting",
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "nfs": {"server": "nfs.example.com", "path": "/"},
            "persistentVolumeReclaimPolicy": "Retain",
        },
    }


def priority(name: str, value: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def replicaset(name: str, *, pods: int) -> dict[str, Any]:
    labels = {"app": name}
    container = {
        "name": "main",
        "image": "busybox:1.36",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": pods,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"schedulerName": SCHEDULER, "containers": [container]},
            },
        },
    }
