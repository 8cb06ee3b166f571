"""Counts the pods of one pod group, in a single pass over its rows.

`PodCounts` has what allocated and finished pods add up to, `WaitingCounts` what pending pods of our
schedulers do. A pending pod is counted under exactly one cause (gated, unsupported, invalid, in
backoff) or is a candidate that can be placed now.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from vc.model.completed_members import remembered
from vc.model.values.index_runs import Runs
from vc.model.values.resources import Resources
from vc.scheduling.model.rows import ALLOCATED, FINISHED, PodRow, Run, TaskCount, TaskStatus

_COUNTED: Final = frozenset({*ALLOCATED, TaskStatus.SUCCEEDED, TaskStatus.PENDING})
"""Pods that count for their gang or may do so later. Used for membership tests only."""


class WaitingCounts:
    """Pending pods of our schedulers."""

    def __init__(self) -> None:
        self.pending = self.in_backoff = self.gated = self.invalid = 0
        self.invalid_reason = self.unsupported = self.unsupported_name = ""
        self.unplaceable: list[PodRow] = []
        self.gated_request = Resources()
        self.gate_names: dict[str, None] = {}
        self.reserved = Resources()
        self.reserved_pods: dict[bytes, int] = {}
        self._candidates: list[PodRow] = []

    def count(self, pod: PodRow, *, in_backoff: bool) -> None:
        """Count one pending pod."""
        self.pending += 1
        if pod.queue_reserved:
            self.reserved.add(pod.shape.request)
            key = pod.shape.key
            self.reserved_pods[key] = self.reserved_pods.get(key, 0) + 1
        # Reserved pods are in the account of the queue; the requests of other gated pods are not charged.
        elif pod.gated or pod.queue_gated:
            self.gated_request.add(pod.shape.request)
        # The first matching cause wins. Gates come first: a gated pod is not checked further.
        if pod.gated:
            self.gated += 1
            self.gate_names.update(dict.fromkeys(pod.gate_names))
        elif pod.unsupported:
            self.invalid += 1
            self.unsupported_name = self.unsupported_name or pod.name
            self.unsupported = self.unsupported or pod.unsupported
            self.unplaceable.append(pod)
        elif pod.shape.problem:
            self.invalid += 1
            self.invalid_reason = self.invalid_reason or f"pod {pod.name}: {pod.shape.problem}"
            self.unplaceable.append(pod)
        elif in_backoff:
            self.in_backoff += 1
            self.unplaceable.append(pod)
        else:
            self._candidates.append(pod)

    def runs(self) -> tuple[Run, ...]:
        """Adjacent candidates of one task, priority and shape, as runs."""
        runs: list[list[PodRow]] = []
        for pod in self._candidates:
            last = runs[-1][-1] if runs else None
            if (
                last is not None
                and last.shape.key == pod.shape.key
                # Images are not part of the shape key, but affect the score of the whole run.
                and last.shape.images == pod.shape.images
                and (last.task, last.priority) == (pod.task, pod.priority)
            ):
                runs[-1].append(pod)
            else:
                runs.append([pod])
        return tuple(Run(task=r[0].task, shape=r[0].shape, pods=tuple(r)) for r in runs)

    def _ungated(self) -> Iterator[PodRow]:
        """Waiting pods whose condition PodScheduled the scheduler writes."""
        yield from (pod for pod in self._candidates if not pod.queue_gated)
        yield from self.unplaceable

    def unmarked_since(self, under_way: Mapping[str, str]) -> float | None:
        """The creation time of the oldest of them without a message that is written or being written."""
        unmarked = (
            pod.created
            for pod in self._ungated()
            if not pod.waiting_message and pod.uid not in under_way
        )
        return min(unmarked, default=None)

    def messages(self, under_way: Mapping[str, str]) -> tuple[str, ...]:
        """The distinct messages of these pods, including those being written."""
        said = {under_way.get(pod.uid, pod.waiting_message): None for pod in self._ungated()}
        return tuple(sorted(text for text in said if text))


class PodCounts:
    """All pods of a group."""

    def __init__(self, pods: list[PodRow], in_backoff: frozenset[str]) -> None:
        """Count `pods`, which are in task order; `in_backoff` are the uids in bind backoff."""
        self.by_status: dict[TaskStatus, int] = {}
        self.placed: list[PodRow] = []
        self.allocated = Resources()
        self.elsewhere = 0
        self.completed_deleted = 0
        self.priority: int | None = None
        self.waiting = WaitingCounts()
        self._ready: dict[str, int] = {}
        self._valid: dict[str, int] = {}
        for pod in pods:
            self._count(pod, in_backoff)

    def _count(self, pod: PodRow, in_backoff: frozenset[str]) -> None:
        self.by_status[pod.status] = self.by_status.get(pod.status, 0) + 1
        # Finished pods no longer compete, so their priority does not matter.
        if pod.class_priority is not None and pod.status not in FINISHED:
            lowest = self.priority if self.priority is not None else pod.class_priority
            self.priority = min(lowest, pod.class_priority)
        if pod.status in ALLOCATED:
            self.placed.append(pod)
            self.allocated.add(pod.shape.request)
        if pod.status in ALLOCATED or pod.status is TaskStatus.SUCCEEDED:
            self._ready[pod.task] = self._ready.get(pod.task, 0) + 1
        elif pod.status is TaskStatus.PENDING and pod.ours:
            self.waiting.count(pod, in_backoff=pod.uid in in_backoff)
        else:
            # Failed and terminating pods do not count, nor do pending pods of other schedulers.
            self.elsewhere += pod.status is TaskStatus.PENDING
            return
        self._valid[pod.task] = self._valid.get(pod.task, 0) + 1

    def add_completed(self, completed: Mapping[str, Runs], pods: list[PodRow]) -> None:
        """Count members whose pods are deleted like succeeded pods. Each index counts once: if a
        pod with the index counts or waits, the record does not. The pods may be older than the
        record."""
        for task, runs in completed.items():
            present = {pod.index for pod in pods if pod.task == task and pod.status in _COUNTED}
            count = remembered(runs, present)
            if count:
                self.completed_deleted += count
                self._ready[task] = self._ready.get(task, 0) + count
                self._valid[task] = self._valid.get(task, 0) + count

    def task_counts(self) -> tuple[TaskCount, ...]:
        """The counts by task, sorted by name."""
        return tuple(
            TaskCount(task=task, ready=self._ready.get(task, 0), valid=valid)
            for task, valid in sorted(self._valid.items())
        )
