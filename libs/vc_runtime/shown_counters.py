"""Counters under names that do not end in `_total`, as Volcano has them and Go's client exposes them.

The text format (0.0.4) asks nothing of a counter's name; Python's client library appends `_total` to the
name of whatever it takes for a counter, in the lines `# HELP` and `# TYPE`. So the type of these is a
text that reads `counter` and that the library does not take for one.
"""

from prometheus_client.core import GaugeMetricFamily

from vc_runtime.shown_gauges import ShownGauge


class _PlainType(str):
    """Reads `counter`, is equal to nothing."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = str.__hash__


PLAIN_COUNTER = _PlainType("counter")


class ShownCounter(ShownGauge):
    """Series that only count up while they are shown."""

    def _family(self) -> GaugeMetricFamily:
        family = super()._family()
        family.type = PLAIN_COUNTER
        return family
