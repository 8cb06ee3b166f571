"""A page of metrics is bounded, and drops the series of deleted objects."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.builders.contexts import our_registry
from tests.unit.scheduling.objects import gang, node, queue
from tests.unit.scheduling.world import World
from vc.clock import LoopClock
from vc.cluster import NotFoundError
from vc.model.api.kinds import PODGROUPS, PODS, QUEUES
from vc.runtime.metrics.batch_histogram import BatchHistogram
from vc.runtime.metrics.metered_cluster import MeteredCluster
from vc.runtime.metrics.shown_gauges import ShownGauge
from vc.scheduler.metrics.shares import ShareMetrics
from vc.scheduling.closing.share_report import figures
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.verbs.api import Api


def series(registry: CollectorRegistry, name: str) -> dict[tuple[str, ...], float]:
    """By label values, in the order of label names."""
    page = generate_latest(registry).decode()
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == name
    }


def test_what_is_no_longer_shown_has_no_series() -> None:
    registry = CollectorRegistry()
    gauge = ShownGauge("a", "A.", ("job",), registry=registry)
    gauge.show({("x",): 1.0, ("y",): 2.0})
    gauge.show({("y",): 3.0})
    assert series(registry, "a") == {("y",): 3.0}


def test_beyond_the_bound_the_small_ones_are_told_together() -> None:
    registry = CollectorRegistry()
    gauge = ShownGauge("a", "A.", ("ns", "job"), registry=registry, series_max=2)
    gauge.show({("n", str(size)): float(size) for size in range(1, 6)})
    assert series(registry, "a") == {("5", "n"): 5, ("4", "n"): 4, ("other", "other"): 6}


def test_many_equal_observations_count_as_many() -> None:
    registry = CollectorRegistry()
    tally = BatchHistogram("t", "T.", ("stage",), buckets=(1, 10), registry=registry)
    tally.observe(5.0, "bound", times=1000)
    tally.observe(10.0, "bound")
    tally.observe(11.0, "bound")
    assert series(registry, "t_bucket") == {
        ("1.0", "bound"): 0,
        ("10.0", "bound"): 1001,
        ("+Inf", "bound"): 1002,
    }
    assert series(registry, "t_sum") == {("bound",): 5021}


def test_queues_jobs_and_namespaces_lose_their_series_with_themselves() -> None:
    world = World(node("n", cpu="8"), queue("q"), gang("g", 2, cpu=1, queue="q"))
    world.session()
    registry = CollectorRegistry()
    metrics = ShareMetrics(registry)
    metrics.bound("ns/g", queue="q", created=world.now - 1.5, now=world.now)

    def show() -> None:
        metrics.show(figures(world.snapshot(), world.conf, world.now))

    show()
    assert series(registry, "volcano_queue_allocated_milli_cpu")["q",] == 2000
    assert series(registry, "volcano_job_share") == {("ns/g", "ns"): 0.25}
    assert series(registry, "volcano_namespace_share") == {("ns",): 0.25}
    assert series(registry, "volcano_e2e_job_scheduling_duration") == {("g", "ns", "q"): 1500}
    world.delete(PODGROUPS, "ns/g")
    for pod in world.pods():
        world.delete(PODS, pod.key)
    world.delete(QUEUES, "q")
    show()
    for name in ("job_share", "namespace_share", "e2e_job_scheduling_duration"):
        assert series(registry, f"volcano_{name}") == {}
    assert ("q",) not in series(registry, "volcano_queue_allocated_milli_cpu")
    assert ("q",) not in series(registry, "volcano_queue_weight")


def test_requests_are_counted_by_what_became_of_them() -> None:
    async def ask() -> CollectorRegistry:
        clock, registry = LoopClock(), CollectorRegistry()
        api = Api(clock=clock, registry=our_registry())
        cluster = MeteredCluster(StoreCluster(api), service="s", clock=clock, registry=registry)
        with pytest.raises(NotFoundError):
            await cluster.get(QUEUES, name="absent")
        with pytest.raises(NotFoundError):
            await cluster.bind(namespace="ns", name="absent", uid="u", node="n")
        body = {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": "q"}}
        await cluster.create(QUEUES, body)
        page = await cluster.list(QUEUES)
        events = cluster.watch(QUEUES, resource_version=page.resource_version, timeout_seconds=0.01)
        assert [event async for event in events if event.type != "BOOKMARK"] == []
        return registry

    counted = series(asyncio.run(ask()), "pyroclast_api_requests_total")
    assert counted == {
        ("404", "queues", "s", "get"): 1,
        ("404", "pods", "s", "bind"): 1,
        ("200", "queues", "s", "create"): 1,
        ("200", "queues", "s", "list"): 1,
        ("200", "queues", "s", "watch"): 1,
    }
