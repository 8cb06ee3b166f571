"""Invariants after every session, whatever the cluster looks like.

Everything is counted again from the objects with plain loops; the cluster cache is only read to be compared.
"""

import unittest.mock
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from tests.reference.completed import done_and_gone
from tests.unit.scheduling.objects import GROUP, TASK
from vc.model.api import kinds
from vc.model.api.kinds import Kind
from vc.model.api.meta import ApiObject
from vc.model.api.node import Node
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, PriorityClass, Queue
from vc.model.values.quantity import QuantityError, format_resources, parse_resources
from vc.scheduling import cycle
from vc.scheduling.closing.close import close
from vc.scheduling.model.decisions import Decisions
from vc.scheduling.reservations.state import ReservationError
from vc.scheduling.session.session import Session

if TYPE_CHECKING:
    from tests.unit.scheduling.world import World

Amounts = dict[str, int]
_Object = TypeVar("_Object", bound=ApiObject)

DEPTH_MAX: Final = 32
_MOVES: Final = (kinds.NODES, kinds.QUEUES, kinds.PRIORITYCLASSES)
"""A change of these may make a reservation impossible to redeem."""


@contextmanager
def reservations_checked() -> Iterator[None]:
    """Sessions inside also check the invariants of their reservations, before they close.

    The cycle contains exceptions of a session, so violations are raised after it.
    """
    violations: list[ReservationError] = []

    def close_checked(session: Session) -> Decisions:
        decided = session.decided
        try:
            session.reservations.check(bound=decided.binds, evicted_for=list(decided.evicted))
        except ReservationError as error:
            violations.append(error)
        return close(session)

    with unittest.mock.patch.object(cycle, "close", close_checked):
        yield
    if violations:
        raise violations[0]


