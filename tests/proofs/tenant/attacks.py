"""What a hostile tenant writes: pod groups with a forged status, pods, jobs and Commands, at random."""

import random
from typing import Final

from tests.simulation.stack import gang_job
from vc_model.kinds import COMMANDS, PODGROUPS, PODS, QUEUES, Kind
from vc_model.struct import JsonObject

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


def forged_status(chance: random.Random) -> JsonObject:
    """A status that our scheduler never wrote."""
    conditions = [
        {
            "type": kind, "status": chance.choice(("True", "False")), "transitionID": "forged",
            "reason": chance.choice(("NotEnoughTasks", "InqueueTimeout", "tasks in gang are ready to be scheduled")),
            "message": "", "lastTransitionTime": chance.choice(TIMES[:3]),
        }
        for kind in chance.sample(("Unschedulable", "Scheduled", "Other"), chance.randint(0, 3))
    ]  # fmt: skip
    counters = {
        name: chance.choice((0, 1, 2**31 - 1)) for name in ("running", "succeeded", "failed")
    }
    return {"phase": chance.choice(PHASES), "conditions": conditions, **counters}


def forged_spec(chance: random.Random) -> JsonObject:
    """The part of a pod group that is the tenant's to write."""
    spec: JsonObject = {
        "minMember": chance.choice((0, 1, 1, 3, 2**31 - 1)),
        "priorityClassName": chance.choice(CLASSES),
        "minResources": {
            name: chance.choice(AMOUNTS)
            for name in chance.sample(
                ("cpu", "memory", "pods", "nvidia.com/gpu", "made.up/thing"), 2
            )
        },
    }
    queue = chance.choice(QUEUES_NAMED)
    return {**spec, "queue": queue} if queue else spec


def metadata(chance: random.Random, name: str) -> JsonObject:
    """A name with keys that mean something to us."""
    return {
        "name": name,
        "annotations": dict(chance.sample(NOTES, chance.randint(0, 3))),
        "labels": dict(chance.sample(LABELS, chance.randint(0, 2))),
    }


def podgroup(chance: random.Random, name: str) -> JsonObject:
    """A group that claims much."""
    return {
        "apiVersion": PODGROUPS.api_version, "kind": PODGROUPS.kind,
        "metadata": metadata(chance, name), "spec": forged_spec(chance),
        "status": forged_status(chance),
    }  # fmt: skip


def pod(chance: random.Random, name: str, group: str) -> JsonObject:
    """A pod of a group, or with a queue of its own choice."""
    meta = metadata(chance, name)
    if group:
        meta["annotations"]["scheduling.k8s.io/group-name"] = group
    else:
        meta["annotations"]["scheduling.volcano.sh/queue-name"] = chance.choice(QUEUES_NAMED[:-1])
    meta["annotations"]["sim.pyroclast.io/run-seconds"] = chance.choice(("5", "30", "86400"))
    spec: JsonObject = {
        "schedulerName": "volcano",
        "priorityClassName": chance.choice(CLASSES),
        "containers": [
            {"name": "c", "image": "example.com/evil:1",
             "resources": {"requests": {"cpu": chance.choice(("0", "1", "8", "16", "1000000"))}}}
        ],
    }  # fmt: skip
    if chance.random() < 0.2:
        spec["nodeSelector"] = {"no": "where"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def job(chance: random.Random, name: str) -> JsonObject:
    """A vcjob; its class is on its pods too."""
    made = gang_job(
        name,
        replicas=chance.choice((1, 2, 4)),
        cpu=chance.choice(("1", "16")),
        run_seconds=chance.choice((5, 60, 86400)),
        plugins={},
        queue=chance.choice(QUEUES_NAMED[:-1]),
    )
    made["spec"]["priorityClassName"] = chance.choice(CLASSES)
    made["metadata"] |= metadata(chance, name)
    return made


def command(chance: random.Random, name: str) -> JsonObject:
    """An order to a queue that is not hers."""
    target = chance.choice(("default", "shut", "vip", "root", "nowhere"))
    return {
        "apiVersion": COMMANDS.api_version, "kind": COMMANDS.kind, "metadata": {"name": name},
        "action": chance.choice(("CloseQueue", "OpenQueue")),
        "target": {"apiVersion": QUEUES.api_version, "kind": "Queue", "name": target, "uid": ""},
    }  # fmt: skip


def change(chance: random.Random) -> JsonObject:
    """Of a pod group that exists, of hers or made for one of her jobs."""
    changed: JsonObject = {}
    if chance.random() < 0.8:
        changed["status"] = forged_status(chance)
    if chance.random() < 0.6:
        changed["spec"] = forged_spec(chance)
    if chance.random() < 0.4:
        changed["metadata"] = {"annotations": dict(chance.sample(NOTES, 2))}
    return changed


KINDS: Final[dict[str, Kind]] = {"podgroup": PODGROUPS, "pod": PODS, "command": COMMANDS}
