"""Requests are counted once, by who asked for what."""

import json
from pathlib import Path

import pytest
from bench.cluster.audit_log import OWN_AGENT, AuditLog, agent_of, count


def line(verb: str, resource: str, *, agent: str = "a/v1", sub: str = "", stage: str = "") -> bytes:
    reference = {"resource": resource, "subresource": sub, "namespace": "n", "name": "x"}
    event = {"stage": stage or "ResponseComplete", "verb": verb, "userAgent": agent}
    return json.dumps({**event, "objectRef": reference, "user": {"username": "u"}}).encode() + b"\n"


def test_requests_are_counted_by_agent_verb_and_resource() -> None:
    lines = [
        line("create", "pods", agent="kube-x/v1.35.0 (linux/amd64) kubernetes/abc"),
        line("create", "pods", sub="binding", agent="pyroclast/scheduler"),
        line("create", "pods", sub="binding", agent="pyroclast/scheduler"),
        line("watch", "pods", agent="pyroclast/watcher", stage="ResponseStarted"),
        line("watch", "pods", agent="pyroclast/watcher"),
    ]
    found = count(lines, pods=2)
    assert found.by_agent == {
        "kube-x": {"create pods": 1},
        "pyroclast/scheduler": {"create pods/binding": 2},
        "pyroclast/watcher": {"watch pods": 1},
    }
    assert (found.total, found.per_pod, found.writes_per_pod) == (4, 2.0, 1.5)


def test_leases_ourselves_and_what_is_no_event_are_left_out() -> None:
    lines = [
        line("update", "leases"),
        line("create", "jobs", agent=OWN_AGENT),
        b'{"verb": "get", "requestURI": "/healthz"}\n',
        b"no JSON\n",
        line("create", "pods")[:40],
    ]
    assert count(lines, pods=1).total == 0


@pytest.mark.parametrize(
    ("user_agent", "agent"),
    [
        ("kubectl/v1.35.0 (linux/amd64) kubernetes/abc", "kubectl"),
        ("pyroclast/job-controller", "pyroclast/job-controller"),
        ("vc-scheduler/v0.0.0 (linux/amd64) kubernetes/$Format", "vc-scheduler"),
        ("", "unknown"),
    ],
)
def test_agents_lose_version_and_machine(user_agent: str, agent: str) -> None:
    assert agent_of(user_agent) == agent


def test_only_what_came_since_the_beginning_counts(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    file.write_bytes(line("create", "pods") * 5)
    log = AuditLog(file)
    log.begin()
    with file.open("ab") as grows:
        grows.write(line("patch", "jobs"))
    assert log.requests(pods=1).by_agent == {"a": {"patch jobs": 1}}


def test_a_log_that_was_rotated_is_read_from_its_new_beginning(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    file.write_bytes(line("create", "pods") * 5)
    log = AuditLog(file)
    log.begin()
    file.write_bytes(line("delete", "pods"))
    assert log.requests(pods=1).by_agent == {"a": {"delete pods": 1}}


def test_a_log_that_is_not_there_is_an_error_at_the_beginning(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"audit\.log"):
        AuditLog(tmp_path / "audit.log").begin()
