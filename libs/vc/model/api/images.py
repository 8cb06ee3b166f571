"""Container images on nodes, packed into the few bytes that scoring needs.

A kubelet reports up to 50 images, or all of them if configured so, each with up to five names of a
hundred characters. For thousands of nodes this would be most of their data, and the names are never
read: scoring only needs to know whether a pod's image is present, and its size. Therefore a name is
stored as 8 bytes of its digest, and the images of a node as a string of (name, size) pairs. If
there are too many, the largest images are kept.
"""

import hashlib
import struct
from collections.abc import Sequence
from typing import Final

from vc.model.api.struct import ApiStruct

IMAGE_NAMES_MAX: Final = 250
"""Limit of image names per node, which a kubelet reports by default;
beyond it the largest images are kept.
"""

IMAGE_SIZE_MAX: Final = 2**40
"""Limit in bytes; it keeps sums of sizes over nodes and containers far below 64 bits."""

PAIR: Final = struct.Struct("<qq")
"""The layout of one name in the packed bytes: its id, and the image's size."""


class ContainerImage(ApiStruct, frozen=True, kw_only=True):
    """An image that is present on a node; used only for scoring."""

    names: list[str] = []
    size_bytes: int = 0


def normalised(name: str) -> str:
    """The name with its tag; a name without tag and digest gets the tag `latest`."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def image_id(name: str) -> str:
    """The id of an image name: 16 hexadecimal digits, stable across processes;
    all 0 for an empty name.
    """
    if not name:
        return "0" * 16
    return hashlib.sha256(normalised(name).encode()).hexdigest()[:16]


def image_number(image: str) -> int:
    """The id as a number, as in the packed bytes."""
    return int.from_bytes(bytes.fromhex(image), "big", signed=True)


def pack_images(images: Sequence[ContainerImage]) -> bytes:
    """The packed images of a node; independent of their order."""
    sizes: dict[int, int] = {}
    for image in sorted(images, key=_largest_first):
        size = min(image.size_bytes, IMAGE_SIZE_MAX)
        # An image without a size cannot change a score.
        if size <= 0:
            continue
        for name in sorted(image.names):
            if len(sizes) >= IMAGE_NAMES_MAX:
                break
            if name:
                # Two images may report one name; the larger one comes first and is kept.
                sizes.setdefault(image_number(image_id(name)), size)
    return b"".join(PAIR.pack(number, size) for number, size in sorted(sizes.items()))


def _largest_first(image: ContainerImage) -> tuple[int, list[str]]:
    return (-image.size_bytes, sorted(image.names))
