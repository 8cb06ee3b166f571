"""Which recorded reason of a job counts: of which leader, for how long; and the order of pending jobs."""

import msgspec
import pytest

from tests.unit.dashboard.objects import group, job, queue, session, waiting
from tests.unit.scheduling.objects import gang, nodes
from tests.unit.scheduling.objects import queue as real_queue
from tests.unit.scheduling.world import World
from vc.dashboard.logic import sessions as sessions_module
from vc.dashboard.logic.cluster_index import ClusterIndex, build_cluster_index
from vc.dashboard.logic.explaining import waiting_list
from vc.dashboard.logic.jobs import (
    JobQuery,
    current_reasons,
    describe_job,
    list_jobs,
    pending_order,
)
from vc.dashboard.logic.sessions import SESSIONS_MAX, SKEW_SECONDS_MAX, SessionMemory, leader_of
from vc.dashboard.logic.shares import SharesAndOrder
from vc.messages.sessions import JobReason, SessionRecord
from vc.model.api.kinds import PODGROUPS
from vc.model.api.scheduling import PodGroup, PodGroupCondition, Queue
from vc.scheduling.record.reason_log import ReasonLog, Timing
from vc.snapshot.interface import SESSION_RING_COUNT_MAX


def said(
    epoch: int,
    number: int,
    *reasons: JobReason,
    resolved: tuple[str, ...] = (),
    at: float | None = None,
    waiting: int | None = None,
) -> SessionRecord:
    """A record of the leader of that epoch."""
    record = session(number, *reasons, resolved=resolved)
    return msgspec.structs.replace(
        record,
        session_id=f"{epoch}-{number}",
        started_at=float(100 * epoch + number) if at is None else at,
        waiting=len(reasons) if waiting is None else waiting,
    )


def pictured(*groups: PodGroup) -> ClusterIndex:
    return build_cluster_index(
        jobs=[job(g.metadata.name) for g in groups], groups=groups, queues=[queue("default")]
    )


def lined_up(
    cluster_index: ClusterIndex, memory: SessionMemory, queue: str = "default"
) -> list[str]:
    found = waiting_list(
        cluster_index, memory.reasons(), queue, shares=SharesAndOrder(), limit=100, stale=""
    )
    assert found.total == len(found.waiting)
    return [row.group for row in found.waiting]


# -- leaders -----------------------------------------------------------------------------------------


def test_after_a_failover_nothing_is_left_of_what_the_dead_leader_said() -> None:
    world = World(real_queue(), nodes(1), gang("placed", 2, cpu=40), gang("waits", 3, cpu=60))
    memory = SessionMemory()

    def record(log: ReasonLog, epoch: int, number: int) -> None:
        timing = Timing(started_at=float(10 * epoch + number), took_ms=1.0)
        found = log.record(world.session(), timing)
        if found is not None:
            memory.take(msgspec.structs.replace(found, session_id=f"{epoch}-{number}"))

    def told() -> list[str]:
        found = [o for o in world.objects() if isinstance(o, (PodGroup, Queue))]
        groups = [o for o in found if isinstance(o, PodGroup)]
        cluster_index = build_cluster_index(
            groups=groups, queues=[o for o in found if isinstance(o, Queue)]
        )
        return lined_up(cluster_index, memory)

    first = ReasonLog()
    record(first, 1, 1)
    assert told() == ["ns/placed", "ns/waits"]
    world.put(*nodes(2))  # the first leader binds, and dies before anybody hears of it
    first.record(world.session(), Timing(started_at=12.0, took_ms=1.0))
    assert world.bound("placed") == 2
    assert told() == ["ns/waits"], "the view knows better"
    record(ReasonLog(), 2, 1)
    assert told() == ["ns/waits"]
    assert set(memory.reasons()) == {"ns/waits"}, "the new leader has spoken of everybody"
    world.delete(PODGROUPS, "ns/waits")
    assert told() == []


def test_until_a_new_leader_has_spoken_of_everybody_the_old_words_do() -> None:
    memory = SessionMemory()
    memory.take(said(1, 1, *(waiting(name) for name in "abc")))
    memory.take(said(2, 1, waiting("a", "new"), waiting=2))
    assert set(memory.reasons()) == {"ml/a", "ml/b", "ml/c"}
    memory.take(said(2, 2, waiting("b", "new"), waiting=2))
    assert set(memory.reasons()) == {"ml/a", "ml/b"}
    memory.take(said(1, 9, waiting("c"), waiting("a")))
    assert set(memory.reasons()) == {"ml/a", "ml/b"}, "a straggler"
    assert memory.reasons()["ml/a"].reason.sentence == "new"


def test_the_leader_is_believed_whatever_the_clock_of_the_one_before_it() -> None:
    memory = SessionMemory()
    memory.take(said(1, 1, waiting("a"), waiting("b"), at=1000.0))
    memory.take(said(2, 1, waiting("a", "new"), resolved=("ml/b",), at=990.0))
    assert [word.reason.sentence for word in memory.reasons().values()] == ["new"]


