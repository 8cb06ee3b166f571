"""Every meter there is: each service is built as it runs, and its registry is asked.

`python -m tests.unit.metrics.exported` prints the table of docs/metrics.md.
"""

import functools
from typing import NamedTuple

from prometheus_client import CollectorRegistry

from tests.builders.contexts import memory_context
from vc.cli.pyroclast.services import SERVICES, build_of
from vc.runtime.hosting.host import Host, metered

EVERY_PROCESS = "every process"
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}


class Meter(NamedTuple):
    """One family as a scraper sees it."""

    name: str
    type: str
    labels: tuple[str, ...]
    help: str
    services: tuple[str, ...]

    @property
    def series(self) -> dict[str, frozenset[str]]:
        """Sample names and their labels, `le` of buckets included."""
        return {
            self.name + suffix: frozenset(
                {*self.labels, "le"} if suffix == "_bucket" else self.labels
            )
            for suffix in SUFFIXES[self.type]
        }


@functools.cache
def exported() -> dict[str, Meter]:
    """All meters by name."""
    found: dict[str, Meter] = {}
    for service, registry in _registries().items():
        for meter in _meters(registry, service):
            known = found.get(meter.name)
            if known is not None:
                assert known[:3] == meter[:3], f"{meter.name} differs between services"
                meter = known._replace(services=(*known.services, service))
            found[meter.name] = meter
    return dict(sorted(found.items()))


def _registries() -> dict[str, CollectorRegistry]:
    registries: dict[str, CollectorRegistry] = {}
    for name in SERVICES:
        context = metered(memory_context(name))
        build_of(name)(context)
        registries[name] = context.metrics
    (own,) = Host({}).registries()
    return {EVERY_PROCESS: own, **registries}


def _meters(registry: CollectorRegistry, service: str) -> list[Meter]:
    meters: list[Meter] = []
    for collector in list(registry._collector_to_names):
        ours: tuple[str, ...] = getattr(collector, "labelnames", ())
        labels: tuple[str, ...] = getattr(collector, "_labelnames", ours)
        for family in collector.collect():
            name = f"{family.name}_total" if family.type == "counter" else family.name
            text = family.documentation
            meters.append(Meter(name, str(family.type), labels, text, (service,)))
    return meters


def rows() -> list[str]:
    """The table of docs/metrics.md."""
    return [
        f"| `{meter.name}` | {meter.type} | {', '.join(f'`{label}`' for label in meter.labels) or '–'} |"
        f" {_whose(meter)} | {meter.help} |"
        for meter in exported().values()
    ]


def _whose(meter: Meter) -> str:
    plugins = [name for name in meter.services if name.startswith("plugin-")]
    others = [name for name in meter.services if not name.startswith("plugin-")]
    if len(meter.services) == len(SERVICES):
        return "every service"
    return ", ".join([*others, "plugins"] if plugins else others)


if __name__ == "__main__":
    print("\n".join(rows()))
