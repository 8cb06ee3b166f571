"""Answers over a cluster index: jobs, queues, sessions, invariants, the page and its description."""

import msgspec
import pytest

from tests.unit.dashboard.objects import (
    group,
    healthy,
    job,
    node,
    pod,
    queue,
    session,
    waiting,
)
from vc.dashboard.logic.answers import shapes
from vc.dashboard.logic.answers.page import page
from vc.dashboard.logic.answers.query_parameters import QueryError, limit_of, text_of
from vc.dashboard.logic.cluster_index import ClusterIndex, build_cluster_index
from vc.dashboard.logic.invariants import (
    GANGS_WHOLE,
    NO_ORPHANS,
    NODES_FIT,
    QUEUES_FIT,
    TRANSIENT_SECONDS_MAX,
    find,
    remember,
    report,
)
from vc.dashboard.logic.jobs import JobQuery, describe_job, list_jobs
from vc.dashboard.logic.queues import depth_first, queue_tree
from vc.dashboard.logic.sessions import SESSIONS_MAX, SessionMemory
from vc.model.api.scheduling import PodGroupCondition


def names(found: shapes.JobList) -> list[str]:
    return [row.name for row in found.jobs]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (JobQuery(), ["a", "b", "c"]),
        (JobQuery(namespace="other"), ["c"]),
        (JobQuery(queue="default"), ["a", "b"]),
        (JobQuery(phase="Pending"), ["c"]),
        (JobQuery(after="ml/a"), ["b", "c"]),
        (JobQuery(limit=1), ["a"]),
    ],
)
def test_jobs_are_chosen_and_in_order(question: JobQuery, expected: list[str]) -> None:
    assert names(list_jobs(healthy(), {}, question, stale="")) == expected


def test_pages_follow_one_another() -> None:
    seen: list[str] = []
    after = ""
    for _ in range(3):
        found = list_jobs(healthy(), {}, JobQuery(limit=1, after=after), stale="")
        seen += names(found)
        after = found.next
    assert seen == ["a", "b", "c"]
    assert after == ""


def test_a_job_tells_pods_group_and_reason() -> None:
    reasons = {"ml/a": waiting("a")}
    late = msgspec.structs.replace(healthy(), groups={"ml/a": group("a", phase="Unknown")})
    found = describe_job(late, reasons, "ml/a", stale="")
    assert found is not None
    assert [(row.name, row.node, row.task) for row in found.pods] == [
        ("a-worker-0", "n1", "worker"),
        ("a-worker-1", "n1", "worker"),
    ]
    assert found.group is not None
    assert found.group.phase == "Unknown"
    assert (found.position, found.job.reason) == (1, "needs 4 GPUs")
    assert describe_job(healthy(), reasons, "ml/ghost", stale="") is None


def test_a_reason_about_an_older_group_of_the_name_is_not_told() -> None:
    other = msgspec.structs.replace(waiting("a"), uid="older")
    found = describe_job(healthy(), {"ml/a": other}, "ml/a", stale="")
    assert found is not None
    assert (found.explanation, found.job.reason) == (None, "")


def test_without_sessions_the_condition_of_the_group_is_the_reason() -> None:
    conditions = [
        PodGroupCondition(
            type="Unschedulable", status="True", reason="NotEnoughResources", message="no room"
        )
    ]
    cluster_index = build_cluster_index(
        jobs=[job("a")], groups=[group("a", phase="Pending", conditions=conditions)]
    )
    found = describe_job(cluster_index, {}, "ml/a", stale="")
    assert found is not None
    assert found.job.reason == "no room"
    assert found.group is not None
    assert found.group.reason == "NotEnoughResources"


