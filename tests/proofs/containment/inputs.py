"""Odd inputs of a seed: manifests with values that nobody means, and bytes that are damaged."""

import functools
import random
from typing import Any, Final

import msgspec

from vc.model.api import keys
from vc.model.api.kinds import Kind
from vc.model.api.struct import JsonObject

_KNOWN_KEYS: Final = tuple(
    value for name, value in sorted(vars(keys).items()) if name.isupper() and "/" in value
)

ODD_TEXTS: Final = (
    "", " ", "0", "-1", "1", "9" * 5_000, "-" + "9" * 400, "1e999", "NaN", "inf", "0x10", "1_000",
    "٣", "²", "1h", "-1h", "9" * 60 + "h", "1h1", "100m", "1.5Gi", "1e30", "1E", "é" * 300,
    "9999-12-31T23:59:59Z", "0001-01-01T00:00:00", "2026-13-01", "2026-01-02T03:04:05Z", "true",
    "false", "x" * 5_000, "a/b/c", "\x00", "\x00epoch", "default", "root", "{}", "[1]", "null",
    "../..", "%s%n", "1/2/3", "nan/1", "In", "Gt", "Exists", "Always", "Never", "RestartJob",
)  # fmt: skip

ODD_NUMBERS: Final = (
    0, -1, 1, 2, 7, 2**31 - 1, 2**31, -(2**31), 2**53, 2**63 - 1, -(2**63), 2**64 - 1, 2**64,
    10**30, 0.5, -0.0, 1e308, 1e-308,
)  # fmt: skip


def odd_value(rng: random.Random, depth: int = 0) -> Any:
    """Any JSON value."""
    sort = rng.randrange(9 if depth < 3 else 6)
    if sort < 3:
        return rng.choice(ODD_TEXTS)
    if sort < 5:
        return rng.choice(ODD_NUMBERS)
    if sort == 5:
        return rng.choice((None, True, False))
    if sort == 6:
        return [odd_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if sort == 7:
        return {rng.choice(ODD_TEXTS): odd_value(rng, depth + 1) for _ in range(rng.randrange(4))}
    return nested(rng.choice((3, 3, 3, 70, 200, 900)), as_list=rng.random() < 0.5)


def nested(depth: int, *, as_list: bool) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value] if as_list else {"x": value}
    return value


def mutated(rng: random.Random, manifest: JsonObject) -> JsonObject:
    """The manifest, which is nobody else's, with one to three places changed."""
    odd = manifest
    for _ in range(rng.randrange(1, 4)):
        if rng.random() < 0.3:
            _annotate(rng, odd)
        else:
            _change(rng, odd)
    return odd


def _annotate(rng: random.Random, odd: JsonObject) -> None:
    metadata = odd.get("metadata")
    if isinstance(metadata, dict):
        field = rng.choice(("annotations", "annotations", "labels"))
        said = metadata.setdefault(field, {})
        if isinstance(said, dict):
            said[rng.choice(_KNOWN_KEYS)] = rng.choice(ODD_TEXTS)


def _change(rng: random.Random, odd: Any) -> None:
    """Walk down some steps, then exchange, drop or double what is there."""
    at = odd
    for _ in range(rng.randrange(1, 9)):
        inner = at[rng.choice(list(at))] if isinstance(at, dict) and at else None
        inner = rng.choice(at) if isinstance(at, list) and at else inner
        if not isinstance(inner, dict | list) or not inner:
            break
        at = inner
    if isinstance(at, dict) and at:
        key = rng.choice(list(at))
        if key in ("apiVersion", "kind") and rng.random() < 0.8:
            return
        if rng.random() < 0.15:
            del at[key]
        else:
            at[key] = odd_value(rng)
    elif isinstance(at, list) and at:
        place = rng.randrange(len(at))
        at[place] = at[rng.randrange(len(at))] if rng.random() < 0.2 else odd_value(rng)


def flipped(rng: random.Random, data: bytes) -> bytes:
    """Some bytes changed, cut out, put in or doubled."""
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        if not damaged:
            return rng.randbytes(rng.randrange(8))
        at = rng.randrange(len(damaged))
        match rng.randrange(6):
            case 0:
                damaged[at] ^= 1 << rng.randrange(8)
            case 1:
                damaged[at] = rng.choice((0, 0x7F, 0x80, 0xC0, 0xC1, 0xDF, 0xFF, 0xED))
            case 2:
                del damaged[at : at + rng.randrange(1, 9)]
            case 3:
                damaged[at:at] = rng.randbytes(rng.randrange(1, 9))
            case 4:
                del damaged[at:]
            case _:
                damaged += damaged[at : at + 64]
    return bytes(damaged)


def named(manifest: JsonObject, name: str, uid: str) -> JsonObject:
    """With an identity of its own, if it has metadata at all."""
    metadata = manifest.get("metadata")
    if isinstance(metadata, dict):
        metadata.update({"name": name, "uid": uid, "resourceVersion": "7"})
    return manifest


