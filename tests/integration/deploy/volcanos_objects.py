"""Objects as Volcano leaves them on a cluster: names, labels and annotations of upstream, and status
fields that we have never heard of."""

from typing import Any

from vc.model.api import keys
from vc.parts.kwok_stages import DELAY_ANNOTATION

STRANGE = {"fieldOfAnotherVersion": {"kept": "please"}, "aNumber": 7}
"""No definition and no struct of ours knows them."""
QUEUE = "inherited"
JOB = "inherited-job"
PODS = 2
RUN_SECONDS = 25
"""Of its pods: long enough to see it running under us, short enough to see it end."""


def queue() -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": QUEUE, "annotations": {"example.com/owner": "research"}},
        "spec": {"weight": 3, "reclaimable": True},
    }


def queue_status() -> dict[str, Any]:
    return {"state": "Open", "running": 1, "reservation": {"nodes": ["node-0"]}, **STRANGE}


def job() -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "busybox:1.36",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    }
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": JOB, "namespace": "default"},
        "spec": {
            "schedulerName": "volcano",
            "queue": QUEUE,
            "minAvailable": PODS,
            "maxRetry": 3,
            "tasks": [{"name": "worker", "replicas": PODS, "template": template}],
        },
    }


def job_status() -> dict[str, Any]:
    return {
        "state": {"phase": "Running", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        "minAvailable": PODS,
        "running": PODS,
        "taskStatusCount": {"worker": {"phase": {"Running": PODS}}},
        "conditions": [{"status": "Running", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        **STRANGE,
    }


def podgroup(uid: str) -> dict[str, Any]:
    """Upstream names it after the job and its uid."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "name": f"{JOB}-{uid}",
            "namespace": "default",
            "ownerReferences": [_owner(uid)],
        },
        "spec": {"minMember": PODS, "queue": QUEUE},
        "status": {"phase": "Running", "running": PODS, **STRANGE},
    }


def pod(uid: str, index: int, *, node: str) -> dict[str, Any]:
    """Bound and soon running, as a scheduler and a kubelet left it."""
    labels = {
        keys.JOB_NAME: JOB,
        keys.JOB_NAMESPACE: "default",
        keys.TASK_SPEC: "worker",
        keys.TASK_INDEX: str(index),
        keys.QUEUE_NAME: QUEUE,
    }
    annotations = {
        keys.GROUP_NAME: f"{JOB}-{uid}",
        keys.JOB_NAME: JOB,
        keys.JOB_VERSION: "0",
        keys.TASK_SPEC: "worker",
        keys.TASK_INDEX: str(index),
        keys.QUEUE_NAME: QUEUE,
        keys.TEMPLATE_UID: f"{JOB}-worker",
        DELAY_ANNOTATION: f"{RUN_SECONDS}s",
    }
    spec: dict[str, Any] = job()["spec"]["tasks"][0]["template"]["spec"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{JOB}-worker-{index}",
            "namespace": "default",
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [_owner(uid)],
        },
        "spec": {**spec, "schedulerName": "volcano", "nodeName": node},
    }


def _owner(uid: str) -> dict[str, Any]:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": JOB,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def foreign_gang(name: str, *, scheduler: str, pods: int = 2) -> list[dict[str, Any]]:
    """A pod group that is let in, and its pods, which no scheduler has seen yet."""
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": pods, "queue": "default"},
        "status": {"phase": "Inqueue"},
    }
    spec: dict[str, Any] = job()["spec"]["tasks"][0]["template"]["spec"]
    members = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{index}",
                "namespace": "default",
                "annotations": {keys.GROUP_NAME: name},
            },
            "spec": {**spec, "schedulerName": scheduler},
        }
        for index in range(pods)
    ]
    return [group, *members]


def default_queue() -> dict[str, Any]:
    return {**queue(), "metadata": {"name": "default"}}
