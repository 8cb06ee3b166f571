"""`python -m bench.cluster`: the command line of it."""

import argparse
import asyncio
import random
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from bench.cluster import chart, results, tables
from bench.cluster.audit_log import OWN_SERVICE, AuditLog
from bench.cluster.free_capacity import free_capacity_for, why_too_small
from bench.cluster.measure import measure
from bench.cluster.process_use import parse_pids
from bench.cluster.results import Run, ShapeResult
from bench.cluster.setting import Bench, MeasureError
from bench.cluster.shapes import DEFAULT_SHAPES, PodTemplate, Shape, parse_shapes
from bench.pod_times import STAGES
from vc.cluster import Cluster, ClusterError, NotFoundError
from vc.cluster.kubernetes import connect
from vc.cluster.kubernetes_config import ConfigurationError
from vc.cluster.kubernetes_http import Limits
from vc.model.api.kinds import JOBS, NODES, PODS
from vc.model.api.node import Node
from vc.model.api.pod import Pod
from vc.model.values.quantity import QuantityError

WRITE_SECONDS_MAX: Final = 30.0
"""Of our own requests: a crowd of submissions may wait, and a time-out would spoil the count."""
SHAPE_SECONDS_MAX: Final = 900.0
WARM_UP_SECONDS_MAX: Final = 120.0

T = TypeVar("T")


def parser() -> argparse.ArgumentParser:
    """Every option; each has a default but the cluster itself."""
    options = argparse.ArgumentParser(
        prog="python -m bench.cluster",
        description="Measure any cluster that serves vcjobs: from submission to pods created, bound, running.",
    )
    add = options.add_argument
    add("--kubeconfig", default="", help="the cluster; KUBECONFIG when it is not given")
    add("--context", default="", help="of the kubeconfig; its current one when it is not given")
    add("--shapes", default=DEFAULT_SHAPES, type=_parsed(parse_shapes), metavar="JOBSxPODS,…")
    add("--namespace", default="", help="made and deleted by the run; default bench-<random>")
    add("--queue", default="default")
    add("--scheduler-name", default="volcano")
    add("--image", default="busybox:1.36", help="must have `sleep`, where nodes are real")
    add("--cpu", default="100m", help="of a pod")
    add("--memory", default="64Mi", help="of a pod")
    add("--plugins", default="", metavar="NAME,…", help="job plugins, such as env,svc")
    add("--node-selector", default="", metavar="KEY=VALUE,…", help="nodes that are measured")
    add("--tolerate-all", action="store_true", help="pods tolerate every taint, as KWOK's")
    add("--until", default="running", choices=STAGES[1:], help="bound, where no node runs pods")
    add("--seconds-max", default=SHAPE_SECONDS_MAX, type=float, help="of a shape")
    add(
        "--warm-up-seconds",
        default=WARM_UP_SECONDS_MAX,
        type=float,
        help="until a cluster is quiet",
    )
    add("--audit-log", type=Path, metavar="FILE", help="of the API server: requests a pod")
    add("--pids", default="", type=_parsed(parse_pids), metavar="NAME=PID,…", help="CPU, memory")
    add("--label", default="", help="how the run is called in tables and chart")
    add("--json", type=Path, metavar="FILE", help="write results")
    add("--chart", type=Path, metavar="FILE.svg", help="draw results")
    add(
        "--compare",
        nargs=2,
        type=Path,
        metavar=("A.json", "B.json"),
        help="measure nothing; compare",
    )
    return options


