"""Counters whose names do not end in `_total`, as Volcano has them and Go's client exposes them.

The text format (0.0.4) has no rule for the names of counters. Python's client library appends
`_total` to the name of every counter in the lines `# HELP` and `# TYPE`. Therefore the type of
these metrics is a string that prints as `counter` but does not compare equal to it.
"""

from prometheus_client.core import GaugeMetricFamily

from vc.runtime.metrics.shown_gauges import ShownGauge


class _PlainType(str):
    """Prints as `counter`, and is equal only to itself."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = str.__hash__


PLAIN_COUNTER = _PlainType("counter")


class ShownCounter(ShownGauge):
    """Series whose values only increase while they are shown."""

    def _family(self) -> GaugeMetricFamily:
        family = super()._family()
        family.type = PLAIN_COUNTER
        return family
