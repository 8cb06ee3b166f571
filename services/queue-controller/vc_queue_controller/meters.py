"""What the leader tells about queues and the ledger; who does not lead tells nothing of them."""

import collections
from collections.abc import Callable, Iterable, Sequence

from prometheus_client import Counter, Gauge

from vc_model.scheduling import PodGroup, Queue
from vc_queue_controller.logic.counters import FIELDS, count_groups
from vc_queue_controller.logic.ledger import Ledger
from vc_runtime.context import Context
from vc_runtime.shown_gauges import ShownGauge


class QueueMeters:
    """Pod groups of each queue by phase, under Volcano's names, and queues by state."""

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
        """Of the queues there are; a queue that is gone has no series."""
        names = [queue.metadata.name for queue in queues]
        counted = count_groups(groups)
        for field, gauge in self._groups.items():
            gauge.show({(n,): float(counted[n][field]) if n in counted else 0.0 for n in names})
        states = collections.Counter(queue.status.state or "Open" for queue in queues)
        self._states.show({(state,): float(count) for state, count in states.items()})

    def clear(self) -> None:
        """Somebody else leads, and tells."""
        for gauge in (*self._groups.values(), self._states):
            gauge.show({})


def ignored_labels(context: Context) -> Counter:
    """Labels that would put a pod on another bill."""
    counter = Counter(
        "pyroclast_usage_labels_ignored_total",
        "Pods whose label names another queue or job than their pod group and controller; not believed.",
        ("label",),
        registry=context.metrics,
    )
    for label in ("queue", "job"):
        counter.labels(label)
    return counter


def meter_ledger(context: Context, ledger: Ledger, *, leading: Callable[[], bool]) -> None:
    """How much is open, and up to when hours are closed."""
    accounts = Gauge(
        "pyroclast_usage_open_accounts",
        "Pods whose usage is not closed yet, those that are gone included.",
        registry=context.metrics,
    )
    accounts.set_function(lambda: len(ledger.accounts))
    closed = Gauge(
        "pyroclast_usage_closed_until_seconds",
        "Usage before this is written down for good; seconds since the epoch, 0 where nobody leads.",
        registry=context.metrics,
    )
    closed.set_function(lambda: float(ledger.closed_until or 0) if leading() else 0.0)
