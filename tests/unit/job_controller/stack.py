"""The job-controller on the in-memory stack: real watcher and plugins, and a scheduler that enqueues all."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from tests.simulation.stack import Stack, gang_job
from tests.unit.job_controller.small_scheduler import schedule
from vc.clock import run_virtual
from vc.cluster import NotFoundError
from vc.model.api.kinds import Kind
from vc.model.api.struct import JsonObject

SERVICES_NEEDED = ("watcher", "job-controller", "queue-controller", "plugin-env")


WITH_ALL_PLUGINS = (
    *SERVICES_NEEDED, "plugin-svc", "plugin-ssh", "plugin-pytorch", "plugin-mpi",
)  # fmt: skip


@contextlib.asynccontextmanager
async def running(
    services: tuple[str, ...] = SERVICES_NEEDED, **options: Any
) -> AsyncIterator[Stack]:
    async with Stack(services=services, **options) as stack:
        scheduler = asyncio.create_task(schedule(stack))
        try:
            yield stack
        finally:
            scheduler.cancel()


def on_stack(
    scenario: Callable[[Stack], Awaitable[None]],
    services: tuple[str, ...] = SERVICES_NEEDED,
    **options: Any,
) -> Stack:
    """Run a scenario to its end in virtual time; nothing raised on the way."""
    stacks: list[Stack] = []

    async def main() -> None:
        async with running(services, **options) as stack:
            stacks.append(stack)
            await scenario(stack)

    run_virtual(main())
    ended = [p for p in stacks[0].problems if "over-committed" not in p]  # no real scheduler here
    assert ended == []
    return stacks[0]


async def phase(stack: Stack, name: str, wanted: str, *, seconds: float = 30) -> None:
    def holds() -> bool:
        try:
            return stack.job(name).status.state.phase == wanted
        except NotFoundError:
            return False

    await stack.until(holds, seconds=seconds, what=f"{name} is {wanted}")


def exists(stack: Stack, kind: Kind, name: str) -> bool:
    try:
        stack.api.get(stack.api.registry.for_kind(kind), name=name, namespace="default")
    except NotFoundError:
        return False
    return True


def calls(stack: Stack, service: str = "job-controller") -> Counter[str]:
    points = [p for life in stack.lives[service] for p in life.points]
    return Counter(p.removeprefix("after ") for p in points if p.startswith("after cluster."))


def failing(name: str, **policy: Any) -> JsonObject:
    manifest = gang_job(name, replicas=2, run_seconds=1, plugins={})
    manifest["spec"]["policies"] = [policy]
    template = manifest["spec"]["tasks"][0]["template"]
    template["metadata"]["annotations"]["sim.pyroclast.io/exit-code"] = "3"
    return manifest