def test_epochs_may_begin_again_when_the_lease_was_deleted() -> None:
    memory = SessionMemory()
    memory.take(said(7, 1, waiting("a"), waiting("b"), at=1000.0))
    memory.take(said(1, 1, waiting("b", "new"), at=1001.0 + SKEW_SECONDS_MAX))
    assert [word.reason.sentence for word in memory.reasons().values()] == ["new"]


@pytest.mark.parametrize(
    ("session_id", "epoch"), [("12-7", 12), ("s7", 0), ("", 0), ("-3", 0), ("9" * 30 + "-1", 0)]
)
def test_ids_name_the_leader(session_id: str, epoch: int) -> None:
    assert leader_of(session_id) == epoch


def test_who_waits_is_remembered_longer_than_who_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "GROUPS_MAX", 3)
    monkeypatch.setattr(sessions_module, "RESOLVED_MAX", 3)
    memory = SessionMemory()
    memory.take(said(1, 1, waiting("old")))
    for number in range(2, 20):
        memory.take(said(1, number, waiting(f"short-{number}"), waiting=2))
        memory.take(said(1, number, resolved=(f"ml/short-{number}",), waiting=1))
    assert set(memory.reasons()) == {"ml/old"}
    memory.take(said(1, 30, *(waiting(f"new-{n}") for n in range(3))))
    assert set(memory.reasons()) == {"ml/new-0", "ml/new-1", "ml/new-2"}


def test_as_many_sessions_are_remembered_as_the_ring_holds() -> None:
    assert SESSIONS_MAX == SESSION_RING_COUNT_MAX


# -- groups ------------------------------------------------------------------------------------------

HOLDS = PodGroupCondition(type="Unschedulable", status="True", reason="NotEnoughResources")
HELD = PodGroupCondition(type="Unschedulable", status="False")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        pytest.param(group("a", phase="Pending"), True, id="it waits to be let in"),
        pytest.param(group("a", phase="Inqueue"), True, id="it was let in and waits for room"),
        pytest.param(group("a", phase="Unknown"), True, id="it lost pods and needs them again"),
        pytest.param(group("a", phase="Running"), False, id="it runs"),
        pytest.param(
            group("a", phase="Running", conditions=[HELD]), False, id="it waited and now runs"
        ),
        pytest.param(
            group("a", phase="Running", conditions=[HOLDS]), True, id="a task of it is missing"
        ),
        pytest.param(group("a", phase="Completed"), False, id="it has ended"),
    ],
)
def test_a_word_counts_only_while_its_group_waits(found: PodGroup, told: bool) -> None:
    memory = SessionMemory()
    memory.take(said(1, 1, waiting("a")))
    cluster_index = pictured(found)
    detail = describe_job(cluster_index, memory.reasons(), "ml/a", stale="")
    assert detail is not None
    assert (detail.explanation is not None) is told
    assert detail.position == int(told)
    [row] = list_jobs(cluster_index, memory.reasons(), JobQuery(), stale="").jobs
    assert bool(row.reason) is told
    assert bool(lined_up(cluster_index, memory)) is told


def test_a_group_of_the_same_name_is_another() -> None:
    found = group("a", phase="Pending")
    again = msgspec.structs.replace(
        found, metadata=msgspec.structs.replace(found.metadata, uid="again")
    )
    memory = SessionMemory()
    memory.take(said(1, 1, waiting("a")))
    assert lined_up(pictured(again), memory) == []


def test_the_line_is_numbered_as_it_stands_now() -> None:
    def at(name: str, position: int) -> JobReason:
        return msgspec.structs.replace(waiting(name), position=position)

    cluster_index = pictured(*(group(name, phase="Pending") for name in "cde"))
    words = current_reasons(
        cluster_index, {f"ml/{w}": at(w, n) for w, n in (("c", 3), ("d", 2), ("e", 3))}
    )
    order = {"ml/c": 0, "ml/d": 1, "ml/e": 2}  # two that were before c have left since it was told
    assert pending_order(cluster_index, words, "default", order) == ["ml/c", "ml/d", "ml/e"]
    assert pending_order(cluster_index, words, "default", {}) == ["ml/d", "ml/c", "ml/e"]
    detail = describe_job(cluster_index, words, "ml/c", stale="", order=order)
    assert detail is not None
    assert detail.position == 1


def test_whose_reason_is_yet_to_be_said_stands_in_the_line_with_its_condition() -> None:
    said_first = group("a", phase="Pending")
    unsaid = group(
        "b", phase="Inqueue", conditions=[msgspec.structs.replace(HOLDS, message="no room")]
    )
    new = group("c", phase="Pending")
    cluster_index = pictured(said_first, unsaid, new)
    memory = SessionMemory()
    memory.take(said(1, 1, waiting("a"), waiting=2))
    found = waiting_list(
        cluster_index,
        memory.reasons(),
        "default",
        shares=SharesAndOrder(order={"ml/b": 0, "ml/a": 1}),
        limit=9,
        stale="",
    )
    assert [(row.position, row.group, row.stage, row.reason) for row in found.waiting] == [
        (1, "ml/b", "", "no room"),
        (2, "ml/a", "gang", "needs 4 GPUs"),
    ]
    detail = describe_job(cluster_index, memory.reasons(), "ml/b", stale="")
    assert detail is not None
    assert (detail.position, detail.explanation) == (2, None)
