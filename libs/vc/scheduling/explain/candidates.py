"""Single remedies that are tried when the proposals of sessions do not start a job.

The order is from what the owner of the job can do to what needs an administrator: priority, size of
the job, end of other jobs, reclaim rules, disruption budgets, shares, then limits and nodes. A
candidate is only a guess; a simulation decides whether it is a remedy.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from vc.messages.sessions import Unblock, Where
from vc.model.api.kubernetes import PodDisruptionBudget, ResourceQuota
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, PriorityClass, Queue
from vc.model.values.quantity import parse_resources
from vc.model.values.resources import Resources
from vc.scheduling.explain.cluster_objects import group_of, requests_of
from vc.scheduling.explain.simulation import Snapshot
from vc.scheduling.model.amounts import AMOUNT_MAX, POD_UNITS, PODS, Amounts
from vc.scheduling.plugins.queue_shares.tree import WEIGHT_MAX

Pairs = tuple[tuple[str, int], ...]
Labels = tuple[tuple[str, str], ...]

PRIORITY_MAX: Final = 1_000_000_000
"""Highest value that Kubernetes permits for a PriorityClass of a user."""
NEW_CLASS: Final = "above-all-others"
ANCESTORS_MAX: Final = 32
ENDED_ALONE_MAX: Final = 16
"""Number of running jobs (or disruption budgets) that are tried one at a time."""
PLENTY: Final = AMOUNT_MAX // 1024
"""An amount for a limit that is larger than any request, and far below the bound of an amount."""
SHRINK_BY: Final = (2, 4, 8, 64)
NODES_TIMES: Final = (1, 4, 16)
"""Multiples of the whole job for which nodes are added."""
NODE_SHAPES_MAX: Final = 64
"""Maximum number of shapes of waiting pods for which nodes are proposed together."""


class Candidates:
    """Candidates for one pod group."""

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
        """Return one source per kind of remedy; each yields its candidates from the smallest on."""
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
        """Yield existing classes above the job's own, lowest first, then a new class above all."""
        values = {known.key: known.value for known in self._classes}
        # Without a class of its own the job has the global default, as admission would set it.
        default = next((known.value for known in self._classes if known.global_default), 0)
        name = self._group.spec.priority_class_name
        own = values.get(name, 0) if name else default
        higher = sorted((value, key) for key, value in values.items() if value > own)
        for value, key in higher:
            # Higher values are reserved for system classes, which a user must not use.
            if value <= PRIORITY_MAX:
                yield Unblock(action="raise-priority", target=key, priority=value)
        highest = max([own, *(v for v in values.values() if v <= PRIORITY_MAX)], default=0)
        if highest < PRIORITY_MAX:
            yield Unblock(action="raise-priority", target=NEW_CLASS, priority=highest + 1)

    def smaller(self) -> Iterator[Unblock]:
        """Yield a smaller minAvailable, then smaller requests, then both."""
        least = self._group.spec.min_member
        # The smallest reduction comes first, since the first candidate that works is reported.
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
        """Return the parts that divide the requests of each task by `by`."""
        tasks: dict[str, Amounts] = {}
        for pod in self._own:
            task = next((v for k, v in pod.metadata.labels.items() if k.endswith("task-spec")), "")
            tasks.setdefault(task, requests_of(pod))
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
        """Yield the end of running jobs: one at a time, then growing sets.

        Jobs of the same queue come first.
        """
        listed = self._holders()
        for key in listed[:ENDED_ALONE_MAX]:
            yield Unblock(action="end-jobs", jobs=[key])
        count = 2
        # The sets double, so that a cluster with many jobs needs few simulations. The search
        # removes no single job from a set afterwards.
        while count < len(listed):
            yield Unblock(action="end-jobs", jobs=sorted(listed[:count]))
            count *= 2
        if len(listed) > 1:
            yield Unblock(action="end-jobs", jobs=sorted(listed))

    def _holders(self) -> list[str]:
        """Return other jobs with placed pods: those of the same queue first, then the smallest."""
        placed: dict[str, int] = {}
        for pod in self._pods:
            key = group_of(pod)
            if pod.spec.node_name and key and key != self._group.key:
                placed[key] = placed.get(key, 0) + 1
        groups = {o.key: o for o in self._objects if isinstance(o, PodGroup)}

        def order(key: str) -> tuple[bool, int, str]:
            # Jobs of the same queue also free quota of the queue, so they are the more likely
            # remedy.
            other = groups[key].spec.queue != self._group.spec.queue
            return (other, placed[key], key)

        return sorted((key for key in placed if key in groups), key=order)

    def reclaim(self) -> Iterator[Unblock]:
        """Yield queues with pods that are not reclaimable: one at a time, then all of them."""
        if "reclaim" not in self._actions:
            return
        groups = {o.key: o.spec.queue for o in self._objects if isinstance(o, PodGroup)}
        holders = {groups.get(group_of(p), "") for p in self._pods if p.spec.node_name}
        closed = [
            name
            for name, known in sorted(self._queues.items())
            if known.spec.reclaimable is False and name in holders
        ]
        for name in closed:
            yield Unblock(action="allow-reclaim", target=name)
        if len(closed) > 1:
            yield Unblock(action="allow-reclaim", target=",".join(closed))

    def budgets(self) -> Iterator[Unblock]:
        """Yield disruption budgets: one at a time, then all of them."""
        known = sorted(o.key for o in self._objects if isinstance(o, PodDisruptionBudget))
        for key in known[:ENDED_ALONE_MAX]:
            yield Unblock(action="lift-budget", target=key)
        if len(known) > 1:
            yield Unblock(action="lift-budget", target=",".join(known))

    def shares(self) -> Iterator[Unblock]:
        """Yield a larger share for the queue and its ancestors: weights, then deserved amounts."""
        ancestors = self._ancestors()
        if "reclaim" not in self._actions or not ancestors:
            return
        for times in (2, 10, WEIGHT_MAX):
            # Ancestors are raised together with the queue, because the share of a queue is a part
            # of its parent's share.
            weights = [min(WEIGHT_MAX, queue.spec.weight * times) for queue in ancestors]
            parts = [
                Unblock(action="raise-weight", target=queue.key, weight=weight)
                for queue, weight in zip(ancestors, weights, strict=True)
                if weight > queue.spec.weight
            ]
            if parts:
                yield together(parts)
        needed = self._needed()
        yield together(
            [Unblock(action="raise-deserved", target=q.key, amounts=needed) for q in ancestors]
        )

    def limits(self) -> Iterator[Unblock]:
        """Yield the removal of all limits of the queue, its ancestors and the namespace."""
        parts = self._unlimited()
        if parts:
            yield together(parts)

    def nodes(self) -> Iterator[Unblock]:
        """Yield nodes for the job, then for all waiting pods; each also with all limits removed."""
        unlimited = self._unlimited()
        own = [self._nodes_for(self._own, times) for times in NODES_TIMES]
        # Multiples are tried because other jobs may use some of the new nodes first.
        for node_capacity in (*own, *(self._nodes_for_all(times) for times in NODES_TIMES)):
            if node_capacity:
                yield together(node_capacity)
                if unlimited:
                    yield together([*unlimited, *node_capacity])

    def _nodes_for_all(self, times: int) -> list[Unblock]:
        """Return nodes for every waiting pod.

        Jobs that come before this one, also in a FIFO queue, would use nodes that are meant for it.
        """
        waiting = {pod.key: pod for pod in (*self._pods, *self._own) if not pod.spec.node_name}
        node_capacity = self._nodes_for([waiting[key] for key in sorted(waiting)], times)
        return node_capacity if len(node_capacity) <= NODE_SHAPES_MAX else []

    def _nodes_for(self, pods: Sequence[Pod], times: int) -> list[Unblock]:
        """Return the parts that add nodes for these pods, one per requests and node selector."""
        counts: dict[tuple[Pairs, Labels], int] = {}
        for pod in pods:
            if not pod.spec.node_name:
                amounts = requests_of(pod) | {PODS: POD_UNITS}
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
        """Return the parts that raise every capability and quota that applies to the job."""
        parts = [
            Unblock(
                action="raise-capability",
                target=queue.key,
                amounts=dict.fromkeys(sorted(queue.spec.capability), PLENTY),
            )
            for queue in self._ancestors()
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

    def _ancestors(self) -> list[Queue]:
        """Return the queue and its ancestors; a cycle of parents ends the list."""
        found: list[Queue] = []
        known = self._queues.get(self._group.spec.queue)
        while known is not None and known not in found and len(found) < ANCESTORS_MAX:
            found.append(known)
            known = self._queues.get(known.spec.parent)
        return found

    def _needed(self) -> Amounts:
        """Return minResources, or the sum of the requests of the job's pods."""
        written = parse_resources(self._group.spec.min_resources or {})
        return written or Resources.total(requests_of(pod) for pod in self._own)


def together(parts: Sequence[Unblock]) -> Unblock:
    """Combine several remedies into one: the first, with the others as further parts."""
    first, *others = parts
    return msgspec.structs.replace(first, also=list(others))
