"""One random history: jobs arrive while services die, parts fail and messages repeat.

Whatever happens, in the end every job is completed once, with retryCount 0, no pod of it was made twice, no node
was over its allocatable and no service ended by itself. After the jobs are deleted nothing of theirs stays.
"""

import random
from typing import Any, Final

import msgspec

from tests.proofs.runner import Outcome, Proof
from tests.simulation.api_faults import ApiFaults
from tests.simulation.stack import CORE, Stack, gang_job
from vc.bus.memory import Faults
from vc.clock import run_virtual
from vc.model.api.kinds import CONFIGMAPS, JOBS, PODGROUPS, PODS, SECRETS, SERVICES, Kind

REPLICATED: Final = ("watcher", "job-controller", "scheduler")
STORM_SECONDS: Final = 25.0
"""So long jobs arrive and things happen."""
COMPLETED_SECONDS_MAX: Final = 900.0
GONE_SECONDS_MAX: Final = 240.0
MADE_FOR_JOBS: Final = (PODS, PODGROUPS, SERVICES, CONFIGMAPS, SECRETS)


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is done to the stack at a time."""

    at: float
    kind: str
    service: str = ""
    seconds: float = 0.0


class History(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a seed stands for."""

    services: tuple[str, ...]
    faults: Faults
    api_faults: ApiFaults
    jobs: tuple[tuple[float, dict[str, Any]], ...]
    """When each arrives."""
    happenings: tuple[Happening, ...]


def draw(seed: int) -> History:
    """The history of a seed."""
    rng = random.Random(f"chaos/{seed}")
    services = list(CORE)
    services += [f"{name}@2" for name in REPLICATED if rng.random() < 0.3]
    return History(
        services=tuple(services),
        faults=Faults(
            duplicate_rate=rng.choice((0.0, 0.1, 0.3)),
            delay_rate=rng.choice((0.0, 0.3)),
            delay_seconds_max=rng.choice((0.2, 1.0)),
            acknowledge_seconds_max=rng.choice((0.0, 0.05)),
            lost_acknowledgement_rate=rng.choice((0.0, 0.02)),
        ),
        api_faults=ApiFaults(
            busy_rate=rng.choice((0.0, 0.02, 0.1)),
            refused_rate=rng.choice((0.0, 0.02, 0.05)),
            lost_answer_rate=rng.choice((0.0, 0.02, 0.05)),
            slow_seconds_max=rng.choice((0.0, 0.05, 0.5)),
            watch_cut_rate=rng.choice((0.0, 0.01)),
        ),
        jobs=tuple(_draw_job(rng, number) for number in range(rng.randint(1, 5))),
        happenings=tuple(_draw_happening(rng, services) for _ in range(rng.randint(1, 6))),
    )


def _draw_job(rng: random.Random, number: int) -> tuple[float, dict[str, Any]]:
    replicas = rng.randint(1, 6)
    job = gang_job(
        f"job-{number}",
        replicas=replicas,
        min_available=rng.randint(1, replicas),
        cpu=rng.choice(("1", "8", "30")),
        run_seconds=rng.choice((1, 4, 12)),
        plugins={"env": []} if rng.random() < 0.5 else {},
    )
    return rng.uniform(0.0, STORM_SECONDS * 0.8), job


def _draw_happening(rng: random.Random, services: list[str]) -> Happening:
    kind = rng.choices(
        ("kill", "pause", "kill all", "wipe topics", "stop bus", "compact topics", "flush cache",
         "stop cache", "forget versions", "delete again"),
        weights=(10, 4, 1, 1, 2, 2, 2, 1, 2, 2),
    )[0]  # fmt: skip
    return Happening(
        at=rng.uniform(0.0, STORM_SECONDS),
        kind=kind,
        service=rng.choice(services),
        seconds=rng.uniform(0.5, 12.0),
    )


