"""Metrics of publishing: number of messages, and the age of events when the bus acknowledges them.

Kinds are a fixed set, so the number of series is bounded.
"""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30)


class WatcherMetrics:
    """Metrics of all kinds over all terms of this process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._published = Counter(
            "pyroclast_watcher_published",
            "Messages that the bus has acknowledged, by kind.",
            ("kind",),
            registry=registry,
        )
        self._age = Histogram(
            "pyroclast_event_age_seconds",
            "How old the oldest event of a publish was when the bus acknowledged it, from its arrival"
            " at the watcher.",
            ("kind",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._queued = Gauge(
            "pyroclast_watcher_queued_messages",
            "Messages that wait to be published, by kind; bounded.",
            ("kind",),
            registry=registry,
        )

        self._overwritten = Counter(
            "pyroclast_watcher_overwritten",
            "Records of others on the watcher's topics that were written over, by topic and why:"
            " foreign, unreadable, newer-schema, unknown-kind, too-large.",
            ("topic", "reason"),
            registry=registry,
        )

    def overwritten(self, topic: str, reason: str) -> None:
        """Count a record of another writer on one of our topics."""
        self._overwritten.labels(topic, reason).inc()

    def waiting(self, kind: str, *, queued: int) -> None:
        """Set the queue length when it exceeds one publish.

        Without it the metric would not change while the bus is away.
        """
        self._queued.labels(kind).set(queued)

    def published(self, kind: str, *, messages: int, age_seconds: float, queued: int) -> None:
        """Record an acknowledged publish."""
        self._published.labels(kind).inc(messages)
        self._age.labels(kind).observe(max(0.0, age_seconds))
        self._queued.labels(kind).set(queued)
