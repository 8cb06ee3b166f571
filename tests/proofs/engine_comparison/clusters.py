"""Random clusters and what happens to them between sessions, as plain JSON.

Nothing here imports the engine: the same text goes to both. A scenario has the configuration, the objects of the
Kubernetes API and a list of turns; each turn is a list of operations that `engine_worker.py` carries out before
its next session. One seed, one scenario.
"""

import random
from typing import Any, Final

from tests.proofs.engine_comparison.cluster_jobs import CLASSES, Jobs
from tests.proofs.engine_comparison.cluster_storage import HOST, storage

Json = dict[str, Any]

TREE: Final = (
    ("root", ""), ("alone", "root"), ("dept", "root"), ("dept-a", "dept"), ("dept-b", "dept"),
    ("lab", ""), ("mid", "dept"), ("deep", "mid"),
)  # fmt: skip
LEAVES: Final = ("alone", "dept-a", "dept-b", "lab", "deep")
CAPACITIES: Final[tuple[Json, ...]] = (
    {"name": "capacity"},
    {"name": "capacity", "switches": {"hierarchy": True}},
    {"name": "capacity", "arguments": {"ancestorReclaimLevel": "1"}},
    {
        "name": "capacity",
        "arguments": {"ancestorReclaimLevel": "2"},
        "switches": {"hierarchy": True},
    },
)
PROPORTIONS: Final[tuple[Json, ...]] = (
    {"name": "proportion"},
    {"name": "proportion"},
    {"name": "proportion", "switches": {"overused": True}},
)
ACTIONS: Final = (
    ("enqueue", "allocate", "preempt", "reclaim", "backfill"),
    ("enqueue", "allocate", "preempt", "reclaim", "backfill"),
    ("enqueue", "allocate", "preempt", "reclaim", "backfill"),
    ("enqueue", "reclaim", "allocate", "backfill", "preempt"),
    ("enqueue", "allocate", "backfill"),
    ("allocate", "preempt", "backfill"),
)
SECONDS: Final = (0.2, 1.0, 1.0, 1.0, 5.0, 5.0, 11.0, 11.0, 31.0, 61.0, 61.0, 400.0)


def scenario(seed: int) -> Json:
    """The same for the same seed, in every process."""
    draw = random.Random(seed)
    stores = draw.random() < 0.2
    full = draw.random() < 0.5
    nodes = [_node(draw, f"n{n}") for n in range(draw.randint(1, 2 if full else 6))]
    cpus = sum(int(node["object"]["status"]["allocatable"]["cpu"]) for node in nodes)
    objects = [_class(name, value) for name, value in CLASSES.items()]
    objects += nodes
    limited = 0.05 if full else draw.choice([0.0, 0.1, 0.4])
    objects += _queues(draw, cpus=cpus, limited=limited)
    claims: list[str] = []
    if stores:
        made, claims = storage(draw, [node["object"]["metadata"]["name"] for node in nodes])
        objects += made
    jobs = Jobs(draw, leaves=LEAVES[:2] if full else LEAVES, claims=claims, full=full)
    for _ in range(draw.randint(1, 3) if full else draw.randint(2, 7)):
        objects += jobs.job()
        if draw.random() < 0.05:
            _bind_some(draw, objects, nodes)
    if draw.random() < 0.3:
        objects.append(_budget(draw))
    if draw.random() < 0.2:
        objects.append(_quota(draw))
    turns = [_turn(draw, jobs, nodes) for _ in range(draw.randint(2, 5))]
    return {"seed": seed, "conf": _conf(draw), "objects": objects, "turns": turns}


def _bind_some(draw: random.Random, objects: list[Json], nodes: list[Json]) -> None:
    """The last pod of the last job was bound by a predecessor that did not complete the gang."""
    last = objects[-1]["object"]
    requests = last["spec"]["containers"][0]["resources"]["requests"]
    if requests.get("cpu") not in ("1", "500m") or "nvidia.com/gpu" in requests:
        return
    last["spec"] = {**last["spec"], "nodeName": draw.choice(nodes)["object"]["metadata"]["name"]}
    last["spec"].pop("schedulingGates", None)
    last["status"] = {"phase": "Running"}


def _conf(draw: random.Random) -> Json:
    first: list[Json] = [{"name": "priority"}, {"name": "gang"}, {"name": "conformance"}]
    if draw.random() < 0.2:
        first.insert(0, {"name": "sla", "arguments": {"sla-waiting-time": "62m"}})
    if draw.random() < 0.3:
        first.append({"name": "pdb"})
    drf: Json = {"name": "drf"}
    if draw.random() < 0.3:
        drf = {"name": "drf", "switches": {"preemptable": True}}
    elif draw.random() < 0.15:
        drf = {"name": "drf", "switches": {"hierarchy": True}}
    shares: Json = draw.choice([*PROPORTIONS, *CAPACITIES])
    second: list[Json] = [drf, {"name": "predicates"}, shares, {"name": "nodeorder"}]
    if draw.random() < 0.65:
        second.insert(0, {"name": "overcommit"})
    optional = ("resourcequota", "binpack", "task-topology", "cdp")
    second += [{"name": name} for name in optional if draw.random() < 0.2]
    return {
        "actions": list(draw.choice(ACTIONS)),
        "tiers": [first, second],
        "configurations": [
            {"name": "allocate", "arguments": {"surplusDelay": draw.choice(["0", "0", "500ms"])}}
        ],
    }


def _class(name: str, value: int) -> Json:
    return {"kind": "PriorityClass", "object": {"metadata": {"name": name}, "value": value}}


