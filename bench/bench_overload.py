"""Overload: the same jobs on a quiet machine and beside processes that take a part of its CPU.

Real Kafka, Redis and kube-apiserver with every service on this machine, as in `bench_cluster`. Each run has
a stack of its own, because leftovers of one run would distort the next. The report shows the wall time until
all pods are bound, the CPU time of our services, the numbers of expired and lost leases, released gangs and
dropped binds and, with `--base`, the wall time of another commit's services on a quiet machine with the same
servers. A run whose hogs got a different share of the CPU than configured is discarded and repeated.
`make bench-overload BASE=cac789f`.
"""

import argparse
import asyncio
import random
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench.checkout import checkout
from bench.cluster.measure import measure_once, warm_up
from bench.cluster.results import ShapeResult
from bench.cluster.setting import Bench, MeasureError
from bench.cluster.shapes import PodTemplate, Shape
from bench.cluster.writes import make_namespace
from bench.hogs import Hogs
from bench.parts import run_on
from bench.real_stack import RealStack, real_ground
from bench.report import report
from vc.cli.pyroclast.services import SERVICES
from vc.model.api.kinds import LEASES
from vc.parts import PartError

SHARES: Final = (0.25, 0.67)
SHARE_TOLERANCE: Final = 0.03
ATTEMPTS_MAX: Final = 3
WALL_BARS: Final = {0.25: 1.5, 0.67: 4.0}
CPU_BAR: Final = 1.3
BASE_BAR: Final = 1.05
SHAPE_SECONDS_MAX: Final = 900.0
WARM_UP_SECONDS_MAX: Final = 120.0
SECONDS_MAX: Final = 7200.0
PARTS: Final = ("kafka", "redis", "kubernetes")
LINES: Final = {
    "leases_ran_out": (
        "lease expired, writes wait",
        "leadership lost lease=",
        # Earlier releases; in cac789f only the watcher logs a lost lease:
        " ran out: nothing is written meanwhile",
        "term over: lost the lease",
        "term over reason=lost",
    ),
    "gangs_released": (
        "releasing half-bound gang",
        # Earlier releases:
        "released: its gang is not complete",
    ),
    "binds_dropped": (
        "binds failed error=no longer leading",
        # Earlier releases:
        "binds not done: no longer leading",
    ),
    "relists": (
        "watch gap, relisting",
        # Earlier releases:
        "gap, listing anew",
    ),
}
"""Log messages of our services that are counted, by column of the report. The watcher logs a lost lease twice,
which does no harm: the bar is that there is none."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Results of one run."""

    label: str
    share: float
    """Fraction of the CPU time that the hogs used."""
    wall_seconds: float
    cpu_seconds: float
    """CPU time of our services."""
    leases_passed_on: int
    log_counts: dict[str, int]
    """Number of log lines for each key of `LINES`."""


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog="python -m bench.bench_overload",
        description="Wall and CPU time beside processes that take 25 and 67 % of the CPU.",
    )
    add = options.add_argument
    add("--jobs", type=int, default=100)
    add("--pods", type=int, default=50, help="of a job")
    add("--nodes", type=int, default=1000)
    add("--shares", default=",".join(map(str, SHARES)), help="of the CPU, taken by the hogs")
    add("--base", default="", help="a commit whose quiet wall time is measured too")
    return options


async def measure_all(arguments: argparse.Namespace) -> None:
    """Measure a quiet run, then runs beside hogs, then the base; a missed bar raises MeasureError."""
    quiet = await _counted(arguments, "quiet", share=0.0)
    shares = [float(share) for share in arguments.shares.split(",") if share]
    runs = [quiet]
    runs += [await _counted(arguments, f"{share:.0%} taken", share=share) for share in shares]
    unmeasured: list[str] = []
    if arguments.base:
        label = f"quiet, {arguments.base}"
        try:
            with checkout(arguments.base) as source:
                runs.append(await _counted(arguments, label, share=0.0, source=source))
        except (MeasureError, PartError) as error:
            # The runs above took minutes, and their bars do not depend on the base.
            unmeasured.append(f"{label}: not measured: {error}")
    _report(quiet, runs)
    if missed := [*_missed(quiet, runs), *unmeasured]:
        raise MeasureError("; ".join(missed))


async def _counted(
    arguments: argparse.Namespace, label: str, *, share: float, source: Path | None = None
) -> Measured:
    """Repeat a run until the hogs got the configured share of the CPU."""
    for attempt in range(1, ATTEMPTS_MAX + 1):
        print(f"\n{label}: run {attempt}", flush=True)
        run = await _run(arguments, label, share=share, source=source)
        if abs(run.share - share) <= SHARE_TOLERANCE:
            print(f"{label}: {run.wall_seconds:.1f} s, {run.cpu_seconds:.1f} CPU s", flush=True)
            return run
        print(f"{label}: discarded: the hogs got {run.share:.1%}", flush=True)
    raise MeasureError(f"{label}: the hogs never got {share:.0%} ± {SHARE_TOLERANCE:.0%}")


