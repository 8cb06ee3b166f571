"""Metrics of admission: requests by path and answer, their duration, and the registration."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from vc.runtime.hosting.context import Context

ALLOWED: Final = "allowed"
REFUSED: Final = "refused"
NO_REVIEW: Final = "no review"
UNAVAILABLE: Final = "unavailable"
_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 10.0)


class AdmissionMetrics:
    """Metrics with fixed sets of paths and answers."""

    def __init__(self, context: Context) -> None:
        self._answers = Counter(
            "pyroclast_admission_reviews_total",
            "Requests of the API server by path and answer: allowed, refused, no review, unavailable.",
            ("path", "answer"),
            registry=context.metrics,
        )
        self._seconds = Histogram(
            "pyroclast_admission_review_seconds",
            "From a request's body to its answer.",
            ("path",),
            buckets=_SECONDS,
            registry=context.metrics,
        )
        self._registered = Gauge(
            "pyroclast_admission_registered",
            "1 while both webhook configurations lead here.",
            registry=context.metrics,
        )

    def answered(self, path: str, answer: str, *, seconds: float) -> None:
        """Count one request with its answer and duration."""
        self._answers.labels(path, answer).inc()
        self._seconds.labels(path).observe(seconds)

    def registered(self, *, complete: bool) -> None:
        """Set whether both webhook configurations lead to this service."""
        self._registered.set(1.0 if complete else 0.0)
