"""Random pod groups and their pods, as plain JSON."""

import random
from datetime import UTC, datetime
from typing import Any, Final

Json = dict[str, Any]

EPOCH: Final = 1_800_000_000.0
"""When worlds of tests begin."""
GROUP: Final = "scheduling.k8s.io/group-name"
TASK: Final = "volcano.sh/task-spec"
CLASSES: Final = {"low": 1, "normal": 5, "high": 9, "urgent": 20}
QUEUE_GATE: Final = "scheduling.volcano.sh/queue-allocation-gate"
TASKS: Final = ("worker", "ps", "main")
MIXED: Final[tuple[Json, ...]] = (
    {}, {"cpu": "500m"}, {"cpu": "1"}, {"cpu": "1"}, {"cpu": "2"}, {"cpu": "3"}, {"cpu": "6"}, {"cpu": "12"},
    {"cpu": "1", "memory": "2Gi"}, {"cpu": "2", "memory": "6Gi"}, {"memory": "2Gi"}, {"cpu": "1", "memory": "12Gi"},
    {"cpu": "1", "nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "2"},
)  # fmt: skip


class Jobs:
    """Draws jobs one after another; their names tell them apart."""

    def __init__(
        self, draw: random.Random, *, leaves: tuple[str, ...], claims: list[str], full: bool
    ) -> None:
        self._draw = draw
        self._leaves = leaves
        self._claims = claims
        self._count = 0
        self._full = full
        """Equal small requests: the cluster is soon full, and evictions follow."""
        self._near = draw.choice([0.0, 0.0, 0.4])
        """How many tasks depend on other pods."""
        self._odd = 0.0 if full else draw.choice([0.0, 0.1])

    def job(self) -> list[Json]:
        draw, name = self._draw, f"j{self._count:02}"
        self._count += 1
        tasks = {task: draw.randint(1, 4) for task in TASKS[: draw.choice([1, 1, 1, 2, 3])]}
        if self._full:
            tasks = {"worker": 14 if self._count <= 2 else draw.choice([1, 2, 3, 5])}
        requests = {task: self._request() for task in tasks}
        total = sum(tasks.values())
        least = draw.choice([total, total, max(1, total // 2), 1])
        if self._full:
            least = draw.randint(1, min(total, 4))
        by_task = {}
        if draw.random() < 0.2:
            by_task = {task: draw.randint(1, count) for task, count in tasks.items()}
            least = max(least, sum(by_task.values()))
        if draw.random() < self._odd:
            least = draw.choice([0, total + 1])
        made = [self._group(name, least, by_task, tasks, requests)]
        for task, count in tasks.items():
            spec, metadata = self._template(name, task, requests[task])
            made += [self._pod(f"{name}-{task}-{n}", spec, metadata) for n in range(count)]
        return made

    def _request(self) -> Json:
        draw = self._draw
        if self._full:
            return {"cpu": draw.choice(["1", "1", "1", "2", "3"])}
        return dict(draw.choice(MIXED))

    def _group(
        self, name: str, least: int, by_task: Json, tasks: dict[str, int], requests: Json
    ) -> Json:
        draw = self._draw
        annotations = {}
        if draw.random() < 0.1:
            annotations["volcano.sh/sla-waiting-time"] = draw.choice(["30m", "61m", "120m"])
        if len(tasks) > 1 and draw.random() < 0.15:
            annotations["volcano.sh/task-topology-affinity"] = "worker,ps"
        if draw.random() < self._odd / 20:
            annotations["volcano.sh/completed-members"] = '{"worker":"1,40"}'
        spec: Json = {
            "minMember": least,
            "minTaskMember": by_task,
            "queue": self._queue(),
            "priorityClassName": self._class(),
        }
        if draw.random() < (0.2 if self._full else 0.6):
            spec["minResources"] = _least(tasks, requests, least)
        if draw.random() < self._odd / 4:
            spec["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
        age = 3600 + draw.randint(0, 5)
        return {
            "kind": "PodGroup",
            "object": {
                "metadata": {
                    "name": name,
                    "namespace": "ns",
                    "uid": f"group-{name}",
                    "annotations": annotations,
                    "creationTimestamp": _time(EPOCH - age),
                },
                "spec": spec,
                "status": {
                    "phase": draw.choice(["", "Pending", *["Inqueue"] * (6 if self._full else 2)])
                },
            },
        }

    def _class(self) -> str:
        """Later jobs of a full cluster have more often a higher priority than those that fill it."""
        if self._full and self._draw.random() < 0.85:
            return "low" if self._count <= 2 else self._draw.choice(["high", "high", "urgent"])
        return self._draw.choice(["", *CLASSES])

    def _queue(self) -> str:
        draw = self._draw
        if draw.random() < self._odd / 2:
            return draw.choice(["root", "dept", "dept", "gone", "gone", "gone"])
        return draw.choice(self._leaves)

    def _template(self, group: str, task: str, requests: Json) -> tuple[Json, Json]:
        """Spec and metadata of the pods of one task."""
        draw = self._draw
        container: Json = {"resources": {"requests": requests}, "image": "train:latest"}
        if draw.random() < 0.04:
            container["ports"] = [{"containerPort": 80, "hostPort": 80}]
        spec: Json = {"containers": [container], "schedulerName": "volcano"}
        if draw.random() < 0.1:
            spec["nodeSelector"] = {"zone": draw.choice("abc")}
        if draw.random() < 0.1:
            spec["tolerations"] = [{"operator": "Exists"}]
        if draw.random() < 0.06:
            spec["schedulingGates"] = [{"name": draw.choice(["wait", QUEUE_GATE, QUEUE_GATE])}]
        if draw.random() < 0.1:
            spec["priority"] = draw.choice([5, -1])
        if draw.random() < 0.05:
            spec["preemptionPolicy"] = "Never"
        if draw.random() < self._near:
            self._beside(spec)
        if self._claims and draw.random() < 0.5:
            used = {"claimName": draw.choice(self._claims)}
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": used}]
        annotations = {GROUP: group}
        if draw.random() < 0.08:
            annotations["volcano.sh/preemptable"] = "false"
        labels = {TASK: task, "team": draw.choice("xy")}
        return spec, {"annotations": annotations, "labels": labels, "namespace": "ns"}

    def _beside(self, spec: Json) -> None:
        """Affinity to other pods, or spread over domains."""
        draw = self._draw
        selector = {"matchLabels": {TASK: draw.choice(TASKS)}}
        key = draw.choice(["zone", "host"])
        if draw.random() < 0.3:
            spread = {"maxSkew": draw.choice([1, 2]), "topologyKey": key}
            if draw.random() < 0.3:
                spread["whenUnsatisfiable"] = "ScheduleAnyway"
            spec["topologySpreadConstraints"] = [{**spread, "labelSelector": selector}]
            return
        kind = draw.choice(["podAffinity", "podAntiAffinity"])
        term = {"topologyKey": key, "labelSelector": selector}
        if draw.random() < 0.5:
            spec["affinity"] = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
            return
        weighed = {"weight": draw.randint(1, 50), "podAffinityTerm": term}
        spec["affinity"] = {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [weighed]}}

    def _pod(self, name: str, spec: Json, metadata: Json) -> Json:
        owner = {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "name": "j",
            "uid": "u",
            "controller": True,
        }
        named = {**metadata, "name": name, "uid": f"pod-{name}", "ownerReferences": [owner]}
        return {
            "kind": "Pod",
            "object": {"metadata": named, "spec": spec, "status": {"phase": "Pending"}},
        }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _least(tasks: dict[str, int], requests: Json, least: int) -> Json:
    """CPUs of the first `least` pods, in the order of tasks; in thousandths."""
    total, left = 0, least
    for task, count in tasks.items():
        pods = min(left, count)
        left -= pods
        cpu = str(requests[task].get("cpu", "0"))
        total += pods * (int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu))
    return {"cpu": f"{total}m"}
