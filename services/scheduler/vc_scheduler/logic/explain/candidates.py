"""Single remedies that may start a waiting job where what the sessions propose does not, in the order of trial.

The order is from what the job's owner can do to what takes an administrator: priority, the job's own size,
other jobs that end, rules of queues, budgets, then limits and nodes. A candidate is a guess; only a
simulation makes it a remedy.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from vc_messages.sessions import Unblock, Where
from vc_model.kubernetes import PodDisruptionBudget, ResourceQuota
from vc_model.pod import Pod
from vc_model.quantity import parse_resources
from vc_model.scheduling import PodGroup, PriorityClass, Queue
from vc_scheduler.logic.amounts import AMOUNT_MAX, POD_UNITS, PODS, Amounts
from vc_scheduler.logic.explain.cluster_objects import asked_for, group_of
from vc_scheduler.logic.explain.simulation import Snapshot
from vc_scheduler.logic.shares import WEIGHT_MAX

Pairs = tuple[tuple[str, int], ...]
Labels = tuple[tuple[str, str], ...]

PRIORITY_MAX: Final = 1_000_000_000
"""The highest value that Kubernetes lets users give a class."""
NEW_CLASS: Final = "above-all-others"
ANCESTORS_MAX: Final = 32
ENDED_ALONE_MAX: Final = 16
"""Running jobs of which each is tried alone."""
PLENTY: Final = AMOUNT_MAX // 1024
"""Of a limit: more than any job asks for, and far from the bound of an amount."""
SHRINK_BY: Final = (2, 4, 8, 64)
NODES_TIMES: Final = (1, 4, 16)
"""So many times the whole job, on nodes of its own."""
ROOM_SHAPES_MAX: Final = 64
"""Shapes of waiting pods for which nodes are proposed together."""


class Candidates:
    """For one pod group."""

    def __init__(self, snapshot: Snapshot, group: PodGroup) -> None:
        self._group = group
        self._objects = snapshot.objects
        self._actions = snapshot.conf.actions
        self._pods = [o for o in self._objects if isinstance(o, Pod)]
        self._own = [p for p in self._pods if group_of(p) == group.key] or [
            pod for pod in snapshot.make_pods(group.key) if isinstance(pod, Pod)
        ]
        self._queues = {o.key: o for o in self._objects if isinstance(o, Queue)}
        self._classes = [o for o in self._objects if isinstance(o, PriorityClass)]

    def kinds(self) -> Sequence[Callable[[], Iterator[Unblock]]]:
        """One source a kind; each gives its candidates from the smallest on."""
        return (
            self.priority,
            self.smaller,
            self.ended,
            self.reclaim,
            self.budgets,
            self.shares,
            self.limits,
            self.nodes,
        )

    def priority(self) -> Iterator[Unblock]:
        """An existing class above its own, lowest first, then one above all."""
        values = {known.key: known.value for known in self._classes}
        default = next((known.value for known in self._classes if known.global_default), 0)
        name = self._group.spec.priority_class_name
        own = values.get(name, 0) if name else default
        higher = sorted((value, key) for key, value in values.items() if value > own)
        for value, key in higher:
            if value <= PRIORITY_MAX:
                yield Unblock(action="raise-priority", target=key, priority=value)
        highest = max([own, *(v for v in values.values() if v <= PRIORITY_MAX)], default=0)
        if highest < PRIORITY_MAX:
            yield Unblock(action="raise-priority", target=NEW_CLASS, priority=highest + 1)

    def smaller(self) -> Iterator[Unblock]:
        """A smaller minAvailable, then smaller requests, then both."""
        least = self._group.spec.min_member
        fewer = [n for n in dict.fromkeys((least - 1, least // 2, 1)) if 0 < n < least]
        minimums = [Unblock(action="lower-minimum", target=self._group.key, pods=n) for n in fewer]
        yield from minimums
        shrunk = [self._shrunk(by) for by in SHRINK_BY]
        for parts in shrunk:
            if parts:
                yield together(parts)
        if minimums and shrunk[-1]:
            yield together([*shrunk[-1], minimums[-1]])

    def _shrunk(self, by: int) -> list[Unblock]:
        tasks: dict[str, Amounts] = {}
        for pod in self._own:
            task = next((v for k, v in pod.metadata.labels.items() if k.endswith("task-spec")), "")
            tasks.setdefault(task, asked_for(pod))
        return [
            Unblock(
                action="shrink-request",
                target=task,
                amounts={name: max(1, amount // by) for name, amount in amounts.items()},
            )
            for task, amounts in sorted(tasks.items())
            if amounts
        ]

    def ended(self) -> Iterator[Unblock]:
        """Running jobs end: each alone, then more and more of them, those of its own queue first."""
        listed = self._holders()
        for key in listed[:ENDED_ALONE_MAX]:
            yield Unblock(action="end-jobs", jobs=[key])
        count = 2
        while count < len(listed):
            yield Unblock(action="end-jobs", jobs=sorted(listed[:count]))
            count *= 2
        if len(listed) > 1:
            yield Unblock(action="end-jobs", jobs=sorted(listed))

    def _holders(self) -> list[str]:
        placed: dict[str, int] = {}
        for pod in self._pods:
            key = group_of(pod)
            if pod.spec.node_name and key and key != self._group.key:
                placed[key] = placed.get(key, 0) + 1
        groups = {o.key: o for o in self._objects if isinstance(o, PodGroup)}

        def order(key: str) -> tuple[bool, int, str]:
            other = groups[key].spec.queue != self._group.spec.queue
            return (other, placed[key], key)

        return sorted((key for key in placed if key in groups), key=order)

    def reclaim(self) -> Iterator[Unblock]:
        """Queues that hold pods and are not reclaimable: each, then all of them."""
        if "reclaim" not in self._actions:
            return
        groups = {o.key: o.spec.queue for o in self._objects if isinstance(o, PodGroup)}
        holding = {groups.get(group_of(p), "") for p in self._pods if p.spec.node_name}
        closed = [
            name
            for name, known in sorted(self._queues.items())
            if known.spec.reclaimable is False and name in holding
        ]
        for name in closed:
            yield Unblock(action="allow-reclaim", target=name)
        if len(closed) > 1:
            yield Unblock(action="allow-reclaim", target=",".join(closed))

    def budgets(self) -> Iterator[Unblock]:
        """Disruption budgets: each, then all of them."""
        known = sorted(o.key for o in self._objects if isinstance(o, PodDisruptionBudget))
        for key in known[:ENDED_ALONE_MAX]:
            yield Unblock(action="lift-budget", target=key)
        if len(known) > 1:
            yield Unblock(action="lift-budget", target=",".join(known))

    def shares(self) -> Iterator[Unblock]:
        """A larger share for its queue and those above it: weight, and what it deserves."""
        line = self._line()
        if "reclaim" not in self._actions or not line:
            return
        for times in (2, 10, WEIGHT_MAX):
            weights = [min(WEIGHT_MAX, queue.spec.weight * times) for queue in line]
            parts = [
                Unblock(action="raise-weight", target=queue.key, weight=weight)
                for queue, weight in zip(line, weights, strict=True)
                if weight > queue.spec.weight
            ]
            if parts:
                yield together(parts)
        needed = self._needed()
        yield together(
            [Unblock(action="raise-deserved", target=q.key, amounts=needed) for q in line]
        )

    def limits(self) -> Iterator[Unblock]:
        """No limit of its queue, of those above it and of its namespace is in the way."""
        parts = self._unlimited()
        if parts:
            yield together(parts)

    def nodes(self) -> Iterator[Unblock]:
        """Nodes for the whole job, and for others that take them first; then without limits, too."""
        unlimited = self._unlimited()
        own = [self._rooms(self._own, times) for times in NODES_TIMES]
        for rooms in (*own, *(self._rooms_for_all(times) for times in NODES_TIMES)):
            if rooms:
                yield together(rooms)
                if unlimited:
                    yield together([*unlimited, *rooms])

    def _rooms_for_all(self, times: int) -> list[Unblock]:
        """For every pod that waits: jobs before it, in a fifo queue too, need nodes of their own."""
        waiting = {pod.key: pod for pod in (*self._pods, *self._own) if not pod.spec.node_name}
        rooms = self._rooms([waiting[key] for key in sorted(waiting)], times)
        return rooms if len(rooms) <= ROOM_SHAPES_MAX else []

    def _rooms(self, pods: Sequence[Pod], times: int) -> list[Unblock]:
        counts: dict[tuple[Pairs, Labels], int] = {}
        for pod in pods:
            if not pod.spec.node_name:
                amounts = asked_for(pod) | {PODS: POD_UNITS}
                shape = (
                    tuple(sorted(amounts.items())),
                    tuple(sorted(pod.spec.node_selector.items())),
                )
                counts[shape] = counts.get(shape, 0) + 1
        return [
            Unblock(
                action="add-room",
                pods=count * times,
                amounts=dict(amounts),
                where=Where(labels=dict(labels)) if labels else None,
            )
            for (amounts, labels), count in sorted(counts.items())
        ]

    def _unlimited(self) -> list[Unblock]:
        parts = [
            Unblock(
                action="raise-capability",
                target=queue.key,
                amounts=dict.fromkeys(sorted(queue.spec.capability), PLENTY),
            )
            for queue in self._line()
            if queue.spec.capability
        ]
        quotas = (o for o in self._objects if isinstance(o, ResourceQuota))
        parts += [
            Unblock(
                action="raise-quota",
                target=quota.key,
                amounts=dict.fromkeys(sorted(quota.status.hard), PLENTY),
            )
            for quota in sorted(quotas, key=lambda known: known.key)
            if quota.metadata.namespace == self._group.metadata.namespace
        ]
        return parts

    def _line(self) -> list[Queue]:
        """Its queue and those above it."""
        found: list[Queue] = []
        known = self._queues.get(self._group.spec.queue)
        while known is not None and known not in found and len(found) < ANCESTORS_MAX:
            found.append(known)
            known = self._queues.get(known.spec.parent)
        return found

    def _needed(self) -> Amounts:
        total = dict(parse_resources(self._group.spec.min_resources or {}))
        if total:
            return total
        for pod in self._own:
            for name, amount in asked_for(pod).items():
                total[name] = total.get(name, 0) + amount
        return total


def together(parts: Sequence[Unblock]) -> Unblock:
    """Several as one remedy: the first, with the others."""
    first, *others = parts
    return msgspec.structs.replace(first, also=list(others))
