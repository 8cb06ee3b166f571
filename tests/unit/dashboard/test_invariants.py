"""Promises that need more than one look: what queues tell, whom nobody owns, epochs."""

from dataclasses import dataclass

import msgspec
import pytest

from tests.unit.dashboard.objects import group, job, node, pod, queue, session
from vc.dashboard.logic.cluster_index import ClusterIndex, build_cluster_index
from vc.dashboard.logic.epochs import SESSIONS_REMEMBERED_MAX, EpochMemory
from vc.dashboard.logic.invariants import (
    EPOCHS_GROW,
    NO_ORPHANS,
    QUEUES_ALLOCATED,
    QUEUES_EXIST,
    TRANSIENT_SECONDS_MAX,
    find,
    remember,
    report,
)
from vc.messages.sessions import SessionRecord
from vc.model.api.pod import Pod
from vc.model.api.struct import ResourceList


def telling(allocated: ResourceList, *pods: Pod, above: ResourceList | None = None) -> ClusterIndex:
    """One queue with the pods of job `a`, below another one."""
    return build_cluster_index(
        jobs=[job("a")],
        groups=[group("a", queue="team", gang=1)],
        pods=pods or [pod("a", 0), pod("a", 1, cpu="500m")],
        queues=[
            queue("root", allocated=allocated if above is None else above),
            queue("team", parent="root", allocated=allocated),
        ],
        nodes=[node("n1")],
    )


RIGHT: ResourceList = {"cpu": "1500m", "pods": "2"}


