"""The numbers of a reason, counted again from the objects with plain loops."""

from collections.abc import Callable
from typing import Final, TypeVar

from tests.unit.scheduling.invariants import Amounts, request
from tests.unit.scheduling.objects import TASK
from tests.unit.scheduling.scenarios.scenario import Played, Wait, job_of
from vc.messages.sessions import JobReason, Reason
from vc.model.api.kubernetes import ResourceQuota
from vc.model.api.meta import ApiObject
from vc.model.api.node import Node, Taint
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, PriorityClass, Queue
from vc.model.api.selectors import LabelSelectorRequirement, requirement_matches
from vc.model.api.struct import JsonObject
from vc.model.values.quantity import parse_resources

_Object = TypeVar("_Object", bound=ApiObject)
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
OVERCOMMIT: Final = 1.2


class Count:
    """One job that waits, in a world that rests."""

    def __init__(self, played: Played, job: JobReason) -> None:
        self._objects = played.world.objects()
        self._all = played.waiting
        self._job = job
        self.group = next(g for g in self._of(PodGroup) if g.key == job.group)
        name = self.group.metadata.name
        self._pods = [pod for pod in self._of(Pod) if job_of(pod) == name]
        self._open = [pod for pod in self._pods if not pod.spec.node_name]

    def check(self, wait: Wait) -> None:
        """Everything that the reason says in numbers."""
        reason = self._job.reason
        assert self._job.position == self._position()
        for amount in reason.amounts:
            assert amount.missing == max(0, amount.needed - amount.available)
        if reason.checks:
            self._nodes(reason, wait)
        else:
            _BY_STAGE.get(reason.stage.value, Count._nothing)(self, reason)

    # -- order -----------------------------------------------------------------------------------

    def _position(self) -> int:
        """Among those of its queue that wait: by priority, then by age."""
        values = {c.metadata.name: c.value for c in self._of(PriorityClass)}
        waiting = {job.group for job in self._all.values() if job.queue == self._job.queue}
        order = sorted(
            (
                -values.get(group.spec.priority_class_name, 0),
                group.metadata.creation_timestamp or "",
                group.metadata.uid,
                group.key,
            )
            for group in self._of(PodGroup)
            if group.key in waiting
        )
        return [key for *_, key in order].index(self._job.group) + 1

    # -- nodes -----------------------------------------------------------------------------------

    def _whole_gang(self, reason: Reason) -> None:
        """Of a gang of several tasks: numbers over all of them."""
        assert reason.needed_pods >= self.group.spec.min_member - self._ready()
        assert reason.placeable_pods < reason.needed_pods
        assert f"{reason.placeable_pods} of the {reason.needed_pods} pods" in reason.sentence
        for amount in reason.amounts:
            asked = sorted(request(p).get(amount.resource, 0) for p in self._open)
            assert sum(asked[: reason.needed_pods]) <= amount.needed
            assert amount.needed <= sum(asked[-reason.needed_pods :])
            idle = sum(max(0, self._idle(n).get(amount.resource, 0)) for n in self._of(Node))
            assert amount.available <= idle
            assert amount.missing == max(0, amount.needed - amount.available)

    def _nodes(self, reason: Reason, wait: Wait) -> None:
        if "pods of the gang fit" in reason.sentence:
            self._whole_gang(reason)
            return
        pod = self._refused(reason)
        allowed = list(self._of(Node))
        before = len(allowed)
        for check in reason.checks:
            passes = _CHECKS.get(check.name)
            if passes is not None:
                allowed = [node for node in allowed if passes(pod, node)]
                assert check.nodes_left == len(allowed), check.name
            assert check.nodes_left <= before, check.name
            before = check.nodes_left
            if check.name in wait.left:
                assert check.nodes_left == wait.left[check.name], check.name
        simple = all(check.name in _CHECKS for check in reason.checks)
        one_kind = len({(p.metadata.labels.get(TASK), str(request(p))) for p in self._open}) == 1
        for amount in reason.amounts:
            asks = request(pod)[amount.resource]
            idle = sum(max(0, self._idle(node).get(amount.resource, 0)) for node in allowed)
            assert amount.needed == asks * reason.needed_pods
            if simple and one_kind:
                assert amount.available == idle, amount.resource
            else:
                assert amount.available <= idle, amount.resource
        if simple and one_kind:
            fit = sum(_times(self._idle(node), request(pod)) for node in allowed)
            assert reason.placeable_pods == min(fit, reason.needed_pods)
            assert reason.needed_pods == self.group.spec.min_member - self._ready()
        assert reason.placeable_pods < reason.needed_pods
        if reason.unblock is not None and reason.unblock.action == "add-room":
            assert reason.unblock.pods == reason.needed_pods - reason.placeable_pods
            assert reason.unblock.amounts == request(pod)

    def _refused(self, reason: Reason) -> Pod:
        """A pod of the kind that the reason speaks of."""
        asked = {amount.resource: amount.needed for amount in reason.amounts}
        for pod in self._open:
            if {n: a * reason.needed_pods for n, a in request(pod).items()} == asked:
                return pod
        raise AssertionError(f"no pod of {self._job.group} asks for {asked}")

    def _idle(self, node: Node) -> Amounts:
        """What no pod uses; a reservation belongs to its job."""
        left = dict(parse_resources(node.status.allocatable))
        for pod in self._of(Pod):
            ended = pod.status.phase in ("Succeeded", "Failed")
            place = pod.spec.node_name or pod.status.nominated_node_name
            if place == node.metadata.name and not ended:
                for name, amount in request(pod).items():
                    left[name] = left.get(name, 0) - amount
        return left

    # -- queues ----------------------------------------------------------------------------------

    def _quota(self, reason: Reason) -> None:
        """What the named queue, or the cluster, has left."""
        assert reason.unblock is not None
        if reason.unblock.action == "raise-weight":
            return
        outside = self.group.status.phase in ("", "Pending")
        for amount in reason.amounts:
            target, resource = reason.unblock.target, amount.resource
            if outside:
                assert amount.needed == self._least(self.group).get(resource, 0)
            if target and "guaranteed" not in reason.sentence:
                has = self._has(target, resource, enqueued=outside)
                assert amount.available == max(0, self._limit(target, resource) - has)
            elif not target:
                held = sum(self._held(q, resource) for q in self._of(Queue) if not q.spec.parent)
                assert amount.available == max(0, self._total(resource) - held)

    def _limit(self, name: str, resource: str) -> int:
        (queue,) = [q for q in self._of(Queue) if q.metadata.name == name]
        return dict(parse_resources(queue.spec.capability))[resource]

    def _held(self, queue: Queue, resource: str) -> int:
        kept = dict(parse_resources(queue.spec.guarantee.resource)).get(resource, 0)
        return max(kept, self._has(queue.metadata.name, resource, enqueued=False))

    def _has(self, name: str, resource: str, *, enqueued: bool) -> int:
        """What the pods of a queue and of those below it have, and what jobs have enqueued."""
        below = [name]
        for queue in sorted(self._of(Queue), key=lambda q: len(q.spec.parent)):
            if queue.spec.parent in below:
                below.append(queue.metadata.name)
        total = 0
        for group in self._of(PodGroup):
            if group.spec.queue in below:
                has = self._group_has(group).get(resource, 0)
                least = self._least(group).get(resource, 0)
                inside = group.status.phase not in ("", "Pending")
                total += max(has, least) if enqueued and inside else has
        return total

    def _overcommit(self, reason: Reason) -> None:
        for amount in reason.amounts:
            enqueued = sum(
                max(0, self._least(g).get(amount.resource, 0) - self._group_has(g).get(amount.resource, 0))
                for g in self._of(PodGroup)
                if g.status.phase == "Inqueue"
            )  # fmt: skip
            used = self._total(amount.resource) - sum(
                self._idle(node).get(amount.resource, 0) for node in self._of(Node)
            )
            soon = int(self._total(amount.resource) * OVERCOMMIT) - used - enqueued
            assert amount.available == max(0, soon)
            assert amount.needed == self._least(self.group)[amount.resource]

    def _namespace_quota(self, reason: Reason) -> None:
        (quota,) = self._of(ResourceQuota)
        for amount in reason.amounts:
            hard, used = parse_resources(quota.status.hard), parse_resources(quota.status.used)
            assert amount.available == hard[amount.resource] - used.get(amount.resource, 0)

    # -- pods ------------------------------------------------------------------------------------

    def _tasks(self, reason: Reason) -> None:
        assert reason.unblock is not None
        if reason.unblock.action == "lift-gates":
            gated = [pod for pod in self._open if pod.spec.scheduling_gates]
            assert f"{len(gated)} pods have scheduling gates" in reason.sentence
            assert reason.placeable_pods == len(self._open) - len(gated)
            return
        role = reason.unblock.target if reason.code == "NotEnoughPodsOfTask" else ""
        there = [pod for pod in self._pods if not role or pod.metadata.labels.get(TASK) == role]
        least = self.group.spec.min_task_member[role] if role else self.group.spec.min_member
        assert (reason.placeable_pods, reason.needed_pods) == (len(there), least)
        assert reason.unblock.pods == least - len(there)

    def _victims(self, reason: Reason) -> None:
        terminating = [pod for pod in self._of(Pod) if pod.metadata.deletion_timestamp]
        assert reason.unblock is not None
        assert reason.unblock.pods == len(terminating) > 0

    def _nothing(self, reason: Reason) -> None:
        assert not reason.amounts
        assert not reason.needed_pods

    def _bind(self, reason: Reason) -> None:
        assert reason.unblock is not None
        assert reason.needed_pods == self.group.spec.min_member - self._ready()
        assert reason.placeable_pods == len(self._open) - reason.unblock.pods

    # -- sums ------------------------------------------------------------------------------------

    def _ready(self) -> int:
        return len(self._pods) - len(self._open)

    def _least(self, group: PodGroup) -> Amounts:
        return dict(parse_resources(group.spec.min_resources))

    def _group_has(self, group: PodGroup) -> Amounts:
        total: Amounts = {}
        for pod in self._of(Pod):
            if job_of(pod) == group.metadata.name and pod.spec.node_name:
                for name, amount in request(pod).items():
                    total[name] = total.get(name, 0) + amount
        return total

    def _total(self, resource: str) -> int:
        return sum(parse_resources(n.status.allocatable).get(resource, 0) for n in self._of(Node))

    def _of(self, kind: type[_Object]) -> list[_Object]:
        return [obj for obj in self._objects if isinstance(obj, kind)]


