"""One seed: an API server that is slow for a while, and jobs that arrive meanwhile.

How slow, for how long, how slow for Leases, and how many jobs are random. While requests are slow and after, no lease
changes its holder, no view is rebuilt, nothing is listed again and no gang is released; once requests are fast again
every pod is bound within ten seconds. Binds are sent once unless requests take longer than clients wait for them.
The CPU that others take is measured on real servers (`bench.bench_overload`), because a virtual clock has no CPU.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from unittest.mock import patch

import msgspec

from tests.proofs.runner import Outcome, Proof
from tests.simulation.slow import LIMITS, SlowStack
from tests.simulation.stack import gang_job
from vc.clock import run_virtual
from vc.model.api.kinds import LEASES
from vc.runtime.consuming.follower import Follower

SERVICES: Final = (
    "watcher", "job-controller", "plugin-env", "queue-controller", "podgroup-controller", "scheduler",
)  # fmt: skip
STEADY_SECONDS: Final = 15.0
BACK_WITHIN_SECONDS: Final = 10.0
FIRST_SECONDS_MAX: Final = 60.0
RUN_SECONDS: Final = 1000


class Slowness(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a seed stands for."""

    seconds: float
    """Of every answer."""
    lease_seconds: float | None
    """Of answers about Leases, if others."""
    lasts_seconds: float
    job_every_seconds: float
    pods: int


def draw(seed: int) -> Slowness:
    """The slow time of a seed."""
    rng = random.Random(f"overload/{seed}")
    return Slowness(
        seconds=rng.choice((0.5, 1.0, 2.0, 3.5, 7.0)),
        lease_seconds=rng.choice((None, 0.1, 2.0, 7.0)),
        lasts_seconds=rng.uniform(20.0, 90.0),
        job_every_seconds=rng.choice((2.0, 3.0, 6.0)),
        pods=rng.randint(1, 6),
    )


@contextmanager
def counted_rebuilds() -> Iterator[list[str]]:
    """The services whose view was built, once each time."""
    built: list[str] = []
    poll = Follower.poll

    async def counted(self: Follower, *args: object, **named: object) -> object:
        batch = await poll(self, *args, **named)  # type: ignore[arg-type]  # passed on as it came
        if batch.rebuilt:
            built.append(self._context.name)
        return batch

    with patch.object(Follower, "poll", counted):
        yield built


def prove(seed: int) -> Outcome:
    """What the slow time set off."""
    with counted_rebuilds() as built:
        return run_virtual(_history(seed, draw(seed), built))


async def _history(seed: int, slow: Slowness, built: list[str]) -> Outcome:
    async with SlowStack(seed=seed, services=SERVICES) as stack:
        jobs = 1
        await _submit(stack, "first", slow.pods)
        await stack.until(
            lambda: _bound(stack) == slow.pods, seconds=FIRST_SECONDS_MAX, what="the first is bound"
        )
        await stack.clock.sleep(STEADY_SECONDS)
        before = (_transitions(stack), len(built), _syncs(stack))
        stack.weather.seconds, stack.weather.lease_seconds = slow.seconds, slow.lease_seconds
        until = stack.clock.monotonic() + slow.lasts_seconds
        while stack.clock.monotonic() < until:
            await _submit(stack, f"slow-{jobs}", slow.pods)
            jobs += 1
            await stack.clock.sleep(slow.job_every_seconds)
        stack.weather.seconds, stack.weather.lease_seconds = 0.0, None
        failures: list[str] = []
        try:
            await stack.until(
                lambda: _bound(stack) == jobs * slow.pods,
                seconds=BACK_WITHIN_SECONDS,
                what=f"all {jobs * slow.pods} pods are bound",
            )
        except AssertionError as error:
            failures.append(f"{error}; {_bound(stack)} are")
        after = (_transitions(stack), len(built), _syncs(stack))
        failures += [
            f"{what}: {was} before, {now} after"
            for what, was, now in zip(
                ("lease holders", "views built", "lists"), before, after, strict=True
            )
            if was != now
        ]
        failures += _judge(stack, slow, pods=jobs * slow.pods)
        counts = {
            "jobs": jobs,
            "pods": jobs * slow.pods,
            "requests": sum(stack.weather.asked.values()),
            "leases lost": sum(after[0]) - sum(before[0]),
            "views rebuilt": after[1] - before[1],
            "gangs released": stack.asked("evict") + stack.asked("delete", "pods"),
        }
        return Outcome(counts=counts, failures=tuple(failures))


async def _submit(stack: SlowStack, name: str, pods: int) -> None:
    await stack.submit(gang_job(name, replicas=pods, cpu="100m", run_seconds=RUN_SECONDS))


def _judge(stack: SlowStack, slow: Slowness, *, pods: int) -> list[str]:
    wrong = list(stack.problems)
    if released := stack.asked("evict") + stack.asked("delete", "pods"):
        wrong.append(f"{released} pods of gangs were released")
    wrong += [f"{pod} was made {times} times" for pod, times in stack.created.items() if times > 1]
    answered = slow.seconds <= LIMITS.write_seconds_max
    if answered and (binds := stack.asked("bind")) != pods:
        wrong.append(f"{binds} binds were sent for {pods} pods")
    return wrong


def _bound(stack: SlowStack) -> int:
    return sum(bool(pod.spec.node_name) for pod in stack.pods())


def _transitions(stack: SlowStack) -> list[int]:
    listed = stack.api.list(stack.api.registry.for_kind(LEASES)).items
    return [msgspec.json.decode(raw)["spec"]["leaseTransitions"] for raw in listed]


def _syncs(stack: SlowStack) -> int:
    """How many kinds the watcher has listed, each time counted."""
    watches = stack.running["watcher"]._watches  # type: ignore[attr-defined]
    return sum(watch._syncs for watch in watches.values())


PROOF: Final = Proof(name="overload", title="slow API servers", prove=prove, seconds=120.0)
"""Two minutes: with the measurement on real servers `make prove-overload` takes ten."""
