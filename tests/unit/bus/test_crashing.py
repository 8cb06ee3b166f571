"""Crash points are numbered, repeatable, and seen by no ordinary handler."""

import pytest

from tests.contracts.bus.steps import message, new_topic
from vc_bus import Bus
from vc_bus.crashing import CrashingBus, CrashPoints, SimulatedCrash
from vc_bus.memory import MemoryBus
from vc_clock import LoopClock, run_virtual
from vc_messages.record import TopicPartition


async def service(bus: Bus, name: str) -> None:
    """Takes one message and publishes its effect, then commits."""
    member = await bus.member("g", [name])
    polled = await member.poll(max_records=1, wait_seconds=1)
    try:
        await bus.publish([message(name, "effect", partition=1)])
    except Exception:  # noqa: BLE001 - the point is what it does not catch
        raise AssertionError("a crash is no exception one can handle") from None
    await member.commit({polled.records[0].log: polled.records[0].offset + 1})
    await member.close()


async def crashed_run(crash_at: int | None) -> tuple[list[str], int, int]:
    """Points reached, effects there, lag left."""
    real = MemoryBus(LoopClock())
    name = await new_topic(real)
    await real.publish([message(name)])
    points = CrashPoints(crash_at=crash_at)
    try:
        await service(CrashingBus(real, points.reach), name)
    except SimulatedCrash:
        assert crash_at is not None
    effects = (await real.end_offsets(name))[1]
    lag = (await real.lag("g", [name]))[TopicPartition(name, 0)]
    return points.names, effects, lag


def test_every_point_can_be_crashed_at_and_the_offset_never_runs_ahead() -> None:
    names, effects, lag = run_virtual(crashed_run(None))
    assert (effects, lag) == (1, 0)
    assert names == [
        f"{call} {moment}"
        for call in ("bus.member", "member.poll", "bus.publish", "member.commit")
        for moment in ("before", "after")
    ]
    for point in range(len(names)):
        reached, effects, lag = run_virtual(crashed_run(point))
        assert reached == names[: point + 1]
        assert lag == 1 or effects == 1, f"{names[point]}: the offset moved before its effect"


def test_a_reader_has_crash_points_too() -> None:
    async def main() -> list[str]:
        real = MemoryBus(LoopClock())
        name = await new_topic(real)
        points = CrashPoints(crash_at=1)
        reader = await CrashingBus(real, points.reach).reader({TopicPartition(name, 0): 0})
        with pytest.raises(SimulatedCrash, match=r"point 1: reader\.poll after"):
            await reader.poll(max_records=1, wait_seconds=0)
        return points.names

    assert run_virtual(main()) == ["reader.poll before", "reader.poll after"]
