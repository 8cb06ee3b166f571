"""drf with hierarchy: queues along the paths they write, by weight."""

import msgspec
import pytest

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.model.api.scheduling import Queue
from vc.scheduling.conf.model import Conf, PluginConf

ACTIONS = ("enqueue", "allocate", "reclaim")


def conf(*, hierarchy: bool) -> Conf:
    drf = PluginConf(name="drf", switches={"hierarchy": hierarchy})
    rest = tuple(PluginConf(name=n) for n in ("predicates", "nodeorder"))
    return Conf(actions=ACTIONS, tiers=((PluginConf(name="gang"),), (drf, *rest)))


def at(name: str, path: str, weights: str = "") -> Queue:
    made = queue(name)
    annotations = {"volcano.sh/hierarchy": path}
    if weights:
        annotations["volcano.sh/hierarchy-weights"] = weights
    metadata = msgspec.structs.replace(made.metadata, annotations=annotations)
    return msgspec.structs.replace(made, metadata=metadata)


def jobs(name: str, count: int, **how: str | int) -> list[ApiObject]:
    """Jobs of one pod."""
    made: list[ApiObject] = []
    for n in range(count):
        made += gang(f"{name}-{n:02}", 1, queue=name, **how)  # type: ignore[arg-type]  # requests as keywords
    return made


def has(world: World, *names: str) -> dict[str, int]:
    placed = world.where()
    return {name: sum(pod.startswith(f"{name}-") for pod in placed) for name in names}


SCI = [
    at("dev", "root/sci/dev", "100/75/50"),
    at("prod", "root/sci/prod", "100/75/50"),
    at("eng", "root/eng", "100/25"),
]


def test_queues_get_their_part_down_the_paths() -> None:
    """sci : eng = 3 : 1, and dev and prod share evenly what sci gets."""
    work = [*jobs("dev", 16, cpu=1), *jobs("prod", 16, cpu=1), *jobs("eng", 16, cpu=1)]
    world = World(SCI, nodes(1, cpu=16), work, conf=conf(hierarchy=True))
    world.session()
    assert has(world, "dev", "prod", "eng") == {"dev": 6, "prod": 6, "eng": 4}
    flat = World(SCI, nodes(1, cpu=16), work, conf=conf(hierarchy=False))
    flat.session()
    assert has(flat, "dev", "prod", "eng") != {"dev": 6, "prod": 6, "eng": 4}


def test_what_one_branch_does_not_request_goes_to_the_others() -> None:
    work = [*jobs("dev", 2, cpu=1), *jobs("prod", 16, cpu=1), *jobs("eng", 2, cpu=1)]
    world = World(SCI, nodes(1, cpu=16), work, conf=conf(hierarchy=True))
    world.session()
    assert has(world, "dev", "prod", "eng") == {"dev": 2, "prod": 12, "eng": 2}


def test_a_branch_gets_its_part_back_by_reclaim() -> None:
    world = World(SCI, nodes(1, cpu=16), jobs("eng", 16, cpu=1), conf=conf(hierarchy=True))
    world.session()
    world.put(*jobs("dev", 16, cpu=1), *jobs("prod", 16, cpu=1))
    for _ in range(12):
        world.session()
        world.leave()
        world.now += 30
    assert has(world, "dev", "prod", "eng") == {"dev": 6, "prod": 6, "eng": 4}


def test_dominant_resources_count() -> None:
    """One queue wants CPU, the other memory: both get about the same part of what they want most."""
    two = [at("cpu", "root/cpu"), at("mem", "root/mem")]
    work = [*jobs("cpu", 12, cpu=1, memory="1Gi"), *jobs("mem", 12, cpu="500m", memory="64Gi")]
    world = World(two, nodes(1, cpu=8), work, conf=conf(hierarchy=True))
    world.session()
    found = has(world, "cpu", "mem")
    assert abs(found["cpu"] * 64 * 8 - found["mem"] * 64 * 8) <= 2 * 64 * 8
    assert found["cpu"] + found["mem"] >= 8


@pytest.mark.parametrize(
    ("path", "weights"),
    [("root/a", "1/2/3"), ("root//a", "1/1/1"), ("root/a", "1/x"), ("root/a", "1/0"), ("root/a", "1/-4"), ("root/a", "1/nan")],
)  # fmt: skip
def test_a_path_that_cannot_be_read_is_reported_and_left_out(path: str, weights: str) -> None:
    odd = [at("odd", path, weights), at("a", "root/a", "1/1")]
    world = World(
        odd, nodes(1, cpu=2), jobs("odd", 1, cpu=1), jobs("a", 1, cpu=1), conf=conf(hierarchy=True)
    )
    world.session()
    assert has(world, "odd", "a") == {"odd": 1, "a": 1}
    assert "volcano.sh/hierarchy" in world.cache.problems["queue odd"]


def test_queues_without_a_path_stand_below_the_root() -> None:
    work = [*jobs("plain", 8, cpu=1), *jobs("other", 8, cpu=1)]
    world = World(queue("plain"), queue("other"), nodes(1, cpu=8), work, conf=conf(hierarchy=True))
    world.session()
    assert has(world, "plain", "other") == {"plain": 4, "other": 4}


@pytest.mark.parametrize("scale", [1, 100, 400_000])
def test_weights_count_however_large_they_are(scale: int) -> None:
    two = [at("x", "root/x", f"1/{scale}"), at("y", "root/y", f"1/{2 * scale}")]
    work = [*jobs("x", 12, cpu=1), *jobs("y", 12, cpu=1)]
    world = World(two, nodes(1, cpu=12), work, conf=conf(hierarchy=True))
    world.session()
    assert has(world, "x", "y") == {"x": 4, "y": 8}


def test_what_the_cluster_has_nothing_of_any_more_counts_as_all_of_it() -> None:
    """GPUs on a node that is away: the queue has a share of 1 of them, by weight 0.1, and goes first."""
    two = [at("a", "root/a", "1/10"), at("b", "root/b", "1/1")]
    away = node("away", gpu=1, ready=False)
    gpu = pod("a-gpu", group="a-gpu", requests={"nvidia.com/gpu": "1"}, on="away")
    held = [
        pod(f"b-{n}", group="b-old", requests={"cpu": "1"}, on="n", phase="Running")
        for n in range(3)
    ]
    world = World(
        two, [away, node("n", cpu=4)], conf=conf(hierarchy=True),
    )  # fmt: skip
    world.put(group("a-gpu", minimum=1, queue="a", phase="Running"), gpu)
    world.put(group("b-old", minimum=3, queue="b", phase="Running"), *held)
    world.put(*gang("b-new", 1, queue="b", cpu=1, age=9), *gang("a-new", 1, queue="a", cpu=1))
    world.session()
    assert (world.bound("a-new"), world.bound("b-new")) == (1, 0)