def leaving(index: int) -> Pod:
    told = pod("a", index)
    metadata = msgspec.structs.replace(told.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(told, metadata=metadata)


@dataclass(frozen=True)
class Case:
    id: str
    cluster_index: ClusterIndex
    wrong: tuple[str, ...] = ()


CASES = [
    Case("it tells what its pods ask for", telling(RIGHT)),
    Case("zeros say nothing", telling({**RIGHT, "memory": "0"})),
    Case("it tells too little", telling({"cpu": "1", "pods": "2"}), ("Queue root", "Queue team")),
    Case("it forgot the places", telling({"cpu": "1500m"}), ("Queue root", "Queue team")),
    Case("it tells of what is gone", telling({**RIGHT, "gpu": "1"}), ("Queue root", "Queue team")),
    Case("only the one above is wrong", telling(RIGHT, above={}), ("Queue root",)),
    Case("pods that leave are not its any more", telling({"cpu": 1, "pods": 1}, pod("a", 0), leaving(1))),
    Case("nor are those that ended", telling({"cpu": 1, "pods": 1}, pod("a", 0), pod("a", 1, phase="Failed"))),
    Case("nor those without a node", telling({"cpu": 1, "pods": 1}, pod("a", 0), pod("a", 1, node=""))),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_queue_tells_what_its_pods_ask_for(case: Case) -> None:
    findings = find(case.cluster_index)
    seen = remember({}, findings, now=0.0)

    def wrong(now: float) -> tuple[str, ...]:
        told = report(case.cluster_index, findings, seen, now=now, stale="")
        (promise,) = [each for each in told.invariants if each.name == QUEUES_ALLOCATED]
        assert promise.checked == 2
        return tuple(violation.object for violation in promise.violations)

    assert wrong(TRANSIENT_SECONDS_MAX - 0.1) == ()
    assert wrong(TRANSIENT_SECONDS_MAX) == case.wrong


def test_a_wrong_queue_is_told_with_its_numbers() -> None:
    (finding, _) = find(telling({"cpu": "1", "pods": "2"}))
    assert finding.message == "cpu allocated 1, its pods 1.5"
    assert finding.numbers == {"cpu.allocated": "1", "cpu.pods": "1500m"}


def test_a_status_that_is_written_again_and_again_is_only_behind() -> None:
    """While much happens it is never right, and never wrong for long."""
    seen: dict[str, float] = {}
    for second in range(300):
        cluster_index = telling({"cpu": str(second), "pods": "2"})
        findings = find(cluster_index)
        seen = remember(seen, findings, now=float(second))
        assert report(cluster_index, findings, seen, now=float(second), stale="").holds
    for second in range(300, 300 + int(TRANSIENT_SECONDS_MAX) + 1):
        seen = remember(seen, findings, now=float(second))
    assert not report(cluster_index, findings, seen, now=float(second), stale="").holds


def test_a_pod_group_of_a_job_that_is_gone_is_an_orphan() -> None:
    cluster_index = build_cluster_index(groups=[group("a"), group("b")], jobs=[job("b")])
    (finding,) = find(cluster_index)
    assert (finding.invariant, finding.object) == (NO_ORPHANS, "PodGroup ml/a")


def test_pods_in_a_queue_that_does_not_exist_are_noticed_after_a_moment() -> None:
    cluster_index = build_cluster_index(
        jobs=[job("a")],
        groups=[group("a", queue="gone", gang=1)],
        pods=[pod("a", 0), pod("a", 1, cpu="500m"), pod("a", 2, node="")],
        queues=[queue("root", allocated=RIGHT)],
        nodes=[node("n1")],
    )
    (finding,) = find(cluster_index)  # and root's status, which counts them, is right
    assert (finding.invariant, finding.object) == (QUEUES_EXIST, "Queue gone")
    assert finding.message == (
        "does not exist, but 2 pods on nodes belong to it (cpu 1500m, pods 2); "
        "create the queue again or delete their jobs"
    )
    seen = remember({}, [finding], now=0.0)
    assert report(cluster_index, [finding], seen, now=TRANSIENT_SECONDS_MAX - 0.1, stale="").holds
    assert not report(cluster_index, [finding], seen, now=TRANSIENT_SECONDS_MAX, stale="").holds


def held(session_id: str, started_at: float) -> SessionRecord:
    return msgspec.structs.replace(session(1), session_id=session_id, started_at=started_at)


def broken(epochs: EpochMemory) -> list[str]:
    findings = find(ClusterIndex(), went_back=epochs.went_back)
    told = report(ClusterIndex(), findings, {}, now=0.0, stale="", epochs_checked=epochs.checked)
    (promise,) = [each for each in told.invariants if each.name == EPOCHS_GROW]
    assert promise.holds is not bool(promise.violations)
    assert promise.checked == epochs.checked
    return [violation.message for violation in promise.violations]


def test_sessions_in_any_order_and_told_twice_are_no_reason() -> None:
    epochs = EpochMemory()
    for session_id, started_at in [("2-1", 9.0), ("1-7", 5.0), ("1-3", 2.0), ("1-7", 5.0)]:
        epochs.take_session(held(session_id, started_at))
    assert broken(epochs) == []
    assert epochs.checked == 3


def test_a_session_id_that_stands_for_two_tells_that_an_epoch_was_given_twice() -> None:
    epochs = EpochMemory()
    epochs.take_session(held("1-1", 5.0))
    epochs.take_session(held("2-1", 8.0))
    for _ in range(2):
        epochs.take_session(held("1-1", 9.0))
    assert broken(epochs) == ["scheduler: session 1-1 was held twice, so epoch 1 was"]


def test_sessions_that_are_read_again_are_the_same() -> None:
    epochs = EpochMemory()
    epochs.take_session(held("1-1", 5.0))
    epochs.forget_sessions()
    epochs.take_session(held("1-1", 6.0))
    assert broken(epochs) == []


def test_only_so_many_sessions_are_remembered() -> None:
    epochs = EpochMemory()
    for number in range(SESSIONS_REMEMBERED_MAX + 10):
        epochs.take_session(held(f"1-{number}", 1.0))
    assert epochs.checked == SESSIONS_REMEMBERED_MAX


def test_an_epoch_of_the_watcher_that_goes_back_is_told_within_one_incarnation() -> None:
    epochs = EpochMemory()
    for incarnation, epoch in [("one", 1), ("one", 3), ("two", 1), ("two", 2)]:
        epochs.take_progress(incarnation, epoch)
    assert broken(epochs) == []
    epochs.take_progress("two", 1)
    assert broken(epochs) == ["watcher: epoch 1 came after 2"]