class Invariants:
    """Checks a world at the right moments of a session."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._reserved: dict[str, list[str]] = {}
        """By group: the uids of the pods that were evicted for it and of those that left then."""
        self._shortfalls: dict[tuple[str, str], int] = {}
        self._ready: dict[str, dict[str, int]] = {}
        """By group, before the session: members that are on nodes or done, by role."""
        self._deciding = False

    def changed(self, kind: Kind) -> None:
        """Somebody else than a session changed an object."""
        if kind in _MOVES and not self._deciding:
            self._reserved.clear()

    def before(self) -> None:
        self._deciding = True
        self._shortfalls = self._missing_guarantees()
        self._ready = self._ready_members()

    def bound(self, decisions: Decisions) -> None:
        """The binds came true, and nothing else yet."""
        after = self._missing_guarantees()
        for at, short in self._shortfalls.items():
            said = f"others took what {at[0]} is guaranteed of {at[1]}"
            assert after.get(at, short + 1) <= short, said
        self._gangs_are_bound_whole(decisions)
        self._reservations_are_taken_over_by_priority(decisions)
        self._preemptors_are_bound_after_their_victims(decisions)

    def after(self, decisions: Decisions) -> None:
        """Everything came true."""
        self._deciding = False
        terminating = [pod.metadata.uid for pod in self._pods() if pod.metadata.deletion_timestamp]
        for eviction in decisions.evictions:
            victims = [ref.uid for ref in eviction.pods]
            self._reserved[eviction.group] = victims + terminating
        self._nodes_hold_their_pods()
        self._queues_keep_within(decisions)

    # -- one each --------------------------------------------------------------------------------

    def _nodes_hold_their_pods(self) -> None:
        table = self._world.cache.facts.nodes.table()
        over = table.used > np.maximum(table.allocatable, 0)
        assert not over.any(), f"over-committed: {table.static.names} {table.used}"
        used: dict[str, Amounts] = {}
        for pod in self._pods():
            if pod.spec.node_name and pod.status.phase not in ("Succeeded", "Failed"):
                _add(used.setdefault(pod.spec.node_name, {}), request(pod))
        for row, name in enumerate(table.static.names):
            for resource, column in table.resources.items():
                expected = used.get(name, {}).get(resource, 0)
                assert table.used[row, column] == expected, f"{name} {resource}"

    def _queues_keep_within(self, decisions: Decisions) -> None:
        """What queues have is the sum of their pods, in the columns and as the session says it."""
        own, total = self._allocated(), self._rolled_up()
        snapshot = self._world.cache.snapshot("check", now=self._world.now)
        for name, use in snapshot.use.items():
            assert _some(use.allocated) == _some(own.get(name, {})), f"queue {name} does not add up"
        for said in decisions.queues if not decisions.releases else ():
            has = format_resources(_some(total[said.queue]))
            assert said.allocated == has, f"queue {said.queue} is said to have {said.allocated}"
        for queue in self._queues().values():
            for resource, most in _amounts(queue.spec.capability).items():
                has_now = total[queue.metadata.name].get(resource, 0)
                assert has_now <= most, f"queue {queue.metadata.name} over its {resource}"

    def _gangs_are_bound_whole(self, decisions: Decisions) -> None:
        """Who gets a first pod gets its minimum, of all and of each role, in the same session."""
        if not any(p.name == "gang" and p.on("jobready") for p in self._world.conf.plugins):
            return
        roles = {pod.metadata.uid: _role(pod) for pod in self._pods()}
        for gang_bind in decisions.binds:
            ready = dict(self._ready.get(gang_bind.group, {}))
            for bind in gang_bind.binds:
                _add(ready, {roles[bind.uid]: 1})
            missing = _missing_members(self._groups()[gang_bind.group], ready)
            assert not missing, f"{gang_bind.group} is partial: {missing}"

    def _reservations_are_taken_over_by_priority(self, decisions: Decisions) -> None:
        """By a job of the same queue and of higher priority, which is bound or now waits for those that
        the others waited for: who left for a job leaves for this one."""
        bound = {gang.group: None for gang in decisions.binds}
        for takeover in decisions.takeovers:
            taker = self._groups()[takeover.group]
            assert takeover.lost, f"{takeover.group} takes over no reservation"
            assert (takeover.group in bound) != bool(takeover.reserved_nodes)
            for name in takeover.lost:
                holder = self._groups()[name]
                assert holder.spec.queue == taker.spec.queue
                assert self._priority(holder) < self._priority(taker)
                left = self._reserved.pop(name, [])
                if takeover.reserved_nodes:
                    self._reserved.setdefault(takeover.group, []).extend(left)
            if takeover.reserved_nodes:
                terminating = [
                    p.metadata.uid for p in self._pods() if p.metadata.deletion_timestamp
                ]
                self._reserved.setdefault(takeover.group, []).extend(terminating)

    def _priority(self, group: PodGroup) -> int:
        classes = {c.metadata.name: c.value for c in self._kind(PriorityClass)}
        return classes.get(group.spec.priority_class_name, 0)

    def _preemptors_are_bound_after_their_victims(self, decisions: Decisions) -> None:
        """A preemptor is bound once all pods are gone that its simulation removed."""
        there = {pod.metadata.uid: None for pod in self._pods()}
        bound = {gang.group: None for gang in decisions.binds}
        for group, victims in list(self._reserved.items()):
            waiting = any(uid in there for uid in victims)
            if group in bound or group not in self._groups() or self._has_none_waiting(group):
                del self._reserved[group]
            elif not waiting:
                raise AssertionError(f"{group} was not bound: its victims were not needed")

    def _missing_guarantees(self) -> dict[tuple[str, str], int]:
        """How much of its guarantee each queue could not have any more, by queue and resource.

        Where more is guaranteed or taken than there is, the first job has it.
        """
        idle = self._idle()
        total = self._rolled_up()
        return {
            (name, resource): max(
                0, least - total[name].get(resource, 0) - max(0, idle.get(resource, 0))
            )
            for name, queue in self._queues().items()
            for resource, least in _amounts(queue.spec.guarantee.resource).items()
            if self._open_claims(resource) <= idle.get(resource, 0)
        }

    def _open_claims(self, resource: str) -> int:
        """What queues are guaranteed beyond what they have, each above those below it."""
        total = self._rolled_up()
        return sum(
            self._holds(name, resource) - total[name].get(resource, 0)
            for name, queue in self._queues().items()
            if queue.spec.parent not in total
        )

    def _holds(self, name: str, resource: str, depth: int = 0) -> int:
        queues, total = self._queues(), self._rolled_up()
        below = [q.metadata.name for q in queues.values() if q.spec.parent == name]
        own = total[name].get(resource, 0) - sum(total[n].get(resource, 0) for n in below)
        held = sum(self._holds(n, resource, depth + 1) for n in below) if depth < DEPTH_MAX else 0
        least = _amounts(queues[name].spec.guarantee.resource).get(resource, 0)
        return max(least, own + held)

    # -- counting --------------------------------------------------------------------------------

    def _idle(self) -> Amounts:
        """What is free, or will be when those that end have ended."""
        idle: Amounts = {}
        ready = [node for node in self._kind(Node) if _is_ready(node)]
        for node in ready:
            _add(idle, _amounts(node.status.allocatable))
        names = {node.metadata.name: None for node in ready}
        for pod in self._pods():
            ends = pod.status.phase in ("Succeeded", "Failed") or pod.metadata.deletion_timestamp
            if pod.spec.node_name in names and not ends:
                _add(idle, request(pod), sign=-1)
        return idle

    def _allocated(self) -> dict[str, Amounts]:
        """By queue, without those below it."""
        groups = self._groups()
        total: dict[str, Amounts] = {}
        for pod in self._pods():
            key = f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP)}"
            # Pods of a deleted group stay in its queue.
            group = groups.get(key) or self._world.deleted_groups.get(key)
            ours = GROUP in pod.metadata.annotations and pod.spec.scheduler_name == "volcano"
            if _is_allocated(pod) and (group is not None or ours):
                queue = group.spec.queue if group is not None else ""
                _add(total.setdefault(queue or "default", {}), request(pod))
        return total

    def _ready_members(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for pod in self._pods():
            if _is_allocated(pod) or pod.status.phase == "Succeeded":
                key = f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP)}"
                _add(found.setdefault(key, {}), {_role(pod): 1})
        for group in self._kind(PodGroup):
            for role in done_and_gone(group, self._pods()):
                _add(found.setdefault(group.key, {}), {role: 1})
        return found

    def _rolled_up(self) -> dict[str, Amounts]:
        """By queue, with those below it; what names a queue that does not exist is `root`'s."""
        queues = self._queues()
        total: dict[str, Amounts] = {name: {} for name in queues}
        for name, amounts in self._allocated().items():
            at, seen = name if name in queues else "root", 0
            above: dict[str, None] = {}
            while at in queues and at not in above and seen < DEPTH_MAX:
                above[at] = None
                at, seen = queues[at].spec.parent, seen + 1
            for queue in above:
                _add(total[queue], amounts)
        return total

    def _has_none_waiting(self, group: str) -> bool:
        return not any(
            f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP)}" == group
            and not pod.spec.node_name
            for pod in self._pods()
        )

    def _groups(self) -> dict[str, PodGroup]:
        return {group.key: group for group in self._kind(PodGroup)}

    def _queues(self) -> dict[str, Queue]:
        return {queue.metadata.name: queue for queue in self._kind(Queue)}

    def _pods(self) -> list[Pod]:
        return self._world.pods()

    def _kind(self, kind: type[_Object]) -> list[_Object]:
        return [obj for obj in self._world.objects() if isinstance(obj, kind)]


