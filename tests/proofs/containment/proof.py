"""Each boundary under inputs of a seed: whatever comes, nothing but that one object or record suffers."""

import logging
import random
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from tests.proofs.containment import messages, objects, servers
from tests.proofs.runner import Outcome


class Boundary(msgspec.Struct, frozen=True):
    """Where something that others wrote enters."""

    name: str
    feed: Callable[[random.Random, int], int]
    """Feeds so many inputs and gives their number; raises when one of them escapes."""
    inputs: int
    """Of one seed."""


def _read_files(rng: random.Random, count: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        return objects.read_files(rng, count, Path(folder))


BOUNDARIES: Final = (
    Boundary("decode of messages", messages.decode_messages, 1200),
    Boundary("headers, keys and values of records", messages.read_records, 400),
    Boundary("records through a follower", messages.follow_records, 60),
    Boundary("checkpoints and sessions in the cache", messages.read_cache, 100),
    Boundary("projection by the watcher", objects.project, 120),
    Boundary("columns and sessions of the scheduler", objects.schedule, 24),
    Boundary("the scheduler's ConfigMap", objects.configure, 4),
    Boundary("decisions about jobs", objects.control_jobs, 4),
    Boundary("decisions about pod groups", objects.control_groups, 12),
    Boundary("decisions about queues and usage", objects.control_queues, 12),
    Boundary("admission reviews", objects.admit, 24),
    Boundary("manifests of vcctl", _read_files, 2),
    Boundary("requests to the embedded API server", servers.ask_api_server, 8),
    Boundary("requests to the dashboard", servers.ask_dashboard, 4),
)
TOTAL: Final = "inputs in all"


def prove(seed: int) -> Outcome:
    """All boundaries, with inputs of one seed."""
    logging.disable(logging.CRITICAL)  # what is contained is logged, thousands of times
    try:
        return feed_all(seed)
    finally:
        logging.disable(logging.NOTSET)


def feed_all(seed: int, *, part: float = 1.0) -> Outcome:
    """`part` of the inputs of a seed."""
    counts: dict[str, int] = {TOTAL: 0}
    escapes: list[str] = []
    for boundary in BOUNDARIES:
        rng = random.Random(f"{boundary.name}/{seed}")
        wanted = max(1, round(boundary.inputs * part))
        try:
            counts[boundary.name] = boundary.feed(rng, wanted)
        except Exception as error:  # noqa: BLE001 - an escape, whatever it is
            counts[boundary.name] = wanted
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__}: {error}"[:300]
            escapes.append(f"{boundary.name}: {what} ({Path(place.filename).name}:{place.lineno})")
        counts[TOTAL] += counts[boundary.name]
    return Outcome(counts=counts, failures=tuple(escapes))
