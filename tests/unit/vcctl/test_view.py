"""`vcctl job view`: only this job's events, only the plugins it has."""

from typing import Any

import pytest

from tests.unit.vcctl.server import Answer, Asked, answer, refusal, serving
from vc.cli.vcctl.commands.jobs import view as job_view
from vc.cli.vcctl.main import main

UID = "u-new"


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def job(**plugins: list[str]) -> dict[str, Any]:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "ml", "uid": UID, "creationTimestamp": at(10)},
        "spec": {"plugins": plugins, "tasks": []},
        "status": {},
    }


def event(kind: str, uid: str, message: str, *, name: str = "j", first: int) -> dict[str, Any]:
    return {
        "type": "Normal",
        "reason": "Said",
        "message": message,
        "firstTimestamp": at(first),
        "lastTimestamp": at(max(first, 20)),
        "involvedObject": {"kind": kind, "name": name, "uid": uid},
    }


EVENTS = [
    event("Job", "u-old", "of the namesake", first=5),
    event("Job", UID, "of the job", first=11),
    event("PodGroup", "g-old", "group of the namesake", first=6),
    event("PodGroup", "g-old", "group of the namesake, said late", first=19),
    event("PodGroup", "g-then", "group of the namesake in the same second", first=10),
    event("PodGroup", "g-new", "group of the job", first=12),
    event("PodGroup", "g-upstream", "group by uid", name=f"j-{UID}", first=10),
    event("Pod", "p", "of a pod with the job's name", first=12),
]


def viewed(groups: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> str:
    def cluster(asked: Asked) -> Answer:
        path, _, query = asked.path.partition("?")
        if path.endswith("/jobs/j"):
            return answer(job())
        if path.endswith("/podgroups"):
            return answer({"items": groups, "metadata": {}})
        if path.endswith("/events"):
            name = f"j-{UID}" if f"involvedObject.name%3Dj-{UID}" in query else "j"
            found = [e for e in EVENTS if e["involvedObject"]["name"] == name]
            return answer({"items": found, "metadata": {}})
        return refusal(404, "NotFound", path)

    with serving(cluster) as (url, _), pytest.raises(SystemExit) as left:
        main(["job", "view", "-N", "j", "-n", "ml", "-s", url])
    assert left.value.code == 0
    return capsys.readouterr().out


def test_events_of_a_namesake_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    owners = [{"uid": UID}]
    group = {"metadata": {"name": "j", "uid": "g-new", "ownerReferences": owners}}
    other = {"metadata": {"name": "x", "uid": "g-old", "ownerReferences": [{"uid": "u-old"}]}}
    shown = viewed([group, other], capsys)
    assert "of the job" in shown
    assert "group of the job" in shown
    assert "namesake" not in shown
    assert "of a pod" not in shown


def test_events_of_a_group_that_is_gone_are_shown_when_they_can_only_be_the_jobs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = viewed([], capsys)
    assert "group of the job" in shown
    assert "group by uid" in shown
    assert "namesake" not in shown


def test_only_the_plugins_of_the_job_are_shown() -> None:
    lines = list(job_view.describe(job(svc=["--publish-not-ready-addresses=true"])))
    at_plugins = lines.index("  Plugins:")
    assert lines[at_plugins + 1] == "    Svc:     [--publish-not-ready-addresses=true]"
    assert lines[at_plugins + 2].startswith("  Queue:")
    assert "  Plugins:        <none>" in list(job_view.describe(job()))
