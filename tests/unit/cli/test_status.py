"""The table fits 80 columns and says why something is not ready."""

import subprocess
import sys

import msgspec
import pytest

from vc.cli.pyroclast.services import SERVICES
from vc.cli.pyroclast.stack.members import reason_in
from vc.cli.pyroclast.status import table
from vc.cli.pyroclast.status_probe import (
    Seen,
    age_in,
    behind_in,
    group_topics,
    metrics_in,
    with_lag,
)
from vc.parts.probe import Answer

READY = Seen(
    process="podgroup-controller",
    role="service",
    pid=4_194_304,
    started_at=0.0,
    restarts=0,
    ready=True,
    reason="",
    resident_bytes=123_456_789,
    lag_records=123_456,
    event_age_seconds=0.31,
    port=65_535,
)
PAGE = """\
# HELP pyroclast_view_behind_records Records.
# TYPE pyroclast_view_behind_records gauge
pyroclast_view_behind_records{service="job-controller"} 3.0
pyroclast_share_behind_records{service="job-controller"} 4.0
pyroclast_view_progress_age_seconds 0.5
pyroclast_share_progress_age_seconds 1.5
volcano_queue_share{queue="default"} 0.5
"""


def but(**changes: object) -> Seen:
    return msgspec.structs.replace(READY, **changes)


@pytest.mark.parametrize("seconds", [0, 59, 61, 3_599, 7_199, 7_200, 172_799, 1e7])
def test_the_widest_row_fits_eighty_columns(seconds: float) -> None:
    lines = table([READY, but(process="kube-controller-manager")], now=seconds).splitlines()
    assert max(len(line) for line in lines) <= 80
    assert lines[1].endswith("65535")


def test_what_cannot_be_told_is_a_dash() -> None:
    seen = but(lag_records=None, event_age_seconds=None, port=0, resident_bytes=0)
    assert table([seen], now=1.0).splitlines()[1].split()[-4:] == ["-", "-", "-", "-"]


def test_the_reason_stands_below_the_table() -> None:
    text = table([READY, but(process="watcher", ready=False, reason="not leading yet")], now=1.0)
    assert text.splitlines()[-1] == "watcher: not leading yet"
    assert "\x1b" not in text


def test_on_a_terminal_what_is_not_ready_is_red() -> None:
    text = table([READY, but(ready=False, reason="x")], now=1.0, colour=True)
    assert [("\x1b[31m" in line) for line in text.splitlines()[:3]] == [False, False, True]


def test_lag_and_age_are_those_of_all_views() -> None:
    metrics = metrics_in(PAGE)
    assert behind_in(metrics) == 7
    assert age_in(metrics) == 1.5


def test_a_service_without_a_view_has_neither_lag_nor_age() -> None:
    assert behind_in({}) is None
    assert age_in({}) is None


def test_a_view_that_heard_nothing_yet_has_no_age() -> None:
    assert age_in(metrics_in("pyroclast_view_progress_age_seconds +Inf\n")) is None


def test_a_member_of_a_group_has_also_the_lag_of_its_group() -> None:
    assert with_lag(but(process="plugin-env", lag_records=None), {"plugin-env": 2}).lag_records == 2
    assert (
        with_lag(but(process="job-controller", lag_records=3), {"job-controller": 2}).lag_records
        == 5
    )
    assert with_lag(READY, {"plugin-env": 2}) == READY


def test_groups_work_off_their_requests_and_replies() -> None:
    topics = group_topics(SERVICES)
    assert topics["plugin-env"] == ["plugin.env.requests"]
    assert topics["job-controller"] == ["plugin.replies"]
    assert "scheduler" not in topics


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(status=200, body=b"watcher: ready\n"), ""),
        (Answer(status=503, body=b"watcher: not leading yet\n"), "not leading yet"),
        (Answer(status=503, body=b"a: ready\nb: bus away: refused\n"), "bus away: refused"),
        (Answer(status=500), "HTTP 500"),
        (Answer(), "no answer yet"),
    ],
)
def test_readyz_gives_the_reason_in_one_line(answer: Answer, reason: str) -> None:
    assert reason_in(answer) == reason


def test_nothing_is_imported_while_processes_are_asked() -> None:
    """An import on a busy machine takes longer than an answer may, and all would seem to be away."""
    script = """
import asyncio, sys
import vc.cli.pyroclast.status_probe
from vc.parts.probe import http_get, listens
before = set(sys.modules)
assert "aiokafka" in before
asyncio.run(listens(1))
asyncio.run(http_get("http://127.0.0.1:1/readyz"))
print(sorted(name for name in set(sys.modules) - before if name.startswith(("aio", "vc."))))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