def test_a_queue_that_was_deleted_under_its_pods_is_shown() -> None:
    cluster_index = build_cluster_index(
        jobs=[job("a")],
        groups=[group("a", queue="gone", gang=1)],
        pods=[pod("a", 0), pod("a", 1)],
        queues=[queue("root"), queue("team", parent="root")],
        nodes=[node("n1")],
    )
    tree = queue_tree(cluster_index, limit=10, stale="")
    assert [(row.name, row.depth, row.state) for row in tree.queues] == [
        ("root", 0, "Open"),
        ("team", 1, "Open"),
        ("gone", 1, "Missing"),
    ]
    assert {row.name: row.used.get("cpu", "0") for row in tree.queues} == {
        "root": "2",
        "team": "0",
        "gone": "2",
    }
    assert tree.total == 3
    assert len(queue_tree(cluster_index, limit=2, stale="").queues) == 2


def test_queues_come_depth_first_with_what_they_hold() -> None:
    tree = queue_tree(healthy(), limit=10, stale="")
    assert [(row.name, row.depth, row.parent) for row in tree.queues] == [
        ("root", 0, ""),
        ("default", 1, "root"),
        ("dept", 1, "root"),
        ("team", 2, "dept"),
    ]
    used = {row.name: row.used.get("cpu", "0") for row in tree.queues}
    assert used == {"root": "3", "default": "2", "dept": "1", "team": "1"}
    assert tree.queues[2].children == ["team"]
    assert len(queue_tree(healthy(), limit=2, stale="").queues) == 2


def test_what_waits_counts_as_requested_up_to_the_root() -> None:
    cluster_index = healthy()
    waiting = group("late", queue="team", phase="Pending")
    needs = {"cpu": "5", "requests.cpu": "5", "count/pods": "2"}
    spec = msgspec.structs.replace(waiting.spec, min_resources=needs)
    late = msgspec.structs.replace(waiting, spec=spec)
    cluster_index = msgspec.structs.replace(
        cluster_index, groups={**cluster_index.groups, late.key: late}
    )
    tree = queue_tree(cluster_index, limit=10, stale="")
    requested = {row.name: row.requested.get("cpu", "0") for row in tree.queues}
    assert requested == {"root": "8", "default": "2", "dept": "6", "team": "6"}
    assert all("requests.cpu" not in row.requested for row in tree.queues)
    allocatable = [node.status.allocatable["cpu"] for node in cluster_index.nodes.values()]
    assert tree.capacity["cpu"] == str(sum(int(cpu) for cpu in allocatable))


def test_no_queue_is_lost_by_a_missing_parent_or_a_cycle() -> None:
    queues = {
        q.metadata.name: q
        for q in (queue("x", parent="y"), queue("y", parent="x"), queue("z", parent="gone"))
    }
    assert sorted(name for name, _ in depth_first(queues)) == ["x", "y", "z"]


def test_sessions_are_few_new_first_and_known_once() -> None:
    memory = SessionMemory()
    for number in range(SESSIONS_MAX + 10):
        memory.take(session(number))
        memory.take(session(number))
    found = memory.recent(limit=2, stale="")
    assert [row.session_id for row in found.sessions] == [
        f"s{SESSIONS_MAX + 9}",
        f"s{SESSIONS_MAX + 8}",
    ]
    assert found.total == SESSIONS_MAX


def test_the_last_word_on_a_group_counts_whatever_the_order() -> None:
    memory = SessionMemory()
    memory.take(session(2, resolved=("ml/a",)))
    memory.take(session(1, waiting("a"), waiting("b")))
    assert set(memory.reasons()) == {"ml/b"}
    memory.take(session(3, waiting("a", "again")))
    assert memory.reasons()["ml/a"].reason.sentence == "again"


def holding(cluster_index: ClusterIndex, *, seconds: float = 0.0) -> dict[str, bool]:
    findings = find(cluster_index)
    seen = remember({}, findings, now=0.0)
    told = report(cluster_index, findings, seen, now=seconds, stale="")
    assert told.holds is all(invariant.holds for invariant in told.invariants)
    return {invariant.name: invariant.holds for invariant in told.invariants}


def test_a_healthy_cluster_keeps_its_promises() -> None:
    assert set(holding(healthy(), seconds=3600).values()) == {True}


