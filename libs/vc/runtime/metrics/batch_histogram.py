"""A histogram that accepts many equal observations at once.

The pods of a gang are bound together, so a gang's latency counts once per pod. The client library's
histogram accepts one observation per call, which would block the event loop for 50,000 pods.
"""

import bisect
import math
from collections.abc import Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector


class BatchHistogram(Collector):
    """Observations by label; the label values are few and fixed in the code."""

    def __init__(
        self,
        name: str,
        documentation: str,
        labelnames: Sequence[str],
        *,
        buckets: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        self.name = name
        self.labelnames = tuple(labelnames)
        self._documentation = documentation
        self._bounds = [*map(float, buckets), math.inf]
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}
        registry.register(self)

    def observe(self, value: float, *labels: str, times: int = 1) -> None:
        """Record the same value `times` times."""
        counts = self._counts.setdefault(labels, [0] * len(self._bounds))
        # Buckets are inclusive upper bounds, as Prometheus defines `le`.
        counts[bisect.bisect_left(self._bounds, value)] += times
        self._sums[labels] = self._sums.get(labels, 0.0) + value * times

    def describe(self) -> list[HistogramMetricFamily]:
        """Name and type, without samples."""
        return [self._family()]

    def collect(self) -> list[HistogramMetricFamily]:
        """Called at every scrape."""
        family = self._family()
        for labels, counts in self._counts.items():
            family.add_metric(labels, self._cumulated(counts), sum_value=self._sums[labels])
        return [family]

    def _cumulated(self, counts: list[int]) -> list[tuple[str, float]]:
        total = 0
        buckets: list[tuple[str, float]] = []
        for bound, count in zip(self._bounds, counts, strict=True):
            total += count
            text = "+Inf" if math.isinf(bound) else str(bound)
            buckets.append((text, total))
        return buckets

    def _family(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self.name, self._documentation, labels=self.labelnames)
