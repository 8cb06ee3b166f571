"""Closing adapters: one connection that fails to close does not keep the others open."""

import pytest

from tests.builders.contexts import memory_cluster
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock, run_virtual
from vc.runtime.hosting.adapters import Adapters
from vc.snapshot.memory import MemorySnapshot


def test_what_is_behind_a_connection_that_fails_to_close_is_closed_too() -> None:
    closed: list[str] = []

    class Bus(MemoryBus):
        async def close(self) -> None:
            closed.append("bus")
            raise OSError("the broker has gone")

    class Snapshot(MemorySnapshot):
        async def close(self) -> None:
            closed.append("snapshot")

    async def main() -> None:
        clock = LoopClock()
        cluster = memory_cluster(clock)

        async def close() -> None:
            closed.append("cluster")

        cluster.close = close  # type: ignore[method-assign]
        adapters = Adapters(bus=Bus(clock), cluster=cluster, snapshot=Snapshot(), clock=clock)
        with pytest.raises(OSError, match="the broker has gone"):
            await adapters.close()

    run_virtual(main())
    assert closed == ["bus", "snapshot", "cluster"]
