"""Every exported metric: each service is built as it runs, and its registry is read.

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


class Metric(NamedTuple):
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
def exported() -> dict[str, Metric]:
    """All metrics by name."""
    found: dict[str, Metric] = {}
    for service, registry in _registries().items():
        for metric in _meters(registry, service):
            known = found.get(metric.name)
            if known is not None:
                assert known[:3] == metric[:3], f"{metric.name} differs between services"
                metric = known._replace(services=(*known.services, service))
            found[metric.name] = metric
    return dict(sorted(found.items()))


def _registries() -> dict[str, CollectorRegistry]:
    registries: dict[str, CollectorRegistry] = {}
    for name in SERVICES:
        context = metered(memory_context(name))
        build_of(name)(context)
        registries[name] = context.metrics
    (own,) = Host({}).registries()
    return {EVERY_PROCESS: own, **registries}


def _meters(registry: CollectorRegistry, service: str) -> list[Metric]:
    metrics: list[Metric] = []
    for collector in list(registry._collector_to_names):
        ours: tuple[str, ...] = getattr(collector, "labelnames", ())
        labels: tuple[str, ...] = getattr(collector, "_labelnames", ours)
        for family in collector.collect():
            name = f"{family.name}_total" if family.type == "counter" else family.name
            text = family.documentation
            metrics.append(Metric(name, str(family.type), labels, text, (service,)))
    return metrics


def rows() -> list[str]:
    """The table of docs/metrics.md."""
    return [
        f"| `{metric.name}` | {metric.type} | {', '.join(f'`{label}`' for label in metric.labels) or '–'} |"
        f" {_whose(metric)} | {metric.help} |"
        for metric in exported().values()
    ]


def _whose(metric: Metric) -> str:
    plugins = [name for name in metric.services if name.startswith("plugin-")]
    others = [name for name in metric.services if not name.startswith("plugin-")]
    if len(metric.services) == len(SERVICES):
        return "every service"
    return ", ".join([*others, "plugins"] if plugins else others)


if __name__ == "__main__":
    print("\n".join(rows()))
