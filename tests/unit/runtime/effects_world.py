"""An embedded cluster that may refuse writes, and an effect applier on it."""

from collections.abc import Callable, Coroutine
from typing import Any

from tests.builders.contexts import memory_cluster, memory_context
from vc.clock import LoopClock, run_virtual
from vc.messages.effects import CreateObject, Effect
from vc.model.api.kinds import CONFIGMAPS, JOBS
from vc.runtime.applying.effects import EffectApplier, Outcome, OutcomeStatus

OWNER = "11111111-1111-4111-8111-111111111111"
OLDER = "22222222-2222-4222-8222-222222222222"


class FakeLease:
    """A lease of epoch 1 that may run out, and pass on."""

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock
        self.epoch = 1
        self.leading = True

    def holds(self, epoch: int) -> bool:
        return self.leading and self.epoch == epoch

    async def regained(self, epoch: int) -> bool:
        while self.epoch == epoch and not self.leading:
            await self._clock.sleep(1.0)
        return self.epoch == epoch


class World:
    """An embedded cluster that may refuse, and an applier on it."""

    def __init__(self) -> None:
        self.clock = LoopClock(wall_at_zero=1.8e9)
        self.store = memory_cluster(self.clock)
        self.failures: list[Exception] = []
        self.calls: list[str] = []
        self.seconds = 0.0
        """How long an answer takes."""
        self.lease = FakeLease(self.clock)
        context = memory_context("job-controller", clock=self.clock, cluster=self)
        self.applier = EffectApplier(context, lease=self.lease)

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.store, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(name)
            if self.seconds:
                await self.clock.sleep(self.seconds)
            if self.failures and name != "get":
                raise self.failures.pop(0)
            return await real(*args, **kwargs)

        return call

    async def apply(self, *effects: Effect) -> list[Outcome]:
        return await self.applier.apply(effects, epoch=1)

    async def status_of(self, effect: Effect) -> OutcomeStatus:
        return (await self.apply(effect))[0].status


def run(test: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        await test(World())

    run_virtual(main())


def config_map(
    name: str,
    *,
    owner: str = OWNER,
    owner_name: str = "job",
    group: str = "batch.volcano.sh/v1alpha1",
    wanted_by: str = OWNER,
) -> CreateObject:
    reference = {
        "apiVersion": group,
        "kind": "Job",
        "name": owner_name,
        "uid": owner,
        "controller": True,
    }
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "ownerReferences": [reference] if owner else []},
    }
    return CreateObject(
        kind=CONFIGMAPS,
        namespace="default",
        name=name,
        body=body,
        owner_uid=wanted_by,
        owner_kind=JOBS,
    )
