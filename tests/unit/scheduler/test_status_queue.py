"""The status queue: binds do not wait for statuses, statuses are coalesced, no class of updates starves."""

import asyncio

import msgspec
import pytest

from tests.unit.scheduler.shell import Shell, pod_body
from tests.unit.scheduler.test_service import run_story
from vc.cluster import ServerError
from vc.messages.effects import RecordEvent
from vc.model.api.kinds import PODGROUPS, PODS
from vc.model.api.scheduling import PodGroupCondition, PodGroupStatus
from vc.scheduling.model.decisions import QueueAllocated, StatusChange
from vc.scheduling.pod_status import POD_CONDITION_SECONDS
from vc.scheduling.status_queue import (
    COMPLETED_REST_SECONDS,
    EVENTS_WAITING_MAX,
    StatusQueue,
    StatusUpdate,
    rest_seconds,
)

PATCH_SECONDS = 0.05
PENDING_STATUSES = 500


async def lone_group(shell: Shell, name: str) -> None:
    """A pod group without pods: it is enqueued, which costs a status and nothing else."""
    body = {"metadata": {"name": name}, "spec": {"minMember": 1, "queue": "default"}}
    await shell.create(PODGROUPS, body, namespace="default")


def enqueued_groups(shell: Shell) -> int:
    listed = shell.api.list(shell.api.registry.for_kind(PODGROUPS)).items
    return sum(b'"phase":"Inqueue"' in raw.replace(b" ", b"") for raw in listed)


# -- the shell -----------------------------------------------------------------------------------


def test_a_bind_passes_five_hundred_statuses_which_all_follow() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(2)
        shell.cluster.patch_seconds["podgroups"] = PATCH_SECONDS
        for number in range(PENDING_STATUSES):
            await lone_group(shell, f"lone-{number:03}")
        scheduler = shell.schedulers[0]
        statuses = scheduler._writers.statuses
        await shell.until(
            lambda: len(statuses) > PENDING_STATUSES - 50, "statuses wait in the queue"
        )
        await shell.gang("late", 4)
        await shell.until(lambda: shell.bound("late") == 4, "the late gang is bound", seconds=1)
        assert shell.cluster.writes["patch podgroups"] < PENDING_STATUSES / 2
        assert shell.phase("late") == "", "its own status waits in the queue as well"

        await shell.until(lambda: shell.phase("late") == "Running", "written", seconds=30)
        await shell.until(
            lambda: enqueued_groups(shell) == PENDING_STATUSES, "all enqueued", seconds=30
        )
        assert shell.cluster.writes["patch podgroups"] == PENDING_STATUSES + 1

    run_story(story)


def test_the_status_of_a_running_gang_is_written_while_others_are_enqueued_without_end() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(2)
        shell.cluster.patch_seconds["podgroups"] = PATCH_SECONDS
        number = 0

        async def crowd() -> None:
            nonlocal number
            while True:  # more than the status writers can write
                await lone_group(shell, f"lone-{number:05}")
                number += 1
                await shell.clock.sleep(PATCH_SECONDS / 16)

        task = asyncio.create_task(crowd())
        try:
            await shell.clock.sleep(2)
            await shell.gang("late", 4)
            await shell.until(lambda: shell.bound("late") == 4, "bound", seconds=1)
            await shell.until(lambda: shell.phase("late") == "Running", "written", seconds=1)
            assert len(shell.schedulers[0]._writers.statuses) > 100
        finally:
            task.cancel()

    run_story(story)


def test_what_was_decided_while_a_status_waited_goes_out_with_it() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(2)
        await lone_group(shell, "early")
        await shell.until(lambda: shell.phase("early") == "Inqueue", "enqueued")
        shell.cluster.patch_seconds["podgroups"] = 3.0
        before = shell.cluster.writes["patch podgroups"]
        for number in range(8):  # all status writers are busy, for longer than a counter rests
            await lone_group(shell, f"lone-{number}")
        await shell.clock.sleep(0.5)
        await shell.create(PODS, pod_body("early-0", group="early", cpu="1"), namespace="default")
        await shell.until(lambda: shell.bound("early") == 1, "bound", seconds=1)
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await shell.cluster.patch(
            PODS, {"status": status}, name="early-0", namespace="default", subresource="status"
        )
        await shell.until(lambda: shell.group("early").status.running == 1, "written", seconds=10)
        await shell.clock.sleep(1)
        assert shell.phase("early") == "Running"
        assert shell.cluster.writes["patch podgroups"] == before + 9

    run_story(story)


