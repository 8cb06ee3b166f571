"""Meters whose series are shown whole: a page of metrics never grows with the cluster's history.

A `ShownGauge` has exactly the series it was last shown, so what is gone from the cluster is gone from
the page. Beyond a bound the series with the smallest values are told together, as `other`: totals
stay right, and no user can blow up a Prometheus by creating objects.

Counts are shown this way too (`shown_counters`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

SERIES_MAX: Final = 500
"""Of one meter, `other` not counted."""
OTHER: Final = "other"

Labels = tuple[str, ...]
_Key = TypeVar("_Key", bound=Labels)


class ShownGauge(Collector):
    """A gauge with labels whose series are replaced as a whole."""

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
        """`together` makes one value of those that are told as `other`."""
        self.name = name
        self.labelnames = tuple(labelnames)
        self._documentation = documentation
        self._together = together
        self._series_max = series_max
        self._shown: dict[Labels, float] = {}
        registry.register(self)

    def show(self, values: Mapping[_Key, float]) -> None:
        """These and no others, from now on."""
        shown: dict[Labels, float] = dict(values.items())
        if len(shown) <= self._series_max:
            self._shown = shown
            return
        ordered = sorted(shown.items(), key=lambda item: (-item[1], item[0]))
        kept, rest = ordered[: self._series_max], ordered[self._series_max :]
        other = (OTHER,) * len(self.labelnames)
        self._shown = {**dict(kept), other: self._together(value for _, value in rest)}

    def describe(self) -> list[GaugeMetricFamily]:
        """Name and type, without looking."""
        return [self._family()]

    def collect(self) -> list[GaugeMetricFamily]:
        """At every scrape."""
        family = self._family()
        for labels, value in self._shown.items():
            family.add_metric(labels, value)
        return [family]

    def _family(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(self.name, self._documentation, labels=self.labelnames)
