"""Runs as tables for a terminal."""

from collections.abc import Sequence
from typing import Final

from bench.cluster.results import Run, ShapeResult, Spread
from bench.pod_times import STAGES
from vc.cli.tables import render

WIDTH: Final = 140
MEGABYTE: Final = 1e6
_SHOWN: Final = ("p50", "p99", "last")


def times_table(run: Run) -> str:
    """Seconds by shape and stage."""
    header = (
        "SHAPE",
        "ACCEPTED",
        *(f"{s.upper()} p50 / p99 / last" for s in STAGES),
        "PODS/S",
        "LOAD",
    )
    return render(header, [_times_row(each) for each in run.shapes], width=WIDTH)


def _times_row(each: ShapeResult) -> Sequence[str]:
    stages = [_spread(each.stages.get(stage)) for stage in STAGES]
    rate = f"{each.pods_per_second:.1f}" if each.complete else "not all"
    return (
        str(each.shape),
        f"{each.accepted.last:.2f} s",
        *stages,
        rate,
        f"{each.load_average:.1f}",
    )


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    return f"{spread.p50:.2f} / {spread.p99:.2f} / {spread.last:.2f} s"


def processes_table(run: Run) -> str:
    """CPU seconds and memory by process; empty when no pids were given."""
    names = list(dict.fromkeys(name for each in run.shapes for name in each.processes))
    if not names:
        return ""
    rows = [(name, *(_use(each, name) for each in run.shapes)) for name in names]
    totals = (sum(use.cpu_seconds for use in each.processes.values()) for each in run.shapes)
    rows.append(("together", *(f"{total:.1f} s" for total in totals)))
    return render(("PROCESS", *(str(each.shape) for each in run.shapes)), rows, width=WIDTH)


def _use(each: ShapeResult, name: str) -> str:
    use = each.processes.get(name)
    if use is None:
        return "-"
    return f"{use.cpu_seconds:.1f} s, {use.memory_bytes_max / MEGABYTE:.0f} MB"


def requests_table(run: Run) -> str:
    """Requests a pod by user agent, verb and resource; empty without an audit log."""
    logged = [each for each in run.shapes if each.requests is not None]
    if not logged:
        return ""
    sorts = dict.fromkeys(
        (agent, sort)
        for each in logged
        if each.requests
        for agent, asked in each.requests.by_agent.items()
        for sort in asked
    )
    rows = [
        (agent, sort, *(_asked(each, agent, sort) for each in logged))
        for agent, sort in sorted(sorts)
    ]
    rows.append(("all", "writes a pod", *(_per_pod(each, writes=True) for each in logged)))
    rows.append(("all", "requests a pod", *(_per_pod(each, writes=False) for each in logged)))
    header = ("USER AGENT", "REQUEST", *(str(each.shape) for each in logged))
    return render(header, rows, width=WIDTH)


def _asked(each: ShapeResult, agent: str, sort: str) -> str:
    assert each.requests is not None
    count = each.requests.by_agent.get(agent, {}).get(sort, 0)
    return f"{count:,}" if count else "-"


def _per_pod(each: ShapeResult, *, writes: bool) -> str:
    assert each.requests is not None
    return f"{each.requests.writes_per_pod if writes else each.requests.per_pod:.2f}"


def warnings(run: Run) -> list[str]:
    """What a reader must know before comparing."""
    said = []
    for each in run.shapes:
        if each.pods_made > each.shape.total:
            said.append(f"{each.shape}: {each.pods_made:,} pods were made for {each.shape.total:,}")
        if each.gaps:
            said.append(f"{each.shape}: the watch broke {each.gaps} times; times may be too late")
        if not each.complete:
            reached = ", ".join(f"{count:,} {stage}" for stage, count in each.reached.items())
            said.append(f"{each.shape}: not all pods were {run.until}: {reached}")
    return said


def comparison_table(one: Run, other: Run) -> str:
    """Ratios of the second run to the first: 0.50 is half as long, or half as many."""
    known = one.by_shape()
    rows = [
        row
        for each in other.shapes
        if each.shape in known
        for row in _compared(known[each.shape], each)
    ]
    header = ("SHAPE", "WHAT", one.label, other.label, f"{other.label} / {one.label}")
    return render(header, rows, width=WIDTH)


def _compared(one: ShapeResult, other: ShapeResult) -> list[Sequence[str]]:
    if not (one.complete and other.complete):
        return [(str(other.shape), "not all pods in one of them", "-", "-", "-")]
    pairs = {
        f"{stage} {what} s": (getattr(one.stages[stage], what), getattr(other.stages[stage], what))
        for stage in STAGES
        if stage in one.stages and stage in other.stages
        for what in _SHOWN
    }
    pairs["pods/s"] = (one.pods_per_second, other.pods_per_second)
    if one.requests and other.requests:
        pairs["requests a pod"] = (one.requests.per_pod, other.requests.per_pod)
        pairs["writes a pod"] = (one.requests.writes_per_pod, other.requests.writes_per_pod)
    if one.processes and other.processes:
        pairs["CPU s"] = (_cpu(one), _cpu(other))
        pairs["memory MB"] = (_memory(one), _memory(other))
    return [
        (str(other.shape), what, f"{a:.2f}", f"{b:.2f}", f"{b / a:.2f}" if a else "-")
        for what, (a, b) in pairs.items()
    ]


def _cpu(each: ShapeResult) -> float:
    return sum(use.cpu_seconds for use in each.processes.values())


def _memory(each: ShapeResult) -> float:
    return sum(use.memory_bytes_max for use in each.processes.values()) / MEGABYTE
