"""Placed pods whose pod group was deleted.

Anyone who may delete a PodGroup could otherwise take its running pods out of every queue, where no job
preempts them and no queue reclaims from them. So they keep the queue and the class of the deleted
group, without a minimum. If this process never saw the group, for example after a restart, they are in
the default queue: a label of a pod must not choose a queue that its namespace may not use.
"""

from collections.abc import Container, Iterable

from vc.model.api.meta import ObjectMeta
from vc.model.api.scheduling import PodGroup, PodGroupSpec, PodGroupStatus
from vc.scheduling.model.rows import ALLOCATED, RUNNING, PodRow


class MissingGroups:
    """Queue and class of deleted groups that still have pods; bounded by the number of pods."""

    def __init__(self) -> None:
        self._specs: dict[str, PodGroupSpec] = {}

    def deleted(self, group: PodGroup) -> None:
        """A group was deleted. Whether placed pods are left is known when it is counted."""
        spec = group.spec
        self._specs[group.key] = PodGroupSpec(
            queue=spec.queue, priority_class_name=spec.priority_class_name
        )

    def created(self, key: str) -> None:
        """The group exists again."""
        self._specs.pop(key, None)

    def forget_absent(self, groups: Container[str]) -> None:
        """The view is complete: only these groups have pods."""
        self._specs = {key: spec for key, spec in self._specs.items() if key in groups}

    def stand_in(self, key: str, pods: Iterable[PodRow]) -> tuple[PodGroup, list[PodRow]] | None:
        """A group in place of the missing one, with its placed pods; None if none of them is ours.

        Waiting pods are left out, because a pod without a pod group is not placed.
        """
        placed = [pod for pod in pods if pod.status in ALLOCATED]
        if not any(pod.ours for pod in placed):
            self._specs.pop(key, None)
            return None
        namespace, _, name = key.partition("/")
        group = PodGroup(
            metadata=ObjectMeta(namespace=namespace, name=name),
            spec=self._specs.get(key, PodGroupSpec()),
            status=PodGroupStatus(phase=RUNNING),
        )
        return group, placed
