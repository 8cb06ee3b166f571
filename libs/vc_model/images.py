"""Container images on nodes, in the few bytes that scoring needs.

A kubelet reports up to 50 images, or all of them if told so, each with up to five names of a hundred
characters. Over thousands of nodes that is most of what would be known of them, and nobody reads the
names: one only asks whether the image a pod names is there, and how large it is. So a name becomes 8 bytes
of its digest, and a node's images a string of (name, size) pairs, the largest images first come.
"""

import hashlib
import struct
from collections.abc import Sequence
from typing import Final

from vc_model.struct import ApiStruct

IMAGE_NAMES_MAX: Final = 250
"""Of one node: what a kubelet reports unless it is told otherwise. Of more, the largest images count."""

IMAGE_SIZE_MAX: Final = 2**40
"""Bytes; keeps sums of sizes over nodes and containers far inside 64 bits."""

PAIR: Final = struct.Struct("<qq")
"""How one name lies in the packed bytes: its id, the image's size."""


class ContainerImage(ApiStruct, frozen=True, kw_only=True):
    """An image that is already there; only scoring looks at it."""

    names: list[str] = []
    size_bytes: int = 0


def normalised(name: str) -> str:
    """A name without tag and digest means the tag `latest`."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def image_id(name: str) -> str:
    """What an image is called here: 16 hexadecimal digits, the same in any process; all 0 for none."""
    if not name:
        return "0" * 16
    return hashlib.sha256(normalised(name).encode()).hexdigest()[:16]


def image_number(image: str) -> int:
    """The id as it lies in packed bytes."""
    return int.from_bytes(bytes.fromhex(image), "big", signed=True)


def pack_images(images: Sequence[ContainerImage]) -> bytes:
    """The images of a node; the same bytes for the same images in any order."""
    sizes: dict[int, int] = {}
    for image in sorted(images, key=_largest_first):
        size = min(image.size_bytes, IMAGE_SIZE_MAX)
        if size <= 0:
            continue
        for name in sorted(image.names):
            if len(sizes) >= IMAGE_NAMES_MAX:
                break
            if name:
                sizes.setdefault(image_number(image_id(name)), size)
    return b"".join(PAIR.pack(number, size) for number, size in sorted(sizes.items()))


def _largest_first(image: ContainerImage) -> tuple[int, list[str]]:
    return (-image.size_bytes, sorted(image.names))
