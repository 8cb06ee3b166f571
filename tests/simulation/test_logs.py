"""A job is followed through the logs of all services by its trace id, in few lines."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from vc.clock import run_virtual
from vc.messages.trace import trace_id
from vc.runtime.hosting.logs import OURS, JsonFormatter

JOB_SECONDS_MAX = 240.0


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What services write with LOG_FORMAT=json."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger(OURS)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield text
    logger.removeHandler(handler)
    logger.setLevel(level)


def run_job(name: str, *, replicas: int) -> str:
    """To its end; gives the job's uid, which is another in every run."""

    async def scenario() -> str:
        async with Stack(services=CORE, seed=replicas) as stack:
            await stack.clock.sleep(5)
            made = await stack.submit(gang_job(name, replicas=replicas))
            await stack.until(
                lambda: stack.job(name).status.state.phase == "Completed",
                seconds=JOB_SECONDS_MAX,
                what=f"{name} completed",
            )
            await stack.clock.sleep(2)
            return str(made["metadata"]["uid"])

    return run_virtual(scenario())


def lines_of(written: io.StringIO, uid: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    return [line for line in lines if line.get("trace_id") == trace_id(uid)]


def test_the_trace_id_leads_from_service_to_service(written: io.StringIO) -> None:
    lines = lines_of(written, run_job("followed", replicas=3))
    told = [(line["logger"].removeprefix("pyroclast."), line["message"]) for line in lines]
    for step in [
        (
            "job-controller",
            "reconciled phase=new->Pending podgroups_created=1 plugins_requested=env",
        ),
        ("plugin-env", "request answered verb=apply"),
        ("job-controller", "reconciled pods_created=3"),
        ("scheduler", "gang bound pods=3"),
        ("job-controller", "reconciled phase=Pending->Running"),
    ]:
        assert step in told, told
    assert all(line["job"] == "default/followed" for line in lines)
    (bound,) = [line for line in lines if line["message"] == "gang bound pods=3"]
    session = bound["session_id"]
    sessions = [
        json.loads(line) for line in written.getvalue().splitlines() if "session_id" in line
    ]
    assert any(
        line["message"].startswith(f"session={session} ") and line["session_id"] == session
        for line in sessions
    )


def test_the_number_of_lines_does_not_grow_with_the_pods(written: io.StringIO) -> None:
    few = lines_of(written, run_job("few", replicas=2))
    many = lines_of(written, run_job("many", replicas=60))
    assert len(many) <= len(few) + 2, [line["message"] for line in many]
    assert len(few) <= 12, [line["message"] for line in few]


def test_a_job_that_waits_says_once_why(written: io.StringIO) -> None:
    async def scenario() -> str:
        async with Stack(services=CORE) as stack:
            await stack.clock.sleep(5)
            made = await stack.submit(gang_job("huge", replicas=2, cpu="4000"))
            await stack.clock.sleep(30)
            for number in range(5):  # every session has other numbers for it
                await stack.submit(gang_job(f"small-{number}", replicas=1))
                await stack.clock.sleep(1)
            return str(made["metadata"]["uid"])

    waits = [
        line
        for line in lines_of(written, run_virtual(scenario()))
        if line["message"].startswith("job pending reason=")
    ]
    assert 1 <= len(waits) <= 3, waits
    assert {"stage", "code", "queue", "session_id"} <= set(waits[-1])
