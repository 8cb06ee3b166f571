"""Metrics of queues. Only the leader exports them."""

import collections
from collections.abc import Iterable, Sequence

from vc.model.api.scheduling import PodGroup, Queue
from vc.queue_controller.logic.counters import FIELDS, count_groups
from vc.runtime.hosting.context import Context
from vc.runtime.metrics.shown_gauges import ShownGauge


class QueueMetrics:
    """PodGroups of each queue by phase, under Volcano's names, and queues by state."""

    def __init__(self, context: Context) -> None:
        self._groups = {
            field: ShownGauge(
                f"volcano_queue_pod_group_{field}_count",
                f"Pod groups of a queue that are {field}.",
                ("queue_name",),
                registry=context.metrics,
            )
            for field in FIELDS
        }
        self._states = ShownGauge(
            "pyroclast_queues", "Queues by state.", ("state",), registry=context.metrics
        )

    def show(self, queues: Sequence[Queue], groups: Iterable[PodGroup]) -> None:
        """Show the existing queues. A deleted queue has no series."""
        names = [queue.metadata.name for queue in queues]
        # Queues without PodGroups are shown with zero, so that their series do not vanish.
        counted = count_groups(groups)
        for field, gauge in self._groups.items():
            gauge.show({(n,): float(counted[n][field]) if n in counted else 0.0 for n in names})
        states = collections.Counter(queue.status.state or "Open" for queue in queues)
        self._states.show({(state,): float(count) for state, count in states.items()})

    def clear(self) -> None:
        """Remove the series, because another replica leads and exports them."""
        for gauge in (*self._groups.values(), self._states):
            gauge.show({})