def _node(draw: random.Random, name: str) -> Json:
    allocatable = {
        "cpu": str(draw.choice([2, 4, 4, 8, 8, 16])),
        "memory": f"{draw.choice([4, 8, 16, 32])}Gi",
        "pods": str(draw.choice([3, 110, 110, 110])),
    }
    if draw.random() < 0.3:
        allocatable["nvidia.com/gpu"] = str(draw.choice([1, 2, 4]))
    labels = {"zone": draw.choice("ab")}
    if draw.random() < 0.8:
        labels[HOST] = name
    return {
        "kind": "Node",
        "object": {
            "metadata": {"name": name, "uid": f"node-{name}", "labels": labels},
            "spec": {
                "unschedulable": draw.random() < 0.05,
                "taints": [{"key": "only", "effect": "NoSchedule"}] if draw.random() < 0.1 else [],
            },
            "status": {
                "allocatable": allocatable,
                "capacity": allocatable,
                "conditions": [
                    {"type": "Ready", "status": "True" if draw.random() > 0.05 else "False"}
                ],
                "images": [{"names": ["train:latest"], "sizeBytes": 9_000_000_000}]
                if draw.random() < 0.3
                else [],
            },
        },
    }


def _queues(draw: random.Random, *, cpus: int, limited: float) -> list[Json]:
    return [
        {
            "kind": "Queue",
            "object": {
                "metadata": {"name": name, "uid": f"queue-{name}"},
                "spec": {
                    "parent": parent,
                    "weight": draw.randint(1, 4),
                    "priority": draw.choice([0, 0, 0, 5]),
                    "capability": _amounts(draw, cpus, limited) if name != "root" else {},
                    "guarantee": {
                        "resource": {"cpu": str(draw.randint(1, max(1, cpus // 8)))}
                        if name in LEAVES and draw.random() < 0.2
                        else {}
                    },
                    "deserved": _amounts(draw, max(1, cpus // 2), 0.7),
                    "reclaimable": draw.choice([None, None, None, False]),
                    "dequeueStrategy": "fifo" if draw.random() < 0.12 else "traverse",
                },
                "status": {
                    "state": "Closed" if name in LEAVES and draw.random() < limited / 10 else "Open"
                },
            },
        }
        for name, parent in TREE
    ]


def _amounts(draw: random.Random, cpus: int, chance: float) -> Json:
    if draw.random() > chance:
        return {}
    limit: Json = {"cpu": str(draw.randint(1, max(2, cpus)))}
    if draw.random() < 0.3:
        limit["memory"] = f"{draw.randint(1, 48)}Gi"
    if draw.random() < 0.1:
        limit["nvidia.com/gpu"] = str(draw.randint(0, 4))
    if draw.random() < 0.05:
        limit["pods"] = str(draw.randint(1, 8))
    return limit


def _budget(draw: random.Random) -> Json:
    return {
        "kind": "PodDisruptionBudget",
        "object": {
            "metadata": {"name": "budget", "namespace": "ns"},
            "spec": {"selector": {"matchLabels": {"team": draw.choice("xy")}}},
            "status": {"disruptionsAllowed": draw.choice([0, 0, 1, 2])},
        },
    }


def _quota(draw: random.Random) -> Json:
    hard = {"requests.cpu": str(draw.randint(2, 40))}
    return {
        "kind": "ResourceQuota",
        "object": {
            "metadata": {"name": "limit", "namespace": "ns"},
            "spec": {"hard": hard},
            "status": {"hard": hard, "used": {"requests.cpu": "0"}},
        },
    }


def _turn(draw: random.Random, jobs: Jobs, nodes: list[Json]) -> list[Json]:
    """What happens before the next session."""
    turn: list[Json] = [{"do": "advance", "seconds": draw.choice(SECONDS)}]
    if draw.random() < 0.8:
        turn.append({"do": "start"})
    if draw.random() < 0.5:
        turn.append({"do": "leave", "again": draw.random() < 0.6})
    if draw.random() < 0.4:
        turn.append({"do": "finish", "picks": [draw.randrange(100) for _ in range(2)]})
    if draw.random() < 0.12:
        turn.append({"do": "fail", "picks": [draw.randrange(100)]})
    if draw.random() < 0.12:
        turn.append({"do": "delete-pods", "picks": [draw.randrange(100)]})
    if draw.random() < 0.04:
        turn.append({"do": "delete-groups", "picks": [draw.randrange(100)]})
    if draw.random() < 0.05:
        turn.append({"do": "restart"})
    for _ in range(draw.choice([0, 1, 1, 2])):  # jobs of a full cluster are those that evict
        turn += [{"do": "put", **made} for made in jobs.job()]
    if draw.random() < 0.1:
        changed = dict(draw.choice(nodes)["object"])
        changed["spec"] = {"unschedulable": True}
        turn.append({"do": "put", "kind": "Node", "object": changed})
    if draw.random() < 0.1:
        turn.append({"do": "put", **_node(draw, f"x{draw.randrange(100)}")})
    if draw.random() < 0.1:
        turn.append({"do": "put", **_budget(draw)})
    if draw.random() < 0.06:
        name, parent = draw.choice(TREE[1:])
        spec = {"parent": parent, "weight": draw.randint(1, 4), "deserved": _amounts(draw, 16, 0.5)}
        changed = {"metadata": {"name": name, "uid": f"queue-{name}"}, "spec": spec}
        turn.append(
            {"do": "put", "kind": "Queue", "object": {**changed, "status": {"state": "Open"}}}
        )
    if draw.random() < 0.03:
        turn.append({"do": "delete", "kind": "Queue", "key": draw.choice(LEAVES)})
    return turn