def test_a_group_that_is_gone_when_its_turn_comes_is_not_written_to() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(1)
        await shell.gang("short", 1)
        await shell.until(lambda: shell.phase("short") == "Running", "running")
        await shell.clock.sleep(2)
        before = shell.cluster.writes["patch podgroups"]
        await shell.cluster.patch(
            PODS,
            {"status": {"phase": "Succeeded"}},
            name="short-0",
            namespace="default",
            subresource="status",
        )
        await shell.clock.sleep(COMPLETED_REST_SECONDS / 2)
        await shell.cluster.delete(PODGROUPS, name="short", namespace="default")
        await shell.clock.sleep(5)
        assert shell.cluster.writes["patch podgroups"] == before

    run_story(story)


def test_a_group_that_stays_says_that_it_completed() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(1)
        await shell.gang("short", 1)
        await shell.until(lambda: shell.phase("short") == "Running", "running")
        status = {"status": {"phase": "Succeeded"}}
        await shell.cluster.patch(
            PODS, status, name="short-0", namespace="default", subresource="status"
        )
        await shell.until(lambda: shell.phase("short") == "Completed", "completed", seconds=2)
        assert shell.group("short").status.succeeded == 1

    run_story(story)


def test_no_pods_are_missed_before_the_group_was_seen_to_be_let_in() -> None:
    """Their creator waits for a status that waits in the queue longer than pods may take."""

    async def story(shell: Shell) -> None:
        await shell.nodes(1)
        shell.cluster.patch_seconds["podgroups"] = 20.0
        await lone_group(shell, "slow")
        await shell.until(lambda: shell.phase("slow") == "Inqueue", "enqueued", seconds=30)
        assert shell.group("slow").status.conditions == []
        shell.cluster.patch_seconds.clear()
        await shell.until(
            lambda: bool(shell.group("slow").status.conditions), "its pods are missed", seconds=8
        )

    run_story(story)


def test_pods_that_come_one_by_one_after_a_long_wait_are_not_missed() -> None:
    """A group that waited for long is enqueued, and a session falls between the first pod and the rest."""

    async def story(shell: Shell) -> None:
        await shell.nodes(1)
        body = {
            "metadata": {"name": "patient"},
            "spec": {"minMember": 3, "queue": "default", "minResources": {"cpu": "100"}},
        }
        await shell.create(PODGROUPS, body, namespace="default")
        await shell.until(lambda: shell.phase("patient") == "Pending", "it waits")
        await shell.clock.sleep(60)
        await shell.nodes(1, prefix="second")
        await shell.until(lambda: shell.phase("patient") == "Inqueue", "enqueued")
        for number in range(3):
            pod = pod_body(f"patient-{number}", group="patient", cpu="1")
            await shell.create(PODS, pod, namespace="default")
            await shell.clock.sleep(1)
        await shell.until(lambda: shell.phase("patient") == "Running", "runs", seconds=1)
        assert shell.cluster.writes["patch pods"] == 0, "no pod says that others are missing"

    run_story(story)


def test_a_condition_under_way_neither_holds_up_a_bind_nor_takes_it_back() -> None:
    """The write takes so long that a node becomes free meanwhile: it names the version it saw, and is refused."""

    async def story(shell: Shell) -> None:
        await shell.nodes(1, cpu="2")
        shell.cluster.patch_seconds["pods"] = 2.0
        await shell.gang("big", 1, cpu="4")
        background = shell.schedulers[0]._writers.statuses.background
        await shell.clock.sleep(POD_CONDITION_SECONDS + 0.5)
        assert len(background) == 0, "the write has begun"
        await shell.nodes(1, cpu="8", prefix="large")
        await shell.until(lambda: shell.bound("big") == 1, "bound", seconds=0.5)
        assert shell.cluster.writes["patch pods"] == 0, "it has not ended"
        await shell.clock.sleep(20)
        assert shell.cluster.writes["patch pods"] == 1, "and it is not tried again"
        (bound,) = shell.pods()
        assert [(c.type, c.status) for c in bound.status.conditions] == [("PodScheduled", "True")]

    run_story(story)


