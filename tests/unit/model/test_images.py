"""Images of nodes in a few bytes: names are normalised, the largest count, order does not."""

import msgspec
import pytest

from vc.model.api.images import (
    IMAGE_NAMES_MAX,
    IMAGE_SIZE_MAX,
    PAIR,
    ContainerImage,
    image_id,
    image_number,
    normalised,
    pack_images,
)
from vc.model.api.node import Node, NodeStatus

DIGEST = "registry.example/team/train@sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ("busybox", "busybox:latest"),
        ("busybox:1.36", "busybox:1.36"),
        ("registry.example:5000/busybox", "registry.example:5000/busybox:latest"),
        ("registry.example:5000/busybox:1", "registry.example:5000/busybox:1"),
        (DIGEST, DIGEST),
    ],
)
def test_a_name_without_tag_and_digest_means_latest(written: str, means: str) -> None:
    assert normalised(written) == means
    assert image_id(written) == image_id(means)


def sizes(packed: bytes) -> dict[int, int]:
    return dict(PAIR.iter_unpack(packed))


def test_every_name_of_an_image_finds_its_size() -> None:
    packed = pack_images([ContainerImage(names=[DIGEST, "train:2"], size_bytes=7)])
    assert sizes(packed) == {
        image_number(image_id(DIGEST)): 7,
        image_number(image_id("train:2")): 7,
    }


def test_the_order_in_which_images_are_listed_is_not_seen() -> None:
    images = [ContainerImage(names=[f"i{n}", f"j{n}"], size_bytes=5 + n % 3) for n in range(300)]
    assert pack_images(images) == pack_images(images[::-1])


def test_of_too_many_the_largest_count() -> None:
    images = [ContainerImage(names=[f"i{n}"], size_bytes=1 + n) for n in range(400)]
    packed = pack_images(images)
    assert len(packed) == IMAGE_NAMES_MAX * PAIR.size
    assert image_number(image_id("i399")) in sizes(packed)
    assert image_number(image_id("i0")) not in sizes(packed)


def test_nonsense_is_left_out_and_too_much_is_bounded() -> None:
    images = [
        ContainerImage(names=["nothing"], size_bytes=0),
        ContainerImage(names=["less"], size_bytes=-5),
        ContainerImage(names=[""], size_bytes=5),
        ContainerImage(names=["vast"], size_bytes=2**62),
    ]
    assert sizes(pack_images(images)) == {image_number(image_id("vast")): IMAGE_SIZE_MAX}


def test_a_node_is_packed_as_it_is_read_and_stays_so_on_the_bus() -> None:
    names = [f"registry.example/team/image-{n}" for n in range(50)]
    listed = [{"names": [f"{n}@sha256:{'a' * 64}", f"{n}:1"], "sizeBytes": 10**9} for n in names]
    raw = msgspec.json.encode({"metadata": {"name": "n"}, "status": {"images": listed}})
    node = msgspec.json.decode(raw, type=Node)
    assert node.status.images == []
    assert len(node.status.packed_images) == 100 * PAIR.size
    sent = msgspec.msgpack.encode(node)
    assert len(sent) < len(raw) // 3
    assert msgspec.msgpack.decode(sent, type=Node) == node
    assert msgspec.structs.replace(node.status, conditions=[]) == node.status


def test_a_node_without_images_says_nothing_of_them() -> None:
    assert msgspec.json.encode(NodeStatus()) == b"{}"