def _parsed(parse: Callable[[str], T]) -> Callable[[str], T]:
    """A parser of ours whose sentence argparse shows."""

    def parsed(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed


def pairs_of(text: str) -> dict[str, str]:
    """Of `key=value,key=value`."""
    return {
        key: value for key, _, value in (part.partition("=") for part in text.split(",")) if key
    }


def template_of(arguments: argparse.Namespace) -> PodTemplate:
    return PodTemplate(
        queue=arguments.queue,
        scheduler_name=arguments.scheduler_name,
        image=arguments.image,
        cpu=arguments.cpu,
        memory=arguments.memory,
        plugins=[name for name in arguments.plugins.split(",") if name],
        node_selector=pairs_of(arguments.node_selector),
        tolerates_all=arguments.tolerate_all,
    )


# -- running -------------------------------------------------------------------------------------


async def run(arguments: argparse.Namespace) -> Run:
    """Measure all shapes, one after the other; results are reported even when a later shape fails."""
    cluster = await connect(
        service=OWN_SERVICE,
        kubeconfig=arguments.kubeconfig,
        context=arguments.context,
        limits=Limits(write_seconds_max=WRITE_SECONDS_MAX),
    )
    bench = Bench(
        cluster=cluster,
        namespace=arguments.namespace or f"bench-{random.getrandbits(32):08x}",
        template=template_of(arguments),
        until=arguments.until,
        seconds_max=arguments.seconds_max,
        warm_up_seconds_max=arguments.warm_up_seconds,
        pids=arguments.pids,
        audit_log=AuditLog(arguments.audit_log) if arguments.audit_log else None,
        token=f"{random.getrandbits(64):016x}",
        say=lambda line: print(line, flush=True),
    )
    measured: list[ShapeResult] = []
    try:
        nodes = await check(cluster, arguments.shapes, bench.template)
        if bench.audit_log is not None:
            bench.audit_log.begin()
        label = arguments.label or "cluster"
        try:
            for shape in arguments.shapes:
                bench.say(f"{shape}: submitting {shape.total:,} pods into {bench.namespace}")
                measured.append(await measure(bench, shape))
        finally:
            whole = Run(label=label, nodes=nodes, until=arguments.until, shapes=measured)
            if measured:
                report_run(whole, arguments)
    finally:
        await cluster.close()
    return whole


async def check(cluster: Cluster, shapes: Sequence[Shape], template: PodTemplate) -> int:
    """Whether it makes sense to begin; the number of nodes."""
    try:
        await cluster.list(JOBS, limit=1)
    except NotFoundError:
        raise MeasureError(
            f"the cluster does not serve jobs of {JOBS.api_version}: install Volcano's CRDs "
            "and an implementation of them first"
        ) from None
    nodes = [msgspec.json.decode(raw, type=Node) for raw in (await cluster.list(NODES)).items]
    pods = [msgspec.json.decode(raw, type=Pod) for raw in (await cluster.list(PODS)).items]
    try:
        free = free_capacity_for(template, nodes, pods)
    except QuantityError as error:
        raise MeasureError(str(error)) from None
    for shape in sorted(shapes, key=lambda shape: -shape.total):
        if why := why_too_small(free, shape, template):
            raise MeasureError(why)
    return free.nodes


# -- report --------------------------------------------------------------------------------------


def report_run(run: Run, arguments: argparse.Namespace) -> None:
    """Print the tables, then write the files."""
    print(f"\n{run.label}: {run.nodes:,} nodes; seconds from submission")
    for table in (tables.times_table(run), tables.processes_table(run), tables.requests_table(run)):
        if table:
            print(f"{table}\n")
    for line in tables.warnings(run):
        print(f"note: {line}")
    if arguments.json:
        results.write(run, arguments.json)
    draw([run], arguments.chart)


def draw(runs: Sequence[Run], file: Path | None) -> None:
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(chart.draw(runs))


def compare(arguments: argparse.Namespace) -> int:
    one, other = (results.read(file) for file in arguments.compare)
    if one.label == other.label:
        one, other = (
            msgspec.structs.replace(run, label=f"{run.label} {file.stem}")
            for run, file in zip((one, other), arguments.compare, strict=True)
        )
    print(tables.comparison_table(one, other))
    draw([one, other], arguments.chart)
    return 0


async def _until_signalled(arguments: argparse.Namespace) -> Run:
    """SIGTERM ends a run as Ctrl-C does: after it has cleaned up."""
    running = asyncio.current_task()
    assert running is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    return await run(arguments)


def main(words: Sequence[str] | None = None) -> int:
    """0 when everything was measured."""
    arguments = parser().parse_args(words)
    try:
        if arguments.compare:
            return compare(arguments)
        whole = asyncio.run(_until_signalled(arguments))
    except (MeasureError, ConfigurationError, ClusterError, results.ResultsError, OSError) as error:
        print(f"bench.cluster: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("bench.cluster: ended by hand; nothing was left in the cluster", file=sys.stderr)
        return 130
    return 0 if all(each.complete for each in whole.shapes) else 1


if __name__ == "__main__":
    sys.exit(main())
