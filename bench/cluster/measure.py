"""One shape on a cluster: make a namespace, submit, watch, count, delete everything again."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import Final

import msgspec

from bench.cluster.audit_log import AuditLog
from bench.cluster.pod_times import PodTimes
from bench.cluster.process_use import UseMeter
from bench.cluster.results import STAGES, ShapeResult, Spread
from bench.cluster.shapes import PodTemplate, Shape, job_name, manifest
from bench.parts import load_average
from vc_cluster import AlreadyExistsError, Cluster, ClusterError, NotFoundError
from vc_model.kinds import JOBS, NAMESPACES, PODS
from vc_model.meta import ApiObject

SENT_AT_ONCE: Final = 16
"""Requests that create or delete jobs; a busy user, not an attack."""
ATTEMPTS_MAX: Final = 5
RETRY_SECONDS: Final = 1.0
SETTLE_SECONDS: Final = 2.0
"""For the writes behind the last pod, which belong to the cost of it."""
PROGRESS_SECONDS: Final = 5.0
CLEAN_SECONDS_MAX: Final = 300.0
LOOK_SECONDS: Final = 0.5
TOKEN_LABEL: Final = "bench.pyroclast.dev/run"


class MeasureError(Exception):
    """Why nothing could be measured, and what to do about it."""


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """How to measure; the same for all shapes of a run."""

    cluster: Cluster
    namespace: str
    token: str
    """On the namespace: one that another has made is never deleted."""
    template: PodTemplate
    until: str
    """The stage that is waited for."""
    seconds_max: float
    """Of a shape."""
    pids: Mapping[str, int]
    audit_log: AuditLog | None
    say: Callable[[str], None]


async def measure(bench: Bench, shape: Shape) -> ShapeResult:
    """Whatever happens, nothing of it is left in the cluster."""
    try:
        await _make_namespace(bench)
        return await _measure(bench, shape)
    finally:
        await clean(bench, shape)


async def _make_namespace(bench: Bench) -> None:
    metadata = {"name": bench.namespace, "labels": {TOKEN_LABEL: bench.token}}
    body = {"apiVersion": NAMESPACES.api_version, "kind": NAMESPACES.kind, "metadata": metadata}
    try:
        await bench.cluster.create(NAMESPACES, body)
    except AlreadyExistsError:
        raise MeasureError(
            f"namespace {bench.namespace} exists already; name one that the run may make and delete"
        ) from None


async def _measure(bench: Bench, shape: Shape) -> ShapeResult:
    if bench.audit_log is not None:
        bench.audit_log.begin()
    async with PodTimes(bench.cluster, bench.namespace) as times, UseMeter(bench.pids) as use:
        progress = asyncio.create_task(_tell(bench, shape, times))
        submitted: dict[str, tuple[float, float]] = {}
        try:
            async with asyncio.timeout(bench.seconds_max):
                await _submit(bench, shape, submitted)
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


# -- submitting ----------------------------------------------------------------------------------


async def _submit(bench: Bench, shape: Shape, submitted: dict[str, tuple[float, float]]) -> None:
    """All jobs; when each was sent and accepted, by its name."""
    slots = asyncio.Semaphore(SENT_AT_ONCE)

    async def one(number: int) -> None:
        async with slots:
            sent = time.perf_counter()
            await _create(bench, manifest(shape, number, bench.template))
            submitted[job_name(shape, number)] = (sent, time.perf_counter())

    await _together(one(number) for number in range(shape.jobs))


async def _together(works: Iterable[Coroutine[None, None, None]]) -> None:
    """All at once; the first failure ends the others and is raised as it is, not in a group."""
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _create(bench: Bench, body: dict[str, object]) -> None:
    """A server that is busy is asked again, as any client does; the wait counts."""
    for attempt in range(1, ATTEMPTS_MAX + 1):
        try:
            await bench.cluster.create(JOBS, body, namespace=bench.namespace)
        except AlreadyExistsError:
            if attempt == 1:
                raise
            return  # ours: the first answer was lost
        except ClusterError as error:
            if not error.temporary or attempt == ATTEMPTS_MAX:
                raise MeasureError(f"the cluster takes no jobs: {error}") from error
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return


# -- telling -------------------------------------------------------------------------------------


async def _tell(bench: Bench, shape: Shape, times: PodTimes) -> None:
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
    """From the moments that were seen to what is told."""
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


# -- leaving nothing -----------------------------------------------------------------------------


async def clean(bench: Bench, shape: Shape) -> None:
    """Delete jobs first, so that nobody makes their pods anew, then the namespace; wait for its end."""
    bench.say(f"{shape}: deleting what was made")
    with suppress(NotFoundError):
        space = await bench.cluster.get(NAMESPACES, name=bench.namespace)
        if space["metadata"].get("labels", {}).get(TOKEN_LABEL) != bench.token:
            return
        if "deletionTimestamp" not in space["metadata"]:
            await _delete_jobs(bench)
            await bench.cluster.delete(NAMESPACES, name=bench.namespace)
    deadline = time.perf_counter() + CLEAN_SECONDS_MAX
    while left := await _left(bench):
        if time.perf_counter() > deadline:
            raise MeasureError(
                f"namespace {bench.namespace} is not gone after {CLEAN_SECONDS_MAX:.0f} s ({left}); "
                f"look at `kubectl describe namespace {bench.namespace}`"
            )
        await asyncio.sleep(LOOK_SECONDS)


async def _delete_jobs(bench: Bench) -> None:
    page = await bench.cluster.list(JOBS, namespace=bench.namespace)
    names = [msgspec.json.decode(raw, type=ApiObject).metadata.name for raw in page.items]
    slots = asyncio.Semaphore(SENT_AT_ONCE)

    async def one(name: str) -> None:
        async with slots:
            with suppress(NotFoundError):
                await bench.cluster.delete(
                    JOBS, name=name, namespace=bench.namespace, propagation="Background"
                )

    await _together(one(name) for name in names)


async def _left(bench: Bench) -> str:
    """What is still there; empty when the namespace is gone."""
    try:
        await bench.cluster.get(NAMESPACES, name=bench.namespace)
        page = await bench.cluster.list(PODS, namespace=bench.namespace)
    except NotFoundError:
        return ""
    except ClusterError as error:
        if not error.temporary:
            raise
        return str(error)
    return f"{len(page.items)} pods left"
