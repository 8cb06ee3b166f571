"""What a hostile tenant writes: pod groups with a forged status, pods, jobs and Commands, at random."""

import random
from typing import Final

from tests.simulation.stack import gang_job
from vc.model.api.kinds import COMMANDS, PODGROUPS, PODS, QUEUES, Kind
from vc.model.api.struct import JsonObject

EVIL: Final = "evil"
PHASES: Final = ("Inqueue", "Running", "Unknown", "Pending", "Completed", "Nonsense", "")
TIMES: Final = ("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2027-01-15T08:00:00Z", "never")
AMOUNTS: Final = ("0", "1", "16", "32", "1000000", "9223372036854775807", "1e30", "500m")
CLASSES: Final = (
    "",
    "low",
    "normal",
    "high",
    "system-cluster-critical",
    "system-node-critical",
    "ghost",
)
QUEUES_NAMED: Final = ("default", "default", "vip", "shut", "nowhere", "root", "")
NOTES: Final = (
    ("volcano.sh/job-version", "99"), ("volcano.sh/preemptable", "false"),
    ("volcano.sh/task-priority", "2000000000"), ("volcano.sh/queue-allocated", "true"),
    ("volcano.sh/sla-waiting-time", "1s"), ("volcano.sh/gang-released", "true"),
    ("volcano.sh/cooldown-time", "9999h"), ("volcano.sh/last-queue-command", "x"),
)  # fmt: skip
LABELS: Final = (
    ("volcano.sh/job-name", "good-0"), ("volcano.sh/job-namespace", "good"),
    ("volcano.sh/preemptable", "false"), ("volcano.sh/queue-name", "vip"),
)  # fmt: skip


def forged_status(rng: random.Random) -> JsonObject:
    """A status that our scheduler never wrote."""
    conditions = [
        {
            "type": kind, "status": rng.choice(("True", "False")), "transitionID": "forged",
            "reason": rng.choice(("NotEnoughTasks", "InqueueTimeout", "tasks in gang are ready to be scheduled")),
            "message": "", "lastTransitionTime": rng.choice(TIMES[:3]),
        }
        for kind in rng.sample(("Unschedulable", "Scheduled", "Other"), rng.randint(0, 3))
    ]  # fmt: skip
    counters = {name: rng.choice((0, 1, 2**31 - 1)) for name in ("running", "succeeded", "failed")}
    return {"phase": rng.choice(PHASES), "conditions": conditions, **counters}


def forged_spec(rng: random.Random) -> JsonObject:
    """The part of a pod group that is the tenant's to write."""
    spec: JsonObject = {
        "minMember": rng.choice((0, 1, 1, 3, 2**31 - 1)),
        "priorityClassName": rng.choice(CLASSES),
        "minResources": {
            name: rng.choice(AMOUNTS)
            for name in rng.sample(("cpu", "memory", "pods", "nvidia.com/gpu", "made.up/thing"), 2)
        },
    }
    queue = rng.choice(QUEUES_NAMED)
    return {**spec, "queue": queue} if queue else spec


def metadata(rng: random.Random, name: str) -> JsonObject:
    """A name with keys that mean something to us."""
    return {
        "name": name,
        "annotations": dict(rng.sample(NOTES, rng.randint(0, 3))),
        "labels": dict(rng.sample(LABELS, rng.randint(0, 2))),
    }


def podgroup(rng: random.Random, name: str) -> JsonObject:
    """A group that claims much."""
    return {
        "apiVersion": PODGROUPS.api_version, "kind": PODGROUPS.kind,
        "metadata": metadata(rng, name), "spec": forged_spec(rng),
        "status": forged_status(rng),
    }  # fmt: skip


def pod(rng: random.Random, name: str, group: str) -> JsonObject:
    """A pod of a group, or with a queue of its own choice."""
    meta = metadata(rng, name)
    if group:
        meta["annotations"]["scheduling.k8s.io/group-name"] = group
    else:
        meta["annotations"]["scheduling.volcano.sh/queue-name"] = rng.choice(QUEUES_NAMED[:-1])
    meta["annotations"]["sim.pyroclast.io/run-seconds"] = rng.choice(("5", "30", "86400"))
    spec: JsonObject = {
        "schedulerName": "volcano",
        "priorityClassName": rng.choice(CLASSES),
        "containers": [
            {"name": "c", "image": "example.com/evil:1",
             "resources": {"requests": {"cpu": rng.choice(("0", "1", "8", "16", "1000000"))}}}
        ],
    }  # fmt: skip
    if rng.random() < 0.2:
        spec["nodeSelector"] = {"no": "where"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def job(rng: random.Random, name: str) -> JsonObject:
    """A vcjob; its class is on its pods too."""
    made = gang_job(
        name,
        replicas=rng.choice((1, 2, 4)),
        cpu=rng.choice(("1", "16")),
        run_seconds=rng.choice((5, 60, 86400)),
        plugins={},
        queue=rng.choice(QUEUES_NAMED[:-1]),
    )
    made["spec"]["priorityClassName"] = rng.choice(CLASSES)
    made["metadata"] |= metadata(rng, name)
    return made


def command(rng: random.Random, name: str) -> JsonObject:
    """An order to a queue that is not hers."""
    target = rng.choice(("default", "shut", "vip", "root", "nowhere"))
    return {
        "apiVersion": COMMANDS.api_version, "kind": COMMANDS.kind, "metadata": {"name": name},
        "action": rng.choice(("CloseQueue", "OpenQueue")),
        "target": {"apiVersion": QUEUES.api_version, "kind": "Queue", "name": target, "uid": ""},
    }  # fmt: skip


def change(rng: random.Random) -> JsonObject:
    """Of a pod group that exists, of hers or made for one of her jobs."""
    changed: JsonObject = {}
    if rng.random() < 0.8:
        changed["status"] = forged_status(rng)
    if rng.random() < 0.6:
        changed["spec"] = forged_spec(rng)
    if rng.random() < 0.4:
        changed["metadata"] = {"annotations": dict(rng.sample(NOTES, 2))}
    return changed


KINDS: Final[dict[str, Kind]] = {"podgroup": PODGROUPS, "pod": PODS, "command": COMMANDS}
