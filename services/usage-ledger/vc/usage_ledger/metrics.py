"""Metrics of the ledger."""

from collections.abc import Callable

from prometheus_client import Counter, Gauge

from vc.runtime.hosting.context import Context
from vc.usage_ledger.logic.ledger import UsageLedger


def ignored_labels(context: Context) -> Counter:
    """Counter of labels that would charge a pod to another queue or job."""
    counter = Counter(
        "pyroclast_usage_labels_ignored_total",
        "Pods whose label names another queue or job than their pod group and controller; ignored.",
        ("label",),
        registry=context.metrics,
    )
    # Both series exist from the start, so that an increase is visible.
    for label in ("queue", "job"):
        counter.labels(label)
    return counter


def export_ledger(context: Context, ledger: UsageLedger, *, leading: Callable[[], bool]) -> None:
    """Gauges of open accounts, and of the time up to which hours are closed."""
    accounts = Gauge(
        "pyroclast_usage_open_accounts",
        "Pods whose usage is not closed yet, deleted pods included.",
        registry=context.metrics,
    )
    accounts.set_function(lambda: len(ledger.accounts))
    closed = Gauge(
        "pyroclast_usage_closed_until_seconds",
        "Usage before this is stored for good; seconds since the epoch, 0 where this replica does not lead.",
        registry=context.metrics,
    )
    # Only the leader knows what is closed.
    closed.set_function(lambda: float(ledger.closed_until or 0) if leading() else 0.0)
