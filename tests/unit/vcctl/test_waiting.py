"""`vcctl queue waiting`: who waits in a queue, in order, for what, and what the queue may still take."""

import json

import pytest
import yaml

from tests.unit.vcctl.server import Answer, Asked, answer, serving
from tests.unit.vcctl.test_dashboard import run

HEADROOM = {"cpu": "2500m", "memory": "0", "nvidia.com/gpu": "1", "pods": "7"}
WAITING = {
    "queue": "full",
    "headroom": HEADROOM,
    "waiting": [
        {
            "position": 1,
            "group": "ml/a",
            "stage": "quota",
            "neededPods": 4,
            "reason": "it is full",
            "estimate": {"startsAt": "2026-11-17T10:00:00Z", "basis": "ml/x ends"},
        },
        {"position": 2, "group": "ml/b", "stage": "order", "neededPods": 1, "reason": "after a"},
    ],
    "total": 2,
    "stale": "",
}
TREE = {
    "queues": [
        {"name": "root", "parent": "", "used": {"cpu": "60"}, "requested": {"cpu": "80"}},
        {"name": "full", "parent": "root", "used": {"cpu": "1"}, "requested": {"cpu": "9"}},
        {"name": "idle", "parent": "root", "used": {}, "requested": {}},
    ],
}


def waiting(asked: Asked) -> Answer:
    path = asked.path.partition("?")[0]
    if path.endswith("/queues/full/waiting"):
        return answer(WAITING)
    if path.endswith("/waiting"):
        queue = path.split("/")[-2]
        return answer({"queue": queue, "headroom": {}, "waiting": [], "total": 0, "stale": ""})
    return answer(TREE)


def test_the_waiting_list_of_a_queue(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(waiting) as (url, _):
        assert run("queue", "waiting", "-n", "full", "--dashboard", url) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[:2] == [
        "queue:     full, 2 jobs wait",
        "headroom:  cpu 2.5, memory 0, nvidia.com/gpu 1",
    ]
    rows = [line.split() for line in shown.splitlines()[4:]]
    assert rows == [
        ["1", "ml/a", "quota", "4", "it", "is", "full"],
        ["2", "ml/b", "order", "1", "after", "a"],
    ]


def test_the_waiting_lists_of_all_queues_leave_out_where_nobody_waits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with serving(waiting) as (url, asked):
        assert run("queue", "waiting", "--dashboard", url) == 0
        assert "/api/v1/queues/idle/waiting" not in {one.path.partition("?")[0] for one in asked}
        shown = capsys.readouterr().out
        assert "queue:     full, 2 jobs wait" in shown
        assert "root" not in shown
        assert run("queue", "waiting", "-o", "json", "--dashboard", url) == 0
    (only,) = json.loads(capsys.readouterr().out)["queues"]
    assert only["headroom"] == HEADROOM
    assert [job["position"] for job in only["waiting"]] == [1, 2]


def test_a_queue_in_which_nobody_waits(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(waiting) as (url, _):
        assert run("queue", "waiting", "idle", "--dashboard", url) == 0
    assert capsys.readouterr().out.splitlines()[0] == "queue:     idle, no job waits"


def test_when_jobs_may_start_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(waiting) as (url, asked):
        assert run("queue", "waiting", "full", "--estimate", "--dashboard", url) == 0
        assert "estimate=true" in asked[-1].path
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[3:]]
    assert rows[0][:6] == ["Place", "Job", "Stage", "Pods", "Start", "Waits"]
    assert [row[4] for row in rows[1:]] == ["2026-11-17T10:00:00Z", "-"]


def test_a_waiting_list_can_be_read_by_programs(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(waiting) as (url, _):
        assert run("queue", "waiting", "full", "-o", "yaml", "--dashboard", url) == 0
    assert yaml.safe_load(capsys.readouterr().out) == {"queues": [WAITING]}