_BY_STAGE: Final[dict[str, Callable[[Count, Reason], None]]] = {
    "quota": Count._quota,
    "overcommit": Count._overcommit,
    "namespace-quota": Count._namespace_quota,
    "tasks": Count._tasks,
    "victims": Count._victims,
    "bind": Count._bind,
}


def _times(idle: Amounts, asked: Amounts) -> int:
    return min(max(0, idle.get(name, 0)) // amount for name, amount in asked.items() if amount)


def _ready(pod: Pod, node: Node) -> bool:
    del pod
    return any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)


def _selected(pod: Pod, node: Node) -> bool:
    return pod.spec.node_selector.items() <= node.metadata.labels.items()


def _affine(pod: Pod, node: Node) -> bool:
    written: JsonObject = ((pod.spec.affinity or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
    return any(_term(term, node) for term in written["nodeSelectorTerms"])


def _term(term: JsonObject, node: Node) -> bool:
    pairs = [("matchExpressions", node.metadata.labels), ("matchFields", {"metadata.name": node.metadata.name})]  # fmt: skip
    return all(
        requirement_matches(LabelSelectorRequirement(**need), labels)
        for part, labels in pairs
        for need in term.get(part) or []
    )


def _tolerated(pod: Pod, node: Node) -> bool:
    return all(_tolerates(pod, taint) for taint in node.spec.taints)


def _tolerates(pod: Pod, taint: Taint) -> bool:
    return any(t.key == taint.key and t.value == taint.value for t in pod.spec.tolerations)


_CHECKS: Final[dict[str, Callable[[Pod, Node], bool]]] = {
    "ready": _ready,
    "schedulable": lambda pod, node: not node.spec.unschedulable,
    "node selector": _selected,
    "node affinity": _affine,
    "taints": _tolerated,
}
"""Those that need nothing but the pod and the node."""
