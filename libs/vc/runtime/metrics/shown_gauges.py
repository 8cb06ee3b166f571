"""Metrics whose series are replaced as a whole, so that `/metrics` does not grow over time.

A `ShownGauge` has exactly the series of the last `show`, so deleted objects disappear. Beyond a
limit the series with the smallest values are merged into `other`: totals stay correct, and users
cannot overload Prometheus by creating objects.

Counters are exposed this way too (`shown_counters`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

SERIES_MAX: Final = 500
"""Limit per metric, not counting `other`."""
OTHER: Final = "other"

Labels = tuple[str, ...]
_Key = TypeVar("_Key", bound=Labels)


class ShownGauge(Collector):
    """A labelled gauge whose series are replaced as a whole."""

    def __init__(
        self,
        name: str,
        documentation: str,
        labelnames: Sequence[str],
        *,
        registry: CollectorRegistry,
        together: Callable[[Iterable[float]], float] = sum,
        series_max: int = SERIES_MAX,
    ) -> None:
        """`together` merges the values of the series beyond the limit into `other`."""
        self.name = name
        self.labelnames = tuple(labelnames)
        self._documentation = documentation
        self._together = together
        self._series_max = series_max
        self._shown: dict[Labels, float] = {}
        registry.register(self)

    def show(self, values: Mapping[_Key, float]) -> None:
        """Replace all series; those that are not in `values` disappear."""
        shown: dict[Labels, float] = dict(values.items())
        if len(shown) <= self._series_max:
            self._shown = shown
            return
        # The largest values matter most; names break ties, so that series do not flap.
        ordered = sorted(shown.items(), key=lambda item: (-item[1], item[0]))
        kept, rest = ordered[: self._series_max], ordered[self._series_max :]
        other = (OTHER,) * len(self.labelnames)
        self._shown = {**dict(kept), other: self._together(value for _, value in rest)}

    def describe(self) -> list[GaugeMetricFamily]:
        """Name and type, without samples."""
        return [self._family()]

    def collect(self) -> list[GaugeMetricFamily]:
        """Called at every scrape."""
        family = self._family()
        for labels, value in self._shown.items():
            family.add_metric(labels, value)
        return [family]

    def _family(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(self.name, self._documentation, labels=self.labelnames)
