"""Problem rows: one object is left out and reported, the next one is processed."""

import asyncio
import logging

import pytest

from tests.builders.contexts import memory_context
from vc.clock import run_virtual
from vc.model.api.kinds import EVENTS, PODS
from vc.runtime.consuming.problem_events import report_problems
from vc.runtime.containment.boundaries import APPLY
from vc.runtime.containment.problems import ROWS_MAX, SHOWN_MAX


def fail(text: str) -> None:
    raise ValueError(text)


def test_what_is_raised_inside_becomes_a_row_and_goes_when_it_works_again() -> None:
    context = memory_context("scheduler")
    problems = context.problems
    with (contained := problems.contain(APPLY, PODS, "ns/p", uid="u")):
        fail("odd")
    assert contained.failed
    assert problems.lines() == ["apply of pods 'ns/p': ValueError: odd"]
    labels = {"service": "scheduler", "boundary": APPLY, "kind": "pods"}
    assert context.metrics.get_sample_value("pyroclast_problem_rows", labels) == 1
    with problems.contain(APPLY, PODS, "ns/p"):
        pass
    assert problems.lines() == []
    assert context.metrics.get_sample_value("pyroclast_problem_rows", labels) == 0
    assert context.metrics.get_sample_value("pyroclast_contained_failures_total", labels) == 1


def test_a_cancelled_task_is_cancelled() -> None:
    with pytest.raises(asyncio.CancelledError), memory_context().problems.contain(APPLY, PODS, "p"):
        raise asyncio.CancelledError


def test_rows_are_bounded_and_each_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    problems = memory_context("scheduler").problems
    caplog.set_level(logging.ERROR, logger="pyroclast")
    for number in range(ROWS_MAX + 5):
        for _ in range(2):
            problems.caught(APPLY, PODS, f"ns/p{number}", error=ValueError("odd"))
    assert len(problems.rows()) == ROWS_MAX
    assert problems.lines()[-1] == f"and {ROWS_MAX - SHOWN_MAX} more"
    assert len(caplog.records) == ROWS_MAX + 5


def test_each_row_is_one_event_on_its_object() -> None:
    async def main() -> None:
        context = memory_context("scheduler")
        telling = asyncio.create_task(report_problems(context))
        for _ in range(3):
            context.problems.caught(APPLY, PODS, "default/p", uid="u", error=ValueError("odd"))
            await context.clock.sleep(1)
        page = await context.cluster.list(EVENTS)
        assert len(page.items) == 1
        assert b"scheduler cannot apply it: ValueError: odd" in page.items[0]
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)

    run_virtual(main())