async def _run(
    arguments: argparse.Namespace, label: str, *, share: float, source: Path | None
) -> Measured:
    shape = Shape(arguments.jobs, arguments.pods)
    async with real_ground(real=True, nodes=arguments.nodes) as stack:
        await stack.start_services(source=source)
        bench = _bench(stack)
        await make_namespace(bench)
        await warm_up(bench, shape)
        before = await _transitions(stack)
        began = time.monotonic()
        with Hogs(share) as hogs:
            result = await measure_once(bench, shape)
            got = hogs.share(time.monotonic() - began)
        if not result.complete:
            raise MeasureError(f"{label}: not over within {bench.seconds_max:g} s")
        return Measured(
            label=label,
            share=got,
            wall_seconds=result.stages["bound"].last,
            cpu_seconds=_own_cpu(result),
            leases_passed_on=await _transitions(stack) - before,
            log_counts=_log_counts(stack),
        )


def _bench(stack: RealStack) -> Bench:
    return Bench(
        cluster=stack.cluster,
        namespace=f"bench-{random.getrandbits(32):08x}",
        template=PodTemplate(),
        until="bound",
        seconds_max=SHAPE_SECONDS_MAX,
        warm_up_seconds_max=WARM_UP_SECONDS_MAX,
        pids=stack.pids,
        audit_log=None,
        token=f"{random.getrandbits(64):016x}",
        say=lambda line: print(line, flush=True),
    )


def _own_cpu(result: ShapeResult) -> float:
    """CPU time of our services, also of another checkout, without the servers and this process."""
    own = [name for name in result.processes if name in SERVICES]
    return sum(result.processes[name].cpu_seconds for name in own)


async def _transitions(stack: RealStack) -> int:
    """Sum of `leaseTransitions` over our Leases; it grows when a Lease gets another holder."""
    leases = [msgspec.json.decode(raw) for raw in (await stack.cluster.list(LEASES)).items]
    own = [each for each in leases if each["metadata"]["name"].startswith("vc-")]
    return sum(int(each["spec"].get("leaseTransitions") or 0) for each in own)


def _log_counts(stack: RealStack) -> dict[str, int]:
    """Count the lines while the stack runs: services that are stopped also log that they lost the lease."""
    logs = [
        (stack.home / "logs" / f"{name}.log").read_text() for name in stack.pids if name in SERVICES
    ]
    return {
        column: sum(log.count(message) for log in logs for message in messages)
        for column, messages in LINES.items()
    }


# -- report --------------------------------------------------------------------------------------


def _report(quiet: Measured, runs: Sequence[Measured]) -> None:
    header = ["run", "hogs", "wall s", "wall x", "cpu s", "cpu x", "leases passed on", *LINES]
    rows = [
        [
            run.label,
            f"{run.share:.1%}",
            f"{run.wall_seconds:.1f}",
            f"{run.wall_seconds / quiet.wall_seconds:.2f}",
            f"{run.cpu_seconds:.1f}",
            f"{run.cpu_seconds / quiet.cpu_seconds:.2f}",
            str(run.leases_passed_on),
            *(str(count) for count in run.log_counts.values()),
        ]
        for run in runs
    ]
    values: dict[str, float] = {}
    for run in runs:
        name = run.label.replace(" ", "_").replace(",", "").replace("%", "")
        values |= {f"{name}_wall_s": run.wall_seconds, f"{name}_cpu_s": run.cpu_seconds}
        values[f"{name}_leases_lost"] = run.leases_passed_on + run.log_counts["leases_ran_out"]
        values[f"{name}_gangs_released"] = run.log_counts["gangs_released"]
    report(
        "overload", header=[column.replace("_", " ") for column in header], rows=rows, values=values
    )


def _missed(quiet: Measured, runs: Sequence[Measured]) -> list[str]:
    """One message for each bar that was missed."""
    missed: list[str] = []
    for run in runs[1:]:
        wall, cpu = run.wall_seconds / quiet.wall_seconds, run.cpu_seconds / quiet.cpu_seconds
        if not run.label.startswith("quiet"):
            bar = next((b for share, b in WALL_BARS.items() if abs(run.share - share) < 0.1), None)
            if bar is not None and wall > bar:
                missed.append(f"{run.label}: {wall:.2f} x the quiet wall time, at most {bar} x")
            if cpu > CPU_BAR:
                missed.append(f"{run.label}: {cpu:.2f} x the quiet CPU time, at most {CPU_BAR} x")
        elif 1 / wall > BASE_BAR:
            missed.append(f"quiet: {1 / wall:.2f} x that of {run.label}, at most {BASE_BAR} x")
    for run in runs:
        if run.label.startswith("quiet,"):
            continue
        if run.leases_passed_on or run.log_counts["leases_ran_out"]:
            missed.append(f"{run.label}: leases were lost")
        if run.log_counts["gangs_released"]:
            missed.append(f"{run.label}: gangs were released")
    return missed


def main(words: Sequence[str] | None = None) -> bool:
    """False when it failed or a bar was missed."""
    arguments = parser().parse_args(words)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # end what was started here too
    try:
        return run_on(
            PARTS, lambda: measure_all(arguments), name="overload", seconds_max=SECONDS_MAX
        )
    except MeasureError as error:
        print(f"\noverload: failed: {error}", flush=True)
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("\noverload: ended by hand", flush=True)
    return False


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