def test_a_pod_that_was_bound_meanwhile_gets_no_waiting_condition() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(1, cpu="2")
        shell.cluster.patch_seconds["podgroups"] = 2.0
        await shell.gang("big", 1, cpu="4")
        await shell.clock.sleep(1)
        await shell.nodes(1, cpu="8", prefix="large")
        await shell.until(lambda: shell.bound("big") == 1, "bound", seconds=1)
        await shell.until(lambda: shell.phase("big") == "Running", "written", seconds=10)
        assert shell.cluster.writes["patch pods"] == 0

    run_story(story)


def test_a_status_of_a_failed_bind_is_never_written() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(2)
        shell.cluster.refusals["train-1"] = [ServerError("busy") for _ in range(8)]
        await shell.gang("train", 3, cpu="20")
        seen: set[tuple[str, int]] = set()

        def whole() -> bool:
            seen.add((shell.phase("train"), shell.bound("train")))
            return shell.phase("train") == "Running"

        await shell.until(whole, "phase Running", seconds=60)
        assert {bound for phase, bound in seen if phase == "Running"} == {3}

    run_story(story)


# -- the queue ------------------------------------------------------------------------------------


def change(phase: str = "Inqueue", **fields: object) -> StatusChange:
    plain = StatusChange(
        namespace="ns", name="g", uid="u", status=PodGroupStatus(phase=phase), seen_version="7"
    )
    return msgspec.structs.replace(plain, **fields)


def refused(message: str) -> StatusChange:
    condition = PodGroupCondition(type="Unschedulable", status="True", message=message)
    return change(
        status=PodGroupStatus(phase="Inqueue", conditions=[condition]),
        refusal=message,
    )


def drain(
    queue: StatusQueue, *, now: float = 0.0, awaited_first: bool = True
) -> list[StatusUpdate]:
    found: list[StatusUpdate] = []
    while (taken := queue.take(now=now, awaited_first=awaited_first)) is not None:
        found.append(taken[1])
        queue.done(taken[0])
    return found


def test_the_newest_status_update_replaces_the_older_one() -> None:
    queue = StatusQueue()
    queue.put("g", change("Inqueue"), due=0.0)
    queue.put("h", change("Pending"), due=0.0)
    queue.put("g", change("Running"), due=0.0)
    phases = [w.status.phase for w in drain(queue) if isinstance(w, StatusChange)]
    assert phases == ["Running", "Pending"]
    assert len(queue) == 0


def test_a_merged_status_keeps_the_version_and_the_conditions_of_the_one_it_replaces() -> None:
    queue = StatusQueue()
    queue.put("g", change("Inqueue", changes_conditions=True, seen_version="7"), due=0.0)
    queue.put("g", change("Running", changes_conditions=False, seen_version=""), due=0.0)
    (update,) = drain(queue)
    assert isinstance(update, StatusChange)
    assert (update.changes_conditions, update.seen_version) == (True, "7")


def test_merged_updates_of_two_lease_epochs_are_written_under_the_older_epoch_or_not() -> None:
    queue = StatusQueue()
    queue.put("g", change("Inqueue"), due=0.0, epoch=1)
    queue.put("g", change("Running"), due=0.0, epoch=3)
    queue.put("h", change("Running"), due=0.0, epoch=3)
    taken = [queue.take(now=0.0, awaited_first=True) for _ in range(2)]
    assert [(each.key, each.epoch) for each in taken if each is not None] == [("g", 1), ("h", 3)]


