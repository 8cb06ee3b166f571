"""Converts the fact of a pod to a row.

Assumed binds are applied here and nowhere else: a pending pod that we bound, and whose fact does
not show it yet, becomes a row with status Binding on the chosen node. So everything that counts
pods includes our unconfirmed binds without special cases.
"""

import re
from typing import Final

import msgspec

from vc.model.api.keys import (
    COOLDOWN_TIME,
    GROUP_NAME,
    GROUP_NAME_ALTERNATIVE,
    PREEMPTABLE,
    QUEUE_ALLOCATED,
    QUEUE_ALLOCATION_GATE,
    TASK_INDEX,
    TASK_PRIORITY,
    TASK_SPEC,
)
from vc.model.api.meta import controller_of, object_key
from vc.model.api.pod import Container, Pod, PodSpec
from vc.model.values.times import parse_duration, parse_time
from vc.scheduling.cache.support import unsupported_in_pod
from vc.scheduling.model.amounts import unreadable
from vc.scheduling.model.pod_group_status import read_time
from vc.scheduling.model.rows import PodRow, TaskStatus
from vc.scheduling.model.shapes import Shapes, broken_shape
from vc.scheduling.pod_status.effects import waiting_message

_POD_SCHEDULED: Final = "PodScheduled"
_DEFAULT_PRIORITY: Final = 1
_NEVER: Final = "Never"
_CRITICAL_CLASSES: Final = ("system-cluster-critical", "system-node-critical")
_SYSTEM_NAMESPACE: Final = "kube-system"
_INDEX_MAX: Final = 2**31
_SUFFIX: Final = re.compile(r"-(\d{1,10})$")


class PodReader:
    """Converts facts to rows."""

    def __init__(self, scheduler_names: tuple[str, ...]) -> None:
        self._scheduler_names = frozenset(scheduler_names)
        self._shapes = Shapes()

    def row(self, pod: Pod, *, assumed_node: str = "") -> PodRow:
        """The row of a pod; `assumed_node` is the node of an assumed bind.

        An unreadable pod still occupies its node. Its request and its node count, the rest is left
        out, and it is not placed.
        """
        try:
            return self._row(pod, assumed_node=assumed_node)
        except Exception as error:  # noqa: BLE001 - of one pod, whatever it is
            row = self._row(bare(pod), assumed_node=assumed_node)
            return msgspec.structs.replace(row, shape=broken_shape(row.shape, unreadable(error)))

    def _row(self, pod: Pod, *, assumed_node: str) -> PodRow:
        status = _status(pod)
        node = pod.spec.node_name
        if status is TaskStatus.PENDING and assumed_node:
            status, node = TaskStatus.BINDING, assumed_node
        metadata, pending = pod.metadata, status is TaskStatus.PENDING
        return PodRow(
            key=pod.key,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            group=_group(pod),
            task=_tag(pod, TASK_SPEC),
            index=_index(pod),
            priority=_priority(pod),
            shape=self._shapes.of(pod.spec),
            status=status,
            node=node,
            # A pod without one of our scheduler names is counted, but never placed.
            ours=pod.spec.scheduler_name in self._scheduler_names,
            gated=any(gate.name != QUEUE_ALLOCATION_GATE for gate in pod.spec.scheduling_gates),
            controlled=controller_of(metadata) is not None,
            labels=metadata.labels,
            critical=_critical(pod),
            preemptable=_preemptable(pod),
            preempts=pod.spec.preemption_policy != _NEVER,
            created=read_time(metadata.creation_timestamp) if pending else 0.0,
            waiting_message=waiting_message(pod) if pending else "",
            nominated=pod.status.nominated_node_name if pending else "",
            queue_gated=_queue_gated(pod),
            queue_reserved=status is TaskStatus.PENDING and _queue_reserved(pod),
            protected_until=_protected_until(pod),
            unsupported=unsupported_in_pod(pod) if pending else "",
            started=pod.status.start_time or "",
            creation_timestamp=metadata.creation_timestamp or "",
            class_priority=pod.spec.priority,
            gate_names=tuple(
                gate.name
                for gate in pod.spec.scheduling_gates
                if gate.name != QUEUE_ALLOCATION_GATE
            ),
        )


def bare(pod: Pod) -> Pod:
    """The pod with its identity, node and request, without fields of free form."""
    spec = PodSpec(
        containers=[Container(resources=c.resources) for c in pod.spec.containers],
        init_containers=[
            Container(resources=c.resources, restart_policy=c.restart_policy)
            for c in pod.spec.init_containers
        ],
        overhead=pod.spec.overhead,
        resources=pod.spec.resources,
        node_name=pod.spec.node_name,
        scheduler_name=pod.spec.scheduler_name,
        priority=pod.spec.priority,
        scheduling_gates=pod.spec.scheduling_gates,
    )
    return msgspec.structs.replace(pod, spec=spec)