def test_a_full_node_is_told_with_its_numbers() -> None:
    cluster_index = build_cluster_index(
        pods=[pod("a", 0, cpu="3"), pod("a", 1, cpu="1500m")], nodes=[node("n1", cpu=4)]
    )
    findings = [finding for finding in find(cluster_index) if finding.invariant == NODES_FIT]
    assert findings[0].object == "Node n1"
    assert findings[0].message == "cpu used 4.5, allocatable 4"
    assert findings[0].numbers == {"cpu.used": "4500m", "cpu.allocatable": "4"}
    assert holding(cluster_index)[NODES_FIT] is False


def test_finished_pods_take_no_room() -> None:
    cluster_index = build_cluster_index(
        pods=[pod("a", 0, cpu="3"), pod("a", 1, cpu="3", phase="Succeeded")], nodes=[node("n1")]
    )
    assert holding(cluster_index)[NODES_FIT] is True


def test_a_full_queue_is_told_over_its_children() -> None:
    cluster_index = build_cluster_index(
        groups=[group("a", queue="child")],
        pods=[pod("a", 0), pod("a", 1)],
        queues=[queue("top", capability={"cpu": 1}), queue("child", parent="top")],
        nodes=[node("n1")],
    )
    assert holding(cluster_index)[QUEUES_FIT] is False


def test_a_partial_gang_is_excused_for_a_while_only() -> None:
    cluster_index = build_cluster_index(
        jobs=[job("a")],
        groups=[group("a", gang=2)],
        pods=[pod("a", 0), pod("a", 1, node="")],
        nodes=[node("n1")],
    )
    assert holding(cluster_index, seconds=1)[GANGS_WHOLE] is True
    assert holding(cluster_index, seconds=TRANSIENT_SECONDS_MAX)[GANGS_WHOLE] is False


def test_who_places_the_pods_of_a_gang_decides_whether_it_may_be_partial() -> None:
    cluster_index = build_cluster_index(
        jobs=[job("a")],
        groups=[group("a", gang=2)],
        pods=[pod("a", 0), pod("a", 1, node="")],
        queues=[queue("default", allocated={"cpu": "1", "pods": "1"})],
        nodes=[node("n1")],
    )
    assert [finding.invariant for finding in find(cluster_index, ("volcano", "two"))] == [
        GANGS_WHOLE
    ]
    assert find(cluster_index, ("two",)) == []


def test_a_gang_that_runs_out_is_not_partial() -> None:
    cluster_index = build_cluster_index(
        jobs=[job("a")],
        groups=[group("a", gang=2)],
        pods=[pod("a", 0), pod("a", 1, phase="Succeeded")],
        nodes=[node("n1")],
    )
    assert holding(cluster_index, seconds=3600)[GANGS_WHOLE] is True


def test_pods_of_a_job_that_is_gone_are_orphans() -> None:
    cluster_index = build_cluster_index(pods=[pod("a", 0, node="")])
    assert holding(cluster_index, seconds=3600)[NO_ORPHANS] is False


def test_the_page_escapes_everything() -> None:
    evil = job("<script>alert(1)</script>", queue='"><img src=x>')
    cluster_index = build_cluster_index(jobs=[evil], queues=[queue("<b>q</b>", parent="<i>")])
    jobs = list_jobs(cluster_index, {}, JobQuery(), stale="<u>old</u>")
    text = page(jobs, queue_tree(cluster_index, limit=10, stale=""))
    for part in ("<script", "<img", "<b>q", "<u>old"):
        assert part not in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize("text", ["0", "1001", "-1", "many", "", "９", "9" * 5000])
def test_limits_are_bounded(text: str) -> None:
    with pytest.raises(QueryError):
        limit_of({"limit": text})


def test_texts_are_bounded() -> None:
    assert limit_of({}) == 100
    with pytest.raises(QueryError):
        text_of({"queue": "q" * 1000}, "queue")