def manifest_of(kind: Kind) -> JsonObject:
    """One object of a kind, with the fields that somebody decides on; made anew for each who asks."""
    made: JsonObject = msgspec.json.decode(_manifest(kind))
    return made


@functools.cache
def _manifest(kind: Kind) -> bytes:
    metadata: JsonObject = {
        "name": "odd",
        "uid": "odd-uid",
        "resourceVersion": "7",
        "generation": 1,
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "labels": {"app": "x", keys.TASK_SPEC: "worker"},
        "annotations": {keys.GROUP_NAME: "odd", keys.PREEMPTABLE: "true"},
        "finalizers": ["example.com/f"],
        "ownerReferences": [
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "name": "odd",
                "uid": "odd-uid",
                "controller": True,
            }
        ],
    }
    if kind.namespaced:
        metadata["namespace"] = "default"
    body = BODIES.get(kind.short, {"spec": {}, "status": {}})
    return msgspec.json.encode(
        {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **body}
    )


_SELECTOR: Final[JsonObject] = {
    "matchLabels": {"app": "x"},
    "matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}],
}
_NODE_TERM: Final[JsonObject] = {
    "matchExpressions": [{"key": "zone", "operator": "Gt", "values": ["1"]}],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
}
_PEER_TERM: Final[JsonObject] = {
    "topologyKey": "zone",
    "labelSelector": _SELECTOR,
    "namespaces": ["default"],
    "namespaceSelector": _SELECTOR,
    "matchLabelKeys": ["app"],
}
_NEEDED, _WISHED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_PEERS: Final[JsonObject] = {
    _NEEDED: [_PEER_TERM],
    _WISHED: [{"weight": 5, "podAffinityTerm": _PEER_TERM}],
}
_POD_SPEC: Final[JsonObject] = {
    "schedulerName": "volcano",
    "priority": 5,
    "priorityClassName": "high",
    "preemptionPolicy": "Never",
    "restartPolicy": "Never",
    "terminationGracePeriodSeconds": 30,
    "nodeSelector": {"zone": "a"},
    "affinity": {
        "nodeAffinity": {
            _NEEDED: {"nodeSelectorTerms": [_NODE_TERM]},
            _WISHED: [{"weight": 3, "preference": _NODE_TERM}],
        },
        "podAffinity": _PEERS,
        "podAntiAffinity": _PEERS,
    },
    "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
         "labelSelector": _SELECTOR, "minDomains": 1}
    ],
    "schedulingGates": [{"name": keys.QUEUE_ALLOCATION_GATE}],
    "overhead": {"cpu": "1m"},
    "volumes": [
        {"name": "v", "persistentVolumeClaim": {"claimName": "odd"}},
        {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
    ],
    "containers": [
        {"name": "c", "image": "example.com/i:1", "env": [{"name": "A", "value": "b"}],
         "resources": {"requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": 1},
                       "limits": {"cpu": "2", "nvidia.com/gpu": 1}},
         "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]}
    ],
    "initContainers": [
        {"name": "i", "image": "i", "restartPolicy": "Always",
         "resources": {"requests": {"cpu": "1"}}}
    ],
}  # fmt: skip
_TEMPLATE: Final[JsonObject] = {
    "metadata": {"labels": {"app": "x"}, "annotations": {"a": "b"}},
    "spec": {**_POD_SPEC, "activeDeadlineSeconds": 60},
}
_JOB_SPEC: Final[JsonObject] = {
    "schedulerName": "volcano",
    "queue": "default",
    "minAvailable": 2,
    "maxRetry": 3,
    "ttlSecondsAfterFinished": 60,
    "priorityClassName": "high",
    "runningEstimate": "1h",
    "plugins": {"env": [], "svc": ["--publish-not-ready-addresses=true"], "ssh": []},
    "policies": [{"event": "PodEvicted", "action": "RestartJob", "timeout": "10m"}],
    "volumes": [{"mountPath": "/data", "volumeClaim": {"resources": {"requests": {"storage": "1Gi"}}}}],
    "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    "tasks": [
        {"name": "master", "replicas": 1, "template": _TEMPLATE,
         "policies": [{"event": "TaskCompleted", "action": "CompleteJob"}]},
        {"name": "worker", "replicas": 3, "minAvailable": 1, "maxRetry": 2, "template": _TEMPLATE,
         "dependsOn": {"name": ["master"], "iteration": "any"},
         "partitionPolicy": {"totalPartitions": 1, "partitionSize": 3, "minPartitions": 1},
         "policies": [{"events": ["PodFailed"], "exitCode": 3, "action": "RestartTask"}]},
    ],
}  # fmt: skip
_AMOUNTS: Final[JsonObject] = {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"}
_CONDITION: Final[JsonObject] = {
    "type": "Ready", "status": "True", "reason": "r", "message": "m",
    "lastTransitionTime": "2026-01-02T03:04:05Z",
}  # fmt: skip

BODIES: Final[dict[str, JsonObject]] = {
    "jobs": {
        "spec": _JOB_SPEC,
        "status": {
            "state": {"phase": "Running", "lastTransitionTime": "2026-01-02T03:04:05Z"},
            "minAvailable": 2, "version": 1, "retryCount": 0, "running": 2,
            "controlledResources": {
                "plugin-env": "env", "pyroclast-alive-worker": "0-2", "run-1": "made=x,pods=3",
                "pyroclast-lost-worker": "1@1800000000.250", "pyroclast-restart": "task/worker",
            },
            "conditions": [{"status": "Running", "lastTransitionTime": "2026-01-02T03:04:05Z"}],
            "taskStatusCount": {"worker": {"phase": {"Running": 2}}},
        },
    },
    "commands": {
        "action": "RestartJob",
        "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "odd",
                   "uid": "odd-uid", "controller": True},
        "reason": "r", "message": "m",
    },
    "podgroups": {
        "spec": {"minMember": 2, "minTaskMember": {"worker": 2}, "queue": "default",
                 "priorityClassName": "high", "minResources": {"cpu": "2", "memory": "2Gi"}},
        "status": {"phase": "Inqueue", "running": 1, "succeeded": 0, "failed": 0,
                   "conditions": [{**_CONDITION, "type": "Scheduled", "transitionID": "1-2"}]},
    },
    "queues": {
        "spec": {"weight": 2, "capability": _AMOUNTS, "parent": "root", "reclaimable": True,
                 "guarantee": {"resource": {"cpu": "1"}}, "deserved": {"cpu": "4"}, "priority": 1,
                 "dequeueStrategy": "fifo"},
        "status": {"state": "Open", "allocated": {"cpu": "1"}, "pending": 1, "running": 1},
    },
    "pods": {
        "spec": _POD_SPEC,
        "status": {"phase": "Pending", "conditions": [{**_CONDITION, "type": "PodScheduled"}],
                   "startTime": "2026-01-02T03:04:05Z", "nominatedNodeName": "n",
                   "containerStatuses": [{"name": "c", "restartCount": 1, "state": {
                       "terminated": {"exitCode": 1, "finishedAt": "2026-01-02T03:04:05Z"}}}]},
    },
    "nodes": {
        "spec": {"unschedulable": False, "taints": [{"key": "k", "effect": "NoSchedule"}]},
        "status": {"allocatable": _AMOUNTS, "capacity": _AMOUNTS, "conditions": [_CONDITION],
                   "images": [{"names": ["example.com/i:1"], "sizeBytes": 1000}]},
    },
    "namespaces": {"spec": {}, "status": {"phase": "Active"}},
    "configmaps": {"data": {"volcano-scheduler.conf": 'actions: "enqueue, allocate"\n'}},
    "priorityclasses": {"value": 100, "globalDefault": True, "preemptionPolicy": "Never"},
    "replicasets": {"spec": {"replicas": 2, "selector": _SELECTOR, "template": _TEMPLATE},
                    "status": {"updateRevision": "r", "replicas": 2}},
    "persistentvolumeclaims": {
        "spec": {"storageClassName": "s", "accessModes": ["ReadWriteOnce"], "volumeName": "",
                 "resources": {"requests": {"storage": "1Gi"}}, "selector": _SELECTOR},
        "status": {"phase": "Pending"},
    },
    "persistentvolumes": {
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                 "storageClassName": "s", "claimRef": {"namespace": "default", "name": "odd", "uid": "u"},
                 "nodeAffinity": {"required": {"nodeSelectorTerms": [_NODE_TERM]}}},
        "status": {"phase": "Available"},
    },
    "storageclasses": {"provisioner": "p", "volumeBindingMode": "WaitForFirstConsumer",
                       "allowedTopologies": [{"matchLabelExpressions": [
                           {"key": "zone", "values": ["a"]}]}]},
    "csinodes": {"spec": {"drivers": [{"name": "d", "nodeID": "n", "allocatable": {"count": 2}}]}},
    "resourcequotas": {"spec": {"hard": {"cpu": "10", "pods": "5"}, "scopes": []},
                       "status": {"used": {"cpu": "1"}, "hard": {"cpu": "10"}}},
    "poddisruptionbudgets": {"spec": {"selector": _SELECTOR, "minAvailable": 1},
                             "status": {"disruptionsAllowed": 1}},
    "cronjobs": {"spec": {"schedule": "*/5 * * * *", "concurrencyPolicy": "Allow",
                          "jobTemplate": {"spec": _JOB_SPEC}}},
    "jobflows": {"spec": {"flows": [{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}],
                          "jobRetainPolicy": "retain"}},
    "jobtemplates": {"spec": _JOB_SPEC},
    "hypernodes": {"spec": {"tier": 1, "members": [
        {"type": "Node", "selector": {"exactMatch": {"name": "n"}}}]}},
}  # fmt: skip
