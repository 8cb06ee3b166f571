"""Image locality: jobs go where their images are, as far as the weight of nodeorder says."""

import msgspec
import pytest

from tests.unit.scheduling.objects import group, node, pod, queue
from tests.unit.scheduling.plugins.test_nodeorder import conf
from tests.unit.scheduling.recording import Recording
from tests.unit.scheduling.world import World
from vc.model.api import kinds
from vc.model.api.images import ContainerImage
from vc.model.api.meta import ApiObject
from vc.model.api.node import Node
from vc.model.api.pod import Container, Pod
from vc.scheduling.conf.model import Conf

GIBI = 2**30
DIGEST = "registry.example/train@sha256:" + "b" * 64


def job(image: str, *, name: str = "g", count: int = 1, cpu: str = "1") -> list[ApiObject]:
    pods = [
        pod(f"{name}-{n}", group=name, requests={"cpu": cpu}, image=image) for n in range(count)
    ]
    return [group(name, minimum=count), *pods]


def where(world: World) -> str:
    world.session()
    return world.where()["g-0"]


@pytest.mark.parametrize(
    ("there", "asked"),
    [("train:1", "train:1"), ("train:latest", "train"), ("train", "train:latest"), (DIGEST, DIGEST)],
)  # fmt: skip
def test_a_job_goes_to_the_node_that_has_its_image(there: str, asked: str) -> None:
    nodes = [node("a"), node("b", images={there: 8 * GIBI}), node("c")]
    assert where(World(queue(), nodes, job(asked))) == "b"


@pytest.mark.parametrize("asked", ["train:2", "registry.example/train:1", "train@sha256:1", ""])
def test_another_image_is_no_reason_to_go_there(asked: str) -> None:
    nodes = [node("a"), node("b", images={"train:1": 8 * GIBI}), node("c")]
    assert where(World(queue(), nodes, job(asked))) == "a"


def test_an_image_is_known_by_all_its_names() -> None:
    image = ContainerImage(names=[DIGEST, "train:1"], size_bytes=8 * GIBI)
    with_image = node("b")
    status = msgspec.structs.replace(with_image.status, images=[image])
    nodes = [node("a"), msgspec.structs.replace(with_image, status=status)]
    for asked in image.names:
        assert where(World(queue(), nodes, job(asked))) == "b"


@pytest.mark.parametrize(
    ("weight", "goes_to"), [("0", "a"), ("1", "b"), ("nonsense", "b"), ("-3", "b")]
)
def test_the_weight_counts_and_0_turns_it_off(weight: str, goes_to: str) -> None:
    nodes = [node("a"), node("b", images={"train": 8 * GIBI})]
    given: Conf = conf(imagelocality_weight=weight)
    assert where(World(queue(), nodes, job("train"), conf=given)) == goes_to


def test_an_image_of_less_than_23_mebibytes_counts_for_nothing() -> None:
    for size, goes_to in ((46 * 2**20, "a"), (46 * 2**20 + 2**17, "b")):  # on half of the nodes
        nodes = [node("a"), node("b", images={"train": size})]
        assert where(World(queue(), nodes, job("train"))) == goes_to


def test_images_on_many_nodes_weigh_more_than_one_on_a_single_node() -> None:
    """So that the one node with a rare image is not flooded."""
    many = {f"n{n}": {"common": GIBI} for n in range(9)}
    nodes = [node(name, images=images) for name, images in many.items()]
    spec = job("common")[1]
    assert isinstance(spec, Pod)
    both = [Container(image="rare"), *spec.spec.containers]
    with_both = msgspec.structs.replace(
        spec, spec=msgspec.structs.replace(spec.spec, containers=both)
    )
    world = World(
        queue(), [node("m", images={"rare": GIBI}), *nodes], group("g", minimum=1), with_both
    )
    assert where(world) == "n0"


def test_a_gang_fills_the_nodes_with_its_image_as_one_by_one() -> None:
    """The bonus is part of each pod's choice, so that spreading still weighs against it."""
    nodes = [node("a", cpu=8), node("b", cpu=8, images={"train": 2 * GIBI}), node("c", cpu=8)]
    together = World(queue(), nodes, job("train", count=6, cpu="1"))
    together.session()
    single = World(queue(), nodes)
    for n in range(6):
        single.put(*job("train", name=f"s{n}", cpu="1"))
        single.session()
    assert sorted(together.where().values()) == sorted(single.where().values())
    assert list(together.where().values()).count("b") > 2


def test_pods_of_one_gang_with_different_images_go_each_where_its_own_is() -> None:
    nodes = [node("a"), node("b", images={"ps": 8 * GIBI}), node("c", images={"w": 8 * GIBI})]
    pods = [
        pod(f"g-{n}", group="g", requests={"cpu": "1"}, image=image)
        for n, image in enumerate(["ps", "w"])
    ]
    world = World(queue(), nodes, group("g", minimum=2), pods)
    world.session()
    assert world.where() == {"g-0": "b", "g-1": "c"}


def test_images_come_and_go() -> None:
    world = World(queue(), [node("a"), node("b")])
    world.put(node("b", images={"train": 8 * GIBI}))
    world.put(*job("train", name="one"))
    world.session()
    world.put(node("b"), node("a", images={"train": 8 * GIBI}))
    world.put(*job("train", name="two"))
    world.session()
    world.delete(kinds.NODES, "a")
    world.put(*job("train", name="three"))
    world.session()
    assert world.where() == {"one-0": "b", "two-0": "a", "three-0": "b"}


def test_a_change_of_images_alone_opens_no_session_and_keeps_the_masks() -> None:
    world = World(queue(), [node("a"), node("b")], job("train", cpu="1000"))
    world.session()
    static = world.snapshot().nodes.static
    before: Node = node("b")
    matters, problem = world.cache.facts.nodes.put(node("b", images={"train": GIBI}))
    assert (matters, problem) == (False, "")
    assert world.snapshot().nodes.static is static
    assert len(world.snapshot().images) == 1
    world.cache.facts.nodes.put(before)
    assert world.snapshot().images == {}


def test_a_snapshot_has_only_images_that_a_waiting_pod_names() -> None:
    images = {f"image-{n}": GIBI for n in range(50)}
    world = World(queue(), [node(f"n{n}", images=images) for n in range(100)])
    assert world.snapshot().images == {}
    world.put(*job("image-7", cpu="1000"), *job("image-7", name="h", cpu="1000"))
    first = world.snapshot().images
    assert [len(row.at) for row in first.values()] == [100]
    (again,), (row,) = world.snapshot().images.values(), first.values()
    assert again is row, "sessions share it, so that a record repeats nothing"
    world.put(node("n3", images={"else": GIBI}))
    assert [len(row.at) for row in world.snapshot().images.values()] == [99]
    world.delete(kinds.PODS, "ns/g-0")
    assert len(world.snapshot().images) == 1
    world.delete(kinds.PODS, "ns/h-0")
    assert world.snapshot().images == {}


def test_recorded_sessions_with_images_replay_to_the_same_bytes() -> None:
    world = World(queue(), [node("a"), node("b", images={"train": 8 * GIBI})])
    recording = Recording(world)
    for turn in range(4):
        world.put(*job("train", name=f"g{turn}", cpu="3"))
        recording.session()
        world.put(node(f"0{turn}", images={"train": 8 * GIBI, f"more-{turn}": GIBI}))
    recording.check()
    assert world.where()["g0-0"] == "b"