def _queue_gated(pod: Pod) -> bool:
    """Whether it only waits for quota of its queue, which a session assigns (docs/behaviour.md 5.5)."""
    gates = pod.spec.scheduling_gates
    return bool(gates) and all(gate.name == QUEUE_ALLOCATION_GATE for gate in gates)


def _queue_reserved(pod: Pod) -> bool:
    """Whether we removed its gate, as the annotation written with it shows."""
    gates = [gate.name for gate in pod.spec.scheduling_gates]
    lifted = QUEUE_ALLOCATION_GATE not in gates
    return lifted and pod.metadata.annotations.get(QUEUE_ALLOCATED) == "true"


def _critical(pod: Pod) -> bool:
    return (
        pod.spec.priority_class_name in _CRITICAL_CLASSES
        or pod.metadata.namespace == _SYSTEM_NAMESPACE
    )


def _preemptable(pod: Pod) -> bool:
    """The annotation, then the label. Pods are preemptable by default."""
    metadata = pod.metadata
    written = metadata.annotations.get(PREEMPTABLE) or metadata.labels.get(PREEMPTABLE) or ""
    return written.lower() != "false"


def _protected_until(pod: Pod) -> float:
    """The end of the cooldown after the bind: the annotation, then the label. An invalid duration
    protects nothing."""
    metadata = pod.metadata
    written = metadata.annotations.get(COOLDOWN_TIME) or metadata.labels.get(COOLDOWN_TIME)
    if not written:
        return 0.0
    for condition in pod.status.conditions:
        if condition.type == _POD_SCHEDULED and condition.status == "True":
            try:
                bound_at = parse_time(condition.last_transition_time)
                return bound_at + parse_duration(written) if bound_at is not None else 0.0
            except ValueError:
                return 0.0
    return 0.0


def _status(pod: Pod) -> TaskStatus:
    phase = pod.status.phase
    # Finished pods stay finished while they are being deleted: their node is already free.
    if phase == "Succeeded":
        return TaskStatus.SUCCEEDED
    if phase == "Failed":
        return TaskStatus.FAILED
    if pod.metadata.deletion_timestamp:
        return TaskStatus.RELEASING
    if phase == "Running":
        return TaskStatus.RUNNING
    if phase == "Unknown":
        return TaskStatus.UNKNOWN
    return TaskStatus.BOUND if pod.spec.node_name else TaskStatus.PENDING


def _group(pod: Pod) -> str:
    annotations = pod.metadata.annotations
    name = annotations.get(GROUP_NAME) or annotations.get(GROUP_NAME_ALTERNATIVE) or ""
    return object_key(pod.metadata.namespace, name) if name else ""


def _tag(pod: Pod, key: str) -> str:
    return pod.metadata.labels.get(key) or pod.metadata.annotations.get(key) or ""


def _index(pod: Pod) -> int:
    """The index within the task, or otherwise the number at the end of the name."""
    text = _tag(pod, TASK_INDEX)
    # A longer number is not a valid index.
    if text.isdecimal() and len(text) < 10:
        return int(text)
    match = _SUFFIX.search(pod.metadata.name)
    return int(match[1]) if match else _INDEX_MAX


def _priority(pod: Pod) -> int:
    written = pod.metadata.annotations.get(TASK_PRIORITY, "")
    if written.removeprefix("-").isdecimal() and len(written) < 12:
        return int(written)
    return pod.spec.priority if pod.spec.priority is not None else _DEFAULT_PRIORITY


def _rules(row: PodRow) -> tuple[bool, ...]:
    """The properties that decide whether it may be placed, evicted or released."""
    evicted = (row.preemptable, row.preempts, row.critical, row.controlled)
    return (row.ours, row.gated, *evicted)


def same_for_sessions(before: PodRow | None, after: PodRow | None) -> bool:
    """Whether a session would decide the same. That holds for a change of conditions, and for our
    own bind being observed."""
    if before is None or after is None:
        return before is after
    # A confirmed bind changes fields that matter only for pending pods.
    confirmed = before.status is TaskStatus.BINDING and after.status is TaskStatus.BOUND
    return (
        before.uid == after.uid
        and before.group == after.group
        and before.order == after.order
        and before.class_priority == after.class_priority
        and before.shape.key == after.shape.key
        and before.shape.images == after.shape.images
        and (before.status is after.status or confirmed)
        and before.node == after.node
        and _rules(before) == _rules(after)
        and before.protected_until == after.protected_until
        and (before.unsupported == after.unsupported or confirmed)
        and (before.queue_gated == after.queue_gated or confirmed)  # affects its condition
        and before.labels == after.labels
    )
