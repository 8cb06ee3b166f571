"""Runs with fixed numbers."""

from bench.cluster.results import ProcessUse, Requests, Run, ShapeResult, Spread
from bench.cluster.shapes import Shape


def result(shape: Shape, *, factor: float = 1.0, complete: bool = True) -> ShapeResult:
    """One whose seconds are all multiplied by the factor."""
    stages = {
        stage: Spread(p50=1.0 * factor * n, p99=2.0 * factor * n, last=2.5 * factor * n)
        for n, stage in enumerate(("created", "bound", "running"), start=1)
    }
    return ShapeResult(
        shape=shape,
        accepted=Spread(p50=0.01, p99=0.02, last=0.5),
        stages=stages,
        reached=dict.fromkeys(stages, shape.total if complete else shape.total - 1),
        pods_per_second=shape.total / (7.5 * factor) if complete else 0.0,
        pods_made=shape.total,
        processes={"scheduler": ProcessUse(cpu_seconds=4.0 * factor, memory_bytes_max=80_000_000)},
        requests=Requests(
            by_agent={"pyroclast/scheduler": {"create pods/binding": shape.total}},
            total=round(2 * factor * shape.total),
            per_pod=2.0 * factor,
            writes_per_pod=1.0 * factor,
        ),
    )


def run(label: str, *shapes: Shape, factor: float = 1.0, complete: bool = True) -> Run:
    results = [result(shape, factor=factor, complete=complete) for shape in shapes]
    return Run(label=label, nodes=10, until="running", shapes=results)
