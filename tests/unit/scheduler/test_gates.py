"""Pods with scheduling gates: not charged, not candidates, and Volcano's own gate lifted by the queue."""

import pytest

from tests.unit.scheduler.objects import gang, group, nodes, pod, queue
from tests.unit.scheduler.world import World, reason_of
from vc_messages.sessions import Stage
from vc_model.meta import ApiObject
from vc_scheduler.logic.conf import Conf, PluginConf

OTHER = "example.com/license"


def with_capacity() -> Conf:
    first, second = Conf().tiers
    by = tuple(PluginConf(name="capacity") if p.name == "proportion" else p for p in second)
    return Conf(tiers=(first, by))


def gated_job(name: str, count: int, *, cpu: int = 4) -> list[ApiObject]:
    """Let in, with minResources for all of its pods."""
    head = group(name, minimum=count, phase="Inqueue", min_resources={"cpu": str(cpu * count)})
    return [
        head,
        *(pod(f"{name}-{n}", group=name, requests={"cpu": cpu}, gates=[OTHER]) for n in range(count)),
    ]  # fmt: skip


def pending(name: str, *, cpu: str) -> ApiObject:
    return group(name, minimum=1, phase="", min_resources={"cpu": cpu})


@pytest.mark.parametrize("conf", [Conf(), with_capacity()], ids=["proportion", "capacity"])
def test_gated_pods_are_charged_neither_to_the_cluster_nor_to_their_queue(conf: Conf) -> None:
    """A queue of 8 CPUs, all of which an enqueued job waits for behind gates."""
    limited = queue(capability={"cpu": "8"})
    held = gated_job("gated", 2)
    world = World(nodes(1, cpu=8), limited, held, pending("new", cpu="8"), conf=conf)
    assert world.session().enqueued == ("ns/new",)


def test_of_a_job_that_waits_outside_only_the_pods_without_gates_must_fit() -> None:
    head = group("g", minimum=1, phase="", min_resources={"cpu": "12"})
    ready = pod("g-0", group="g", requests={"cpu": "4"})
    gated = [pod(f"g-{n}", group="g", requests={"cpu": "4"}, gates=[OTHER]) for n in (1, 2)]
    world = World(nodes(1, cpu=4), queue(capability={"cpu": "4"}), head, ready, gated)
    assert world.session().enqueued == ("ns/g",)


def test_a_gang_whose_pods_are_gated_waits_and_names_the_gates() -> None:
    world = World(nodes(1), queue(), gated_job("g", 2))
    reason = reason_of(world.session(), "g")
    assert reason.stage is Stage.TASKS
    assert f"2 pods have scheduling gates ('{OTHER}')" in reason.sentence
    assert world.session().binds == ()


def test_nobody_else_waits_for_gated_pods() -> None:
    world = World(nodes(1, cpu=8), queue(), gated_job("gated", 2), gang("small", 2, cpu=4))
    world.session()
    assert world.bound("small") == 2
