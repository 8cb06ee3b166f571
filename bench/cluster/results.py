"""What was measured, as data: this is what the JSON file holds, and what two runs are compared by."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

import msgspec

from bench.cluster.shapes import Shape
from bench.report import percentile


class ResultsError(ValueError):
    """A file that does not hold results; says which and why."""


class Spread(msgspec.Struct, frozen=True):
    """Seconds. The percentiles count from the submission of the pod's own job, the last one from the
    first submission of all: how long one waits for a pod, and how long for everything."""

    p50: float
    p99: float
    last: float

    @classmethod
    def of(cls, waits: Iterable[float], *, last: float) -> Self:
        """Of at least one wait."""
        waits = list(waits)
        rounded = (percentile(waits, 0.5), percentile(waits, 0.99), last)
        return cls(*(round(value, 4) for value in rounded))


class ProcessUse(msgspec.Struct, frozen=True, kw_only=True):
    """Of one process while a shape was measured."""

    cpu_seconds: float
    memory_bytes_max: int


class Requests(msgspec.Struct, frozen=True, kw_only=True):
    """What the API server was asked, but for leases and what this benchmark asked itself."""

    by_agent: dict[str, dict[str, int]]
    """User agent, then verb and resource (`create pods/binding`), to a count."""
    total: int
    per_pod: float
    writes_per_pod: float


class ShapeResult(msgspec.Struct, frozen=True, kw_only=True):
    """One shape."""

    shape: Shape
    accepted: Spread
    """The requests that created the jobs; `last` is when all were accepted."""
    stages: dict[str, Spread]
    """By name of the stage; without the stages that no pod reached."""
    reached: dict[str, int]
    """Pods that reached each stage."""
    pods_per_second: float
    """From the first submission to the last pod of the last stage that was waited for."""
    pods_made: int
    """More than the shape has when pods were made again."""
    gaps: int = 0
    """Breaks of the watch, after which times are later than the truth."""
    load_average: float = 0.0
    """Of the machine that measured, at the end: a busy one makes everything on it slower."""
    processes: dict[str, ProcessUse] = {}
    requests: Requests | None = None

    @property
    def complete(self) -> bool:
        return self.pods_per_second > 0


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster, measured."""

    label: str
    nodes: int
    until: str
    shapes: list[ShapeResult]

    def by_shape(self) -> Mapping[Shape, ShapeResult]:
        return {each.shape: each for each in self.shapes}


def write(run: Run, file: Path) -> None:
    """As JSON, for `read`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n")


def read(file: Path) -> Run:
    """What `write` wrote; ResultsError when it is something else."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Run)
    except OSError as error:
        raise ResultsError(f"{file}: {error.strerror or error}") from None
    except msgspec.MsgspecError as error:
        raise ResultsError(f"{file}: no results of a run: {error}") from None
