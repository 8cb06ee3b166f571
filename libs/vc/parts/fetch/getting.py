"""Finds a part on this machine, or gets it.

`find` is always quick. `obtain` may build for minutes and reports progress.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from vc.parts.errors import PartError
from vc.parts.fetch import builders
from vc.parts.fetch.cache import Slot, cache_key, cache_root, size_bytes
from vc.parts.fetch.catalogue import Part, part_named
from vc.parts.progress import Say, silent


class Source(StrEnum):
    """Where a part came from."""

    MACHINE = "on PATH"
    CACHE = "cache"
    BUILT = "built now"


@dataclass(frozen=True, kw_only=True)
class Obtained:
    """A part that can be started."""

    name: str
    version: str
    """Empty for a program found on PATH, whose version is not checked."""
    source: Source
    path: Path
    """The executable, or for Kafka the folder of jars."""
    seconds: float
    """How long it took to get the part this time."""

    @property
    def bytes_on_disk(self) -> int:
        """The current size on disk."""
        return size_bytes(self.path.resolve())


def slot_of(part: Part, env: Mapping[str, str]) -> Slot:
    """The part's place in the cache."""
    return Slot(cache_root(env), part.name, cache_key(part.version, part.recipe))


def find(name: str, *, env: Mapping[str, str] | None = None) -> Obtained | None:
    """The part if it is on PATH or in the cache. None if it would have to be built."""
    environment = os.environ if env is None else env
    part = part_named(name)
    # An installed program comes first, because it needs no download or build.
    found = builders.on_path(part, environment)
    if found:
        return Obtained(name=name, version="", source=Source.MACHINE, path=found, seconds=0.0)
    slot = slot_of(part, environment)
    if not slot.is_filled:
        return None
    path = builders.program_in(part, slot.folder)
    return Obtained(name=name, version=part.version, source=Source.CACHE, path=path, seconds=0.0)


def obtain(name: str, *, say: Say = silent, env: Mapping[str, str] | None = None) -> Obtained:
    """The part, built into the cache if necessary. Raises a PartError with one sentence."""
    environment = os.environ if env is None else env
    found = find(name, env=environment)
    if found:
        return found
    part = part_named(name)
    slot = slot_of(part, environment)
    started = time.monotonic()

    def build(folder: Path) -> None:
        builders.build(part, into=folder, log=slot.log, say=say, env=environment)

    try:
        built = slot.fill(build, say)
    except PartError as error:
        # The type is kept, because it shows at which step the error happened.
        raise type(error)(f"{name} is missing and could not be got. {error}") from error
    seconds = time.monotonic() - started
    say(f"{name} {part.version}: ready in {slot.folder}")
    return Obtained(
        name=name,
        version=part.version,
        source=Source.BUILT if built else Source.CACHE,
        path=builders.program_in(part, slot.folder),
        seconds=seconds,
    )
