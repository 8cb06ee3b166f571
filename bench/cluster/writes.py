"""The objects that a run creates in the cluster, and their deletion."""

import asyncio
import time
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from typing import Final

import msgspec

from bench.cluster.setting import Bench, MeasureError
from bench.cluster.shapes import Shape, job_name, manifest
from vc.cluster import AlreadyExistsError, ClusterError, NotFoundError
from vc.model.api.kinds import JOBS, NAMESPACES, PODS
from vc.model.api.meta import ApiObject
from vc.model.api.struct import JsonObject

SENT_AT_ONCE: Final = 16
"""Requests that create or delete jobs; a busy user, not an attack."""
ATTEMPTS_MAX: Final = 5
RETRY_SECONDS: Final = 1.0
CLEAN_SECONDS_MAX: Final = 300.0
LOOK_SECONDS: Final = 0.5
TOKEN_LABEL: Final = "bench.pyroclast.dev/run"


async def make_namespace(bench: Bench) -> None:
    metadata = {"name": bench.namespace, "labels": {TOKEN_LABEL: bench.token}}
    body = {"apiVersion": NAMESPACES.api_version, "kind": NAMESPACES.kind, "metadata": metadata}
    try:
        await bench.cluster.create(NAMESPACES, body)
    except AlreadyExistsError:
        raise MeasureError(
            f"namespace {bench.namespace} exists already; name one that the run may make and delete"
        ) from None


async def submit(bench: Bench, shape: Shape, submitted: dict[str, tuple[float, float]]) -> None:
    """All jobs; when each was sent and accepted, by its name."""
    slots = asyncio.Semaphore(SENT_AT_ONCE)

    async def one(number: int) -> None:
        async with slots:
            sent = time.perf_counter()
            await create(bench, manifest(shape, number, bench.template))
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


async def create(bench: Bench, body: JsonObject) -> None:
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


# -- cleaning up ---------------------------------------------------------------------------------


async def clean(bench: Bench, shape: Shape) -> None:
    """Delete the jobs, so that their pods are not created again, then the namespace; wait until it is gone."""
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
            await delete_job(bench, name)

    await _together(one(name) for name in names)


async def delete_job(bench: Bench, name: str) -> None:
    """With its pods; gone already is as good."""
    with suppress(NotFoundError):
        await bench.cluster.delete(
            JOBS, name=name, namespace=bench.namespace, propagation="Background"
        )


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
