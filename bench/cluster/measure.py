"""One shape on a cluster: wait until it is quiet, submit, watch, count, delete everything again."""

import asyncio
import time
from collections.abc import Mapping
from typing import Final

import msgspec

from bench.cluster.process_use import UseMeter
from bench.cluster.results import ShapeResult, Spread
from bench.cluster.setting import Bench, MeasureError
from bench.cluster.shapes import Shape, jobs_prefix, manifest
from bench.cluster.writes import clean, create, delete_job, make_namespace, submit
from bench.parts import load_average
from bench.pod_times import STAGES, PodTimes

SETTLE_SECONDS: Final = 2.0
"""For the writes behind the last pod, which belong to the cost of it."""
PROGRESS_SECONDS: Final = 5.0
WARM_UP: Final = "warm-up"
QUIET_SECONDS: Final = 3.0
"""A single pod that gets through in less found nothing before it."""


async def measure(bench: Bench, shape: Shape) -> ShapeResult:
    """Whatever happens, nothing of it is left in the cluster."""
    try:
        await make_namespace(bench)
        await warm_up(bench, shape)
        return await measure_once(bench, shape)
    finally:
        await clean(bench, shape)


async def warm_up(bench: Bench, shape: Shape) -> None:
    """Send single pods until one gets through at once.

    The node simulator may still process deletions of the previous shape, long after the last object is gone, and
    would be measured instead of the scheduler.
    """
    took = QUIET_SECONDS if bench.warm_up_seconds_max else 0.0
    number = 0
    try:
        async with asyncio.timeout(bench.warm_up_seconds_max or None):
            while took >= QUIET_SECONDS:
                took = await _single_pod(bench, f"{WARM_UP}-{number}")
                number += 1
    except TimeoutError:
        bench.say(
            f"{shape}: the cluster is not quiet after {bench.warm_up_seconds_max:g} s "
            f"({number} single pods were {bench.until}); measuring all the same"
        )


async def _single_pod(bench: Bench, name: str) -> float:
    """Seconds until it came to the stage that is waited for."""
    body = manifest(Shape(1, 1), 0, bench.template)
    body["metadata"]["name"] = name
    async with PodTimes(bench.cluster, bench.namespace, jobs_prefix=name) as times:
        began = time.perf_counter()
        await create(bench, body)
        await times.until(bench.until, 1)
        took = time.perf_counter() - began
    await delete_job(bench, name)
    return took


async def measure_once(bench: Bench, shape: Shape) -> ShapeResult:
    """In a namespace that is there, of a cluster that is quiet; what was made stays."""
    if bench.audit_log is not None:
        bench.audit_log.begin()
    async with (
        PodTimes(bench.cluster, bench.namespace, jobs_prefix=jobs_prefix(shape)) as times,
        UseMeter(bench.pids) as use,
    ):
        progress = asyncio.create_task(_report_progress(bench, shape, times))
        submitted: dict[str, tuple[float, float]] = {}
        try:
            async with asyncio.timeout(bench.seconds_max):
                await submit(bench, shape, submitted)
                await times.until(bench.until, shape.total)
        except TimeoutError:
            bench.say(f"{shape}: not over within {bench.seconds_max:g} s: {_state(times)}")
        finally:
            progress.cancel()
        await asyncio.sleep(SETTLE_SECONDS)
        result = summarise(shape, times, submitted, until=bench.until)
        requests = bench.audit_log.requests(pods=shape.total) if bench.audit_log else None
        return msgspec.structs.replace(
            result,
            processes=use.used(),
            requests=requests,
            load_average=round(load_average(), 2),
        )


# -- report --------------------------------------------------------------------------------------


async def _report_progress(bench: Bench, shape: Shape, times: PodTimes) -> None:
    started = time.perf_counter()
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        bench.say(f"{shape}: {time.perf_counter() - started:.0f} s: {_state(times)}")


def _state(times: PodTimes) -> str:
    return ", ".join(f"{count:,} {stage}" for stage, count in times.reached().items())


def summarise(
    shape: Shape,
    times: PodTimes,
    submitted: Mapping[str, tuple[float, float]],
    *,
    until: str,
) -> ShapeResult:
    """Compute the result of a shape from the observed times."""
    if not submitted:
        raise MeasureError(f"{shape}: no job was accepted in time")
    first = min(sent for sent, _ in submitted.values())
    stages: dict[str, Spread] = {}
    for stage in STAGES:
        seen = times.at[stage]
        waits = [
            at - submitted[times.jobs[pod]][0]
            for pod, at in seen.items()
            if times.jobs[pod] in submitted
        ]
        if waits:
            stages[stage] = Spread.of(waits, last=max(seen.values()) - first)
    whole = len(times.at[until]) >= shape.total
    return ShapeResult(
        shape=shape,
        accepted=Spread.of(
            (at - sent for sent, at in submitted.values()),
            last=max(at for _, at in submitted.values()) - first,
        ),
        stages=stages,
        reached=times.reached(),
        pods_per_second=round(shape.total / stages[until].last, 2) if whole else 0.0,
        pods_made=times.made,
        gaps=times.gaps,
    )
