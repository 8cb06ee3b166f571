"""How much the watcher publishes, and how long an event waits before the bus has it.

Kinds are a fixed set, so the number of series is bounded by the code.
"""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30)


class Meters:
    """Of all kinds, over all terms of leadership of this process."""

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
        """Somebody wrote to a topic of ours."""
        self._overwritten.labels(topic, reason).inc()

    def waiting(self, kind: str, *, queued: int) -> None:
        """More wait than go out at once; while the bus is away nothing else would say so."""
        self._queued.labels(kind).set(queued)

    def published(self, kind: str, *, messages: int, age_seconds: float, queued: int) -> None:
        """A publish was acknowledged."""
        self._published.labels(kind).inc(messages)
        self._age.labels(kind).observe(max(0.0, age_seconds))
        self._queued.labels(kind).set(queued)