def test_a_refusal_is_written_as_long_as_it_is_true() -> None:
    queue = StatusQueue()
    queue.put("g", refused("no room"), due=0.0)
    queue.put("g", msgspec.structs.replace(refused("no room"), refusal=""), due=0.0)
    queue.put("h", refused("no room"), due=0.0)
    queue.put("h", change("Running"), due=0.0)
    held, over = drain(queue)
    assert isinstance(held, StatusChange)
    assert isinstance(over, StatusChange)
    assert (held.refusal, over.refusal) == ("no room", "")


def test_that_a_gang_became_whole_is_written_as_long_as_it_is() -> None:
    whole = PodGroupStatus(
        phase="Running", conditions=[PodGroupCondition(type="Scheduled", status="True")]
    )
    queue = StatusQueue()
    queue.put("g", change(status=whole, scheduled=4), due=0.0)
    queue.put("g", change(status=msgspec.structs.replace(whole, running=4)), due=0.0)
    queue.put("h", change(status=whole, scheduled=4), due=0.0)
    queue.put("h", change("Pending"), due=0.0)
    assert [update.scheduled for update in drain(queue) if isinstance(update, StatusChange)] == [
        4,
        0,
    ]


def test_a_group_that_is_created_again_inherits_no_status_update() -> None:
    queue = StatusQueue()
    queue.put("g", refused("no room"), due=0.0)
    queue.put("g", change("Inqueue", uid="other", seen_version=""), due=0.0)
    (update,) = drain(queue)
    assert isinstance(update, StatusChange)
    assert (update.seen_version, update.refusal) == ("", "")


def test_one_word_at_a_time_about_an_object() -> None:
    queue = StatusQueue()
    queue.put("g", change("Inqueue"), due=0.0)
    assert queue.take(now=0.0, awaited_first=True) is not None
    queue.put("g", change("Running", seen_version=""), due=0.0)
    assert queue.take(now=0.0, awaited_first=True) is None, "the older one is under way"
    queue.written("g", "8")
    queue.done("g")
    (update,) = drain(queue)
    assert isinstance(update, StatusChange)
    assert update.seen_version == "8", "it holds for what the older one wrote"


def test_a_delayed_status_update_is_delayed_once_and_written_in_time() -> None:
    queue = StatusQueue()
    done = change("Completed")
    assert rest_seconds(done) == COMPLETED_REST_SECONDS
    assert rest_seconds(change("Running")) == 0.0
    queue.put("g", done, due=1.0)
    queue.put("g", done, due=2.0)
    assert drain(queue, now=0.9) == []
    assert queue.next_due() == 1.0
    assert drain(queue, now=1.0) == [done]


@pytest.mark.parametrize("awaited_first", [True, False])
def test_each_class_of_status_updates_has_a_writer_that_prefers_it(awaited_first: bool) -> None:
    queue = StatusQueue()
    queue.put("queue", QueueAllocated(queue="q", allocated={}, gone=()), due=0.0)
    queue.put("g", change("Inqueue"), due=0.0, awaited=True)
    first = drain(queue, awaited_first=awaited_first)[0]
    assert isinstance(first, StatusChange) == awaited_first


def test_events_have_a_bound_and_statuses_pass_it() -> None:
    queue = StatusQueue()
    events = [
        RecordEvent(
            kind=PODS, namespace="ns", name="p", uid="p", type="Warning", reason="R", message=str(n)
        )
        for n in range(EVENTS_WAITING_MAX + 1)
    ]
    taken = [queue.put(f"event {n}", event, due=0.0) for n, event in enumerate(events)]
    assert taken == [True] * EVENTS_WAITING_MAX + [False]
    assert queue.put("g", change(), due=0.0)
    assert len(drain(queue)) == EVENTS_WAITING_MAX + 1
    assert queue.put("event", events[0], due=0.0), "the queue has capacity again"


def test_a_word_can_be_taken_back() -> None:
    queue = StatusQueue()
    queue.put("g", change("Running"), due=0.0, awaited=True)
    assert queue.withdraw("g") == change("Running")
    assert queue.withdraw("g") is None
    assert drain(queue) == []