class _Storm:
    """Carries out a history's happenings."""

    def __init__(self, stack: Stack, history: History) -> None:
        self._stack = stack
        self._history = history
        self.submitted: dict[str, dict[str, Any]] = {}

    async def run(self) -> None:
        """Jobs and happenings, in the order of their times."""
        steps: list[tuple[float, int, Any]] = []
        for at, job in self._history.jobs:
            steps.append((at, len(steps), job))
        for happening in self._history.happenings:
            steps.append((happening.at, len(steps), happening))
            steps.append((happening.at + happening.seconds, len(steps), _Over(happening)))
        for at, _, step in sorted(steps, key=lambda each: each[:2]):
            await self._stack.clock.sleep(max(0.0, at - self._stack.clock.monotonic()))
            match step:
                case Happening():
                    await self._begin(step)
                case _Over():
                    self._end(step.happening)
                case _:
                    await self._stack.submit(step)
                    self.submitted[step["metadata"]["name"]] = step

    async def _begin(self, happening: Happening) -> None:
        stack = self._stack
        match happening.kind:
            case "kill":
                stack.kill(happening.service)
            case "pause":
                stack.pause(happening.service)
            case "kill all":
                for name in stack.lives:
                    stack.kill(name)
            case "wipe topics":
                stack.bus.delete_topics()
            case "stop bus":
                stack.bus.stop()
            case "compact topics":
                stack.bus.compact()
            case "flush cache":
                stack.snapshot.flush()
            case "stop cache":
                stack.snapshot.stop()
            case "forget versions":
                stack.api.compact()
            case "delete again" if self.submitted:
                name = min(self.submitted)
                await stack.delete_job(name)
                await stack.submit(self.submitted[name])

    def _end(self, happening: Happening) -> None:
        match happening.kind:
            case "pause":
                self._stack.resume(happening.service)
            case "stop bus":
                self._stack.bus.start()
            case "stop cache":
                self._stack.snapshot.start()


class _Over(msgspec.Struct, frozen=True):
    happening: Happening


def prove(seed: int) -> Outcome:
    """The history of a seed, to its end."""
    return run_virtual(_history(seed))


async def _history(seed: int) -> Outcome:
    history = draw(seed)
    failures: list[str] = []
    async with Stack(
        seed=seed,
        services=history.services,
        faults=history.faults,
        api_faults=history.api_faults,
    ) as stack:
        storm = _Storm(stack, history)
        await storm.run()
        names = sorted(storm.submitted)
        try:
            await stack.until(
                lambda: all(stack.job(name).status.state.phase == "Completed" for name in names),
                seconds=COMPLETED_SECONDS_MAX,
                what="every job is completed",
            )
            failures += _judge_jobs(stack, names)
            for name in names:
                await stack.delete_job(name)
            await stack.until(
                lambda: not _left(stack), seconds=GONE_SECONDS_MAX, what="nothing of them is left"
            )
        except AssertionError as error:
            phases = {name: stack.job(name).status.state.phase for name in _there(stack, names)}
            failures.append(f"{error}; phases {phases}; left {_left(stack)}")
        failures += stack.problems
        deaths = sum(len(lives) - 1 for lives in stack.lives.values())
        return Outcome(
            counts={
                "jobs": len(names),
                "pods": stack.created.total(),
                "deaths": deaths,
                "API faults": sum(api.injected for api in stack.faulty),
                "other happenings": sum("kill" not in h.kind for h in history.happenings),
            },
            failures=tuple(failures),
        )


def _judge_jobs(stack: Stack, names: list[str]) -> list[str]:
    wrong = [
        f"{name} was retried {retries} times"
        for name in names
        if (retries := stack.job(name).status.retry_count)
    ]
    # A create whose answer was lost is sent again. If its job was deleted in between ("delete again"), the
    # API server has no precondition that could refuse it; the pod is collected, because its owner is gone.
    owners = tuple(stack.job(name).metadata.uid for name in names)
    made = {pod: n for pod, n in stack.created.items() if pod.endswith(owners)}
    return wrong + [f"{pod} was made {n} times" for pod, n in made.items() if n > 1]


def _there(stack: Stack, names: list[str]) -> list[str]:
    held = {obj["metadata"]["name"] for obj in _objects(stack, JOBS)}
    return [name for name in names if name in held]


def _left(stack: Stack) -> list[str]:
    """What was made for jobs and has an owner."""
    return [
        f"{kind.kind} {obj['metadata']['name']}"
        for kind in MADE_FOR_JOBS
        for obj in _objects(stack, kind)
        if obj["metadata"].get("ownerReferences")
    ]


def _objects(stack: Stack, kind: Kind) -> list[dict[str, Any]]:
    resource = stack.api.registry.for_kind(kind)
    return [msgspec.json.decode(raw) for raw in stack.api.list(resource).items]


PROOF: Final = Proof(name="chaos", title="histories", prove=prove)
