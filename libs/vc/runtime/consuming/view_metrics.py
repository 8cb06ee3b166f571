"""Metrics of a view: how far it is behind, and the age of its newest progress."""

from collections.abc import Callable

from prometheus_client import Gauge

from vc.messages.view import View
from vc.runtime.hosting.context import Context


def export_view_metrics(context: Context, view: Callable[[], View], *, name: str) -> None:
    """Gauges that are computed when they are scraped; `name` is `view` or `share`."""
    behind = Gauge(
        f"pyroclast_{name}_behind_records",
        "Records that the newest progress stands for and that were not read yet.",
        labelnames=("service",),
        registry=context.metrics,
    ).labels(context.name)
    behind.set_function(lambda: view().behind())
    age = Gauge(
        f"pyroclast_{name}_progress_age_seconds",
        "Seconds since the last progress of the watcher, of the kind with the oldest progress.",
        labelnames=("service",),
        registry=context.metrics,
    ).labels(context.name)
    age.set_function(lambda: view().progress_age(context.clock.monotonic()))
