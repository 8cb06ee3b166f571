"""Flow control of writes: which write is sent next, and how many of a kind at a time."""

import asyncio
from typing import Any

import pytest

from vc.clock import LoopClock, run_virtual
from vc.messages.effects import (
    BindPod,
    CreateObject,
    DeleteObject,
    Effect,
    EvictPod,
    PatchObject,
    RecordEvent,
)
from vc.model.api.kinds import JOBS, PODGROUPS, PODS
from vc.runtime.applying.flow import (
    RESERVED_SHARE,
    SLOW_SECONDS,
    WINDOW_MIN,
    FlowControl,
    Lane,
    Window,
    WritePriority,
    lane_of,
)
from vc.runtime.applying.slots import Slots

REQUESTS = 16
BINDS = Lane(WritePriority.BIND, "bind")
CREATES = Lane(WritePriority.CREATE, "create pods")
STATUSES = Lane(WritePriority.STATUS, "patch podgroups")
EVENTS = Lane(WritePriority.EVENT, "event")


class Line:
    """Who was let go, in order."""

    def __init__(self, requests: int = REQUESTS) -> None:
        self.flow = FlowControl(requests)
        self.gone: list[tuple[Lane, int]] = []

    def wait(self, lane: Lane, turn: int) -> None:
        def go() -> bool:
            self.gone.append((lane, turn))
            return True

        self.flow.wait(lane, turn, go)


def place(name: str) -> dict[str, Any]:
    return {"namespace": "n", "name": name}


@pytest.mark.parametrize(
    ("effect", "priority"),
    [
        (BindPod(**place("p"), uid="u", node="n"), WritePriority.BIND),
        (CreateObject(kind=PODS, **place("p"), body={}), WritePriority.CREATE),
        (DeleteObject(kind=PODS, **place("p"), uid="u"), WritePriority.CREATE),
        (EvictPod(**place("p"), uid="u", reason="r"), WritePriority.CREATE),
        (PatchObject(kind=PODGROUPS, **place("g"), patch={"spec": {}}), WritePriority.CREATE),
        (PatchObject(kind=JOBS, **place("j"), patch={"status": {}}), WritePriority.STATUS),
        (
            RecordEvent(kind=PODS, **place("p"), uid="u", type="Normal", reason="r", message="m"),
            WritePriority.EVENT,
        ),
    ],
)
def test_binds_before_objects_before_statuses(effect: Effect, priority: WritePriority) -> None:
    assert lane_of(effect).priority is priority


def test_the_next_request_goes_to_the_highest_class_and_there_to_what_was_begun_first() -> None:
    line = Line(requests=1)
    line.wait(EVENTS, 0)
    waiting = [(EVENTS, 1), (STATUSES, 2), (CREATES, 3), (BINDS, 5), (BINDS, 4), (BINDS, 5)]
    for lane, turn in waiting:
        line.wait(lane, turn)
    for lane, _ in list(line.gone):
        line.flow.leave(lane)
    while len(line.gone) <= len(waiting):
        line.flow.leave(line.gone[-1][0])
    assert line.gone[1:] == sorted(waiting, key=lambda each: (each[0].priority, each[1]))


def test_a_gang_that_was_begun_is_finished_before_the_next_one() -> None:
    line = Line()
    for _ in range(50):
        line.wait(BINDS, 1)
        line.wait(BINDS, 2)
    while len(line.gone) < 100:
        line.flow.leave(BINDS)
    turns = [turn for _, turn in line.gone]
    assert turns[REQUESTS:] == sorted(turns[REQUESTS:])


def test_binds_leave_a_share_to_statuses_that_wait_and_take_all_when_none_does() -> None:
    line = Line()
    for turn in range(100):
        line.wait(BINDS, turn)
    assert len(line.gone) == REQUESTS
    for turn in range(100, 110):
        line.wait(STATUSES, turn)
    for _ in range(20):
        line.flow.leave(BINDS)
    assert sum(lane is STATUSES for lane, _ in line.gone) == REQUESTS // RESERVED_SHARE


def test_a_window_halves_once_for_requests_that_were_sent_together_and_grows_back() -> None:
    window = Window(REQUESTS)
    for _ in range(REQUESTS):
        window.answered(sent_at=0.0, now=5.0, overloaded=True)
    assert window.size == REQUESTS / 2
    for at in range(6, 100):
        window.answered(sent_at=float(at), now=at + SLOW_SECONDS, overloaded=False)
    assert window.size == WINDOW_MIN
    for _ in range(REQUESTS * REQUESTS):
        window.answered(sent_at=200.0, now=200.0 + SLOW_SECONDS * 0.9, overloaded=False)
    assert window.size == REQUESTS


def test_a_kind_whose_answers_fail_holds_no_other_back() -> None:
    line = Line()
    line.flow.window("bind").answered(sent_at=0.0, now=1.0, overloaded=True)
    for turn in range(REQUESTS):
        line.wait(BINDS, turn)
        line.wait(CREATES, turn)
    gone = [lane for lane, _ in line.gone]
    assert gone.count(BINDS) == REQUESTS / 2
    assert gone.count(CREATES) == REQUESTS / 2


def test_who_is_cancelled_in_line_or_under_way_takes_no_request_with_him() -> None:
    async def main() -> None:
        clock = LoopClock()
        slots = Slots(clock.monotonic, requests_max=2)

        async def write() -> None:
            async with slots.slot(BINDS, 0):
                await clock.sleep(10)

        for _ in range(3):
            tasks = [asyncio.create_task(write()) for _ in range(6)]
            await clock.sleep(1)
            for task in (tasks[0], tasks[3]):
                task.cancel()
            tasks[1].cancel()
            await clock.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        began = clock.monotonic()
        await asyncio.gather(write(), write())
        assert clock.monotonic() - began == pytest.approx(10)

    run_virtual(main())
