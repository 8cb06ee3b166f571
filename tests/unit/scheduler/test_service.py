"""The scheduler's shell: when it opens sessions, what it writes, and how it handles failures."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest
from prometheus_client import generate_latest

from tests.unit.scheduler.shell import NAMESPACE, Shell, pod_body
from vc.clock import run_virtual
from vc.cluster import ConflictError, ForbiddenError, ServerError
from vc.messages.sessions import Stage, entry_of
from vc.model.api.keys import GANG_RELEASED, QUEUE_ALLOCATION_GATE
from vc.model.api.kinds import NODES, PODGROUPS, PODS
from vc.runtime.leading.election import LEASE_SECONDS
from vc.scheduler.config import Config
from vc.scheduler.service import build
from vc.scheduling.actions.release import GANG_RELEASE_SECONDS
from vc.scheduling.record import reason_log

Story = Callable[[Shell], Coroutine[None, None, None]]


def run_story(story: Story, *, schedulers: int = 1) -> None:
    """Run a story to its end in virtual time."""

    async def main() -> None:
        async with Shell(schedulers=schedulers) as shell:
            await story(shell)
            for name, task in shell.tasks.items():
                assert not task.done(), f"{name} ended: {task}"

    run_virtual(main())


def test_a_gang_is_bound_and_its_status_is_written() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(2)
        await shell.gang("train", 4, cpu="20")
        await shell.until(lambda: shell.bound("train") == 4, "all bound")
        await shell.until(lambda: shell.phase("train") == "Running", "phase Running")
        assert [c.type for c in shell.group("train").status.conditions] == ["Scheduled"]
        said = {"cpu": "80", "pods": "4"}
        await shell.until(lambda: shell.queue_status().status.allocated == said, "queue status")

        records = await shell.sessions()
        assert sum(record.bound_pods for record in records) == 4
        kept = await shell.snapshot.session(records[-1].session_id)
        assert entry_of(kept or b"").record == records[-1]

    run_story(story)


def test_volcanos_own_gate_is_lifted_and_the_pod_bound() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(1)
        spec = {"minMember": 1, "queue": "default"}
        await shell.create(
            PODGROUPS, {"metadata": {"name": "g"}, "spec": spec}, namespace=NAMESPACE
        )
        body = pod_body("g-0", group="g", cpu="1")
        body["spec"]["schedulingGates"] = [{"name": QUEUE_ALLOCATION_GATE}]
        await shell.create(PODS, body, namespace=NAMESPACE)
        await shell.until(lambda: shell.bound("g") == 1, "bound")
        assert [pod.spec.scheduling_gates for pod in shell.pods()] == [[]]

    run_story(story)


def test_a_gang_that_waits_says_why_on_the_group_on_every_pod_and_in_an_event() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(8)
        await shell.gang("big", 9, cpu="40")
        await shell.until(lambda: bool(shell.group("big").status.conditions), "a condition")
        await shell.clock.sleep(2)
        condition = shell.group("big").status.conditions[0]
        assert (condition.type, condition.status) == ("Unschedulable", "True")
        assert condition.message.startswith("can never start with these nodes: ")
        assert "; 8 of the 9 pods of cpu 40" in condition.message
        reported = [
            p for p in shell.pods() if any(c.reason == "Unschedulable" for c in p.status.conditions)
        ]
        assert [p.metadata.name for p in reported] == [f"big-{number}" for number in range(9)]
        assert {p.status.conditions[0].message for p in reported} == {condition.message}
        reasons = [job.reason for record in await shell.sessions() for job in record.reasons]
        assert reasons[-1].stage is Stage.GANG
        assert shell.bound("big") == 0

        await shell.nodes(1, prefix="ninth")
        await shell.until(lambda: shell.bound("big") == 9, "all bound")
        resolved = [group for record in await shell.sessions() for group in record.resolved]
        assert "default/big" in resolved

    run_story(story)


def test_a_job_costs_its_binds_and_a_few_writes_more() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(4)
        await shell.gang("train", 40, cpu="2")
        await shell.until(lambda: shell.phase("train") == "Running", "phase Running")
        await shell.clock.sleep(30)
        assert shell.cluster.writes["bind"] == 40
        assert shell.cluster.writes["patch podgroups"] <= 3
        assert shell.cluster.writes["patch pods"] <= 1
        assert shell.cluster.writes["patch queues"] <= 2

    run_story(story)


def test_nothing_happens_when_nothing_can_change() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(2)
        await shell.gang("train", 4)
        await shell.gang("never", 2, cpu="999")
        await shell.until(lambda: shell.phase("train") == "Running", "phase Running")
        await shell.clock.sleep(20)
        scheduler = shell.schedulers[0]
        before = scheduler._sessions
        await shell.clock.sleep(300)
        assert scheduler._sessions - before <= 1
        await shell.gang("late", 1)
        await shell.until(lambda: shell.bound("late") == 1, "bound", seconds=1)

    run_story(story)


def test_reasons_beyond_the_bound_of_a_record_follow_without_any_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reason_log, "REASONS_RECORDED_MAX", 2)

    async def story() -> None:
        async with Shell(schedulers=0) as shell:
            await shell.nodes(1)
            for number in range(5):
                await shell.gang(f"w{number}", 2, cpu="40")
            shell.start("scheduler", build(shell._context("scheduler", 0)))
            await shell.clock.sleep(30)
            reported = [[job.group for job in record.reasons] for record in await shell.sessions()]
            assert {name for names in reported for name in names} == {
                f"default/w{n}" for n in range(5)
            }
            assert max(map(len, reported)) == 2

    run_virtual(story())


def test_a_bind_that_succeeded_without_saying_so_is_neither_lost_nor_doubled() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(2)
        shell.cluster.silent["train-1"] = ServerError("the connection was cut")
        await shell.gang("train", 3, cpu="20")
        await shell.until(lambda: shell.phase("train") == "Running", "phase Running")
        assert shell.bound("train") == 3
        assert shell.schedulers[0]._cache.overlays.assumed == {}

    run_story(story)


def test_a_pod_that_another_scheduler_bound_counts_on_its_node() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(2, cpu="10")
        await shell.gang("train", 2, cpu="6", minimum=2)
        pod = next(p for p in shell.pods() if p.metadata.name == "train-0")
        await shell.cluster.api.bind(
            namespace="default",
            name="train-0",
            binding={
                "metadata": {"name": "train-0", "uid": pod.metadata.uid},
                "target": {"kind": "Node", "name": "node-1"},
            },
        )
        await shell.until(lambda: shell.phase("train") == "Running", "phase Running")
        where = {p.metadata.name: p.spec.node_name for p in shell.pods()}
        assert where == {"train-0": "node-1", "train-1": "node-0"}

    run_story(story)


def test_binds_that_fail_for_a_while_are_tried_again_until_the_gang_is_whole() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(2)
        shell.cluster.refusals["train-1"] = [ServerError("busy") for _ in range(8)]
        await shell.gang("train", 3, cpu="20")
        await shell.until(lambda: shell.phase("train") == "Running", "phase Running", seconds=60)
        assert shell.bound("train") == 3

    run_story(story)


def test_a_conflict_is_resolved_by_a_live_read() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(2)
        shell.cluster.refusals["train-0"] = [ConflictError("not now")]
        await shell.gang("train", 2, cpu="20")
        await shell.until(lambda: shell.phase("train") == "Running", "phase Running")
        assert shell.bound("train") == 2

    run_story(story)


@pytest.mark.parametrize("runs", [False, True], ids=["it waits to start", "it runs"])
def test_a_gang_that_cannot_be_completed_gives_its_nodes_back_in_time(*, runs: bool) -> None:
    """One bind is refused for ever; what becomes of the other pod does not matter."""

    async def story(shell: Shell) -> None:
        await shell.nodes(1)
        shell.cluster.refusals["half-1"] = [ForbiddenError("never") for _ in range(500)]
        await shell.gang("half", 2, cpu="20")
        await shell.until(lambda: shell.bound("half") == 1, "half bound")
        assert shell.phase("half") != "Running"
        if runs:
            running = {"status": {"phase": "Running"}}
            await shell.cluster.patch(
                PODS, running, name="half-0", namespace=NAMESPACE, subresource="status"
            )
            await shell.until(lambda: shell.phase("half") == "Unknown", "seen to run in part")
        await shell.until(
            lambda: any(p.metadata.deletion_timestamp for p in shell.pods()),
            "evicted",
            seconds=GANG_RELEASE_SECONDS + 5,
        )
        evicted = [p for p in shell.pods() if p.metadata.deletion_timestamp]
        assert [p.metadata.name for p in evicted] == ["half-0"]
        assert evicted[0].metadata.annotations[GANG_RELEASED] == "true"

    run_story(story)


def test_a_pod_that_is_deleted_during_its_bind_leaves_nothing_behind() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(1, cpu="10")
        shell.cluster.refusals["train-0"] = [ServerError("slow")] * 3
        await shell.gang("train", 1, cpu="8")
        await shell.until(lambda: shell.cluster.writes["bind"] >= 1, "a bind under way")
        await shell.cluster.delete(PODS, name="train-0", namespace="default", grace_seconds=0)
        await shell.gang("next", 1, cpu="8")
        await shell.until(lambda: shell.bound("next") == 1, "the nodes are free")
        assert shell.schedulers[0]._cache.overlays.assumed == {}

    run_story(story)


def test_no_session_opens_while_the_watcher_is_silent() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(1)
        await shell.gang("train", 1)
        await shell.until(lambda: shell.bound("train") == 1, "bound")
        await shell.stop("watcher")
        await shell.clock.sleep(10)
        scheduler = shell.schedulers[0]
        assert "old" in scheduler.unready()
        before = scheduler._sessions
        scheduler._wanted.set()
        await shell.clock.sleep(60)
        assert scheduler._sessions == before

    run_story(story)


def test_a_standby_takes_over_and_decides_only_on_a_complete_view() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(2)
        await shell.gang("first", 2)
        await shell.until(lambda: shell.phase("first") == "Running", "bound by the leader")
        leading = [s._lead.leading for s in shell.schedulers]
        assert sum(leading) == 1
        number = leading.index(True)
        await shell.stop(f"scheduler-{number}")
        await shell.gang("second", 2)
        await shell.until(
            lambda: shell.phase("second") == "Running", "taken over", seconds=3 * LEASE_SECONDS + 10
        )
        assert shell.schedulers[1 - number]._lead.epoch == 2

    run_story(story, schedulers=2)


def test_wiped_topics_are_rebuilt_and_scheduling_goes_on() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(1, cpu="10")
        await shell.gang("train", 1, cpu="8")
        await shell.until(lambda: shell.phase("train") == "Running", "bound")
        shell.bus.delete_topics()
        await shell.gang("late", 1, cpu="1")
        await shell.gang("over", 1, cpu="8")
        await shell.until(lambda: shell.bound("late") == 1, "bound after the wipe", seconds=60)
        await shell.clock.sleep(10)
        assert shell.bound("over") == 0

    run_story(story)


def test_a_cache_that_is_away_stops_nothing() -> None:
    async def story(shell: Shell) -> None:
        shell.snapshot.stop()
        await shell.nodes(1)
        await shell.gang("train", 2)
        await shell.until(lambda: shell.phase("train") == "Running", "bound")

    run_story(story)


def test_a_bad_object_is_left_out_and_the_others_go_on() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(1)
        await shell.create(NODES, {"metadata": {"name": "empty"}})
        await shell.gang("train", 2)
        await shell.until(lambda: shell.bound("train") == 2, "bound")
        assert {p.spec.node_name for p in shell.pods()} == {"node-0"}

    run_story(story)


def test_a_pod_without_a_pod_group_is_left_alone() -> None:
    async def story(shell: Shell) -> None:
        await shell.nodes(1)
        lonely = pod_body("lonely", group="none", cpu="1")
        lonely["metadata"]["annotations"] = {}
        await shell.create(PODS, lonely, namespace="default")
        await shell.gang("train", 1)
        await shell.until(lambda: shell.bound("train") == 1, "bound")
        assert shell.bound("lonely") == 0

    run_story(story)


def test_sessions_run_in_a_worker_thread_on_a_real_loop() -> None:
    async def main() -> None:
        async with Shell(config=Config(threads=True)) as shell:
            await shell.nodes(2)
            await shell.gang("train", 4)
            await shell.until(lambda: shell.phase("train") == "Running", "bound", seconds=20)
            text = generate_latest(shell.schedulers[0]._context.metrics).decode()
            assert 'volcano_schedule_attempts_total{result="scheduled"} 4.0' in text
            assert "volcano_e2e_scheduling_latency_milliseconds_count" in text

    asyncio.run(main())


def test_the_environment_is_read_into_the_configuration() -> None:
    given = Config.from_env(
        {
            "SCHEDULER_NAMES": "volcano, mine",
            "SCHEDULER_THREADS": "false",
            "SCHEDULER_DEBOUNCE_SECONDS": "0.1",
        }
    )
    assert given == Config(scheduler_names=("volcano", "mine"), threads=False, debounce_seconds=0.1)
    assert Config.from_env({}) == Config()