def request(pod: Pod) -> Amounts:
    """What a pod asks for, of plain containers; the place it takes included."""
    total: Amounts = {"pods": 1000}
    if pod.spec.held_requests:
        _add(total, _amounts(pod.spec.held_requests))
        return total
    for container in pod.spec.containers:
        _add(total, _amounts({**container.resources.limits, **container.resources.requests}))
    return total


def _role(pod: Pod) -> str:
    return pod.metadata.labels.get(TASK, "")


def _missing_members(group: PodGroup, ready: dict[str, int]) -> dict[str, int]:
    """What a gang lacks, by role, and under "" of any; roles count where minMember covers them."""
    minimums = {role: least for role, least in group.spec.min_task_member.items() if least > 0}
    if sum(minimums.values()) > group.spec.min_member:
        minimums = {}
    missing = {role: least - ready.get(role, 0) for role, least in minimums.items()}
    missing[""] = group.spec.min_member - sum(ready.values())
    return {role: short for role, short in missing.items() if short > 0}


def _is_ready(node: Node) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)


def _is_allocated(pod: Pod) -> bool:
    ends = pod.status.phase in ("Succeeded", "Failed", "Unknown") or pod.metadata.deletion_timestamp
    return bool(pod.spec.node_name) and not ends


def _amounts(written: object) -> Amounts:
    try:
        return dict(parse_resources(written))  # type: ignore[arg-type]  # as the objects have it
    except QuantityError:
        return {}


def _some(amounts: Amounts) -> Amounts:
    return {name: amount for name, amount in amounts.items() if amount}


def _add(total: Amounts, amounts: Amounts, *, sign: int = 1) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + sign * amount
