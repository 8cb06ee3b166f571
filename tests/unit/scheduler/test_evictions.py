"""Evictions: how the shell handles the API server's answers."""

from dataclasses import dataclass, field

import msgspec
import pytest

from tests.unit.scheduler.shell import NAMESPACE, Shell
from vc.clock import run_virtual
from vc.cluster import ClusterError, ConflictError, ForbiddenError, NotFoundError, ServerError
from vc.cluster.errors import TooManyRequestsError
from vc.model.api.kinds import EVENTS, PODGROUPS, PODS, PRIORITYCLASSES, Kind
from vc.model.api.pod import Pod
from vc.runtime.applying.effects import ATTEMPTS_MAX
from vc.scheduling.cache.overlays.evictions import EXEMPT_SECONDS
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.conf.model import Conf
from vc.scheduling.model.decisions import Decisions

BUSY = TooManyRequestsError("the server has received too many requests")
BUDGET = TooManyRequestsError(
    "Cannot evict pod as it would violate the budget",
    retry_after_seconds=10,
    details={"causes": [{"reason": "DisruptionBudget"}]},
)


@dataclass(frozen=True)
class Case:
    """The youngest job is asked first; these are the answers to its eviction."""

    id: str
    answers: list[ClusterError] = field(default_factory=list)
    gone: bool = False
    """The pod was deleted by another client at that moment."""
    victim: str = "young-0"
    events: tuple[str, ...] = ("young-0",)


CASES = [
    Case("it is evicted"),
    Case("it is gone already", [NotFoundError("no such pod")], gone=True),
    Case("another pod has its name", [ConflictError("the uid differs")], gone=True),
    Case("the server is busy for a moment", [BUSY, BUSY]),
    Case("a budget keeps it", [BUDGET], victim="old-0", events=("old-0",)),
    Case(
        "the server fails", [ServerError("etcd")] * ATTEMPTS_MAX, victim="old-0", events=("old-0",)
    ),
    Case("the server fails once", [ServerError("etcd")]),
]


async def full_cluster(shell: Shell) -> None:
    for name, value in (("low", 1), ("high", 100)):
        await shell.create(PRIORITYCLASSES, {"metadata": {"name": name}, "value": value})
    await shell.nodes(1, cpu="8")
    await shell.gang("old", 1, cpu="4", priority="low")
    await shell.until(lambda: shell.bound("old") == 1, "the old job")
    await shell.clock.sleep(2)
    await shell.gang("young", 1, cpu="4", priority="low")
    await shell.until(lambda: shell.bound("young") == 1, "the young job")


def named(shell: Shell, name: str) -> Pod | None:
    return next((pod for pod in shell.pods() if pod.metadata.name == name), None)


async def end(shell: Shell, name: str) -> None:
    """The pod's node is done with it."""
    await shell.cluster.delete(PODS, name=name, namespace=NAMESPACE, grace_seconds=0)


def terminating(shell: Shell, name: str) -> bool:
    pod = named(shell, name)
    return pod is not None and bool(pod.metadata.deletion_timestamp)


async def events(shell: Shell) -> list[str]:
    listed = await shell.cluster.list(EVENTS, namespace=NAMESPACE)
    found = [msgspec.json.decode(raw) for raw in listed.items]
    return [event["involvedObject"]["name"] for event in found if event["reason"] == "Evict"]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_the_preemptor_is_bound_whatever_the_answer_to_the_eviction(case: Case) -> None:
    async def story() -> None:
        async with Shell() as shell:
            await full_cluster(shell)
            shell.cluster.kept["young-0"] = list(case.answers)
            shell.cluster.gone = {"young-0": None} if case.gone else {}
            await shell.gang("urgent", 1, cpu="4", priority="high")
            if not case.gone:
                await shell.until(
                    lambda: terminating(shell, case.victim), f"{case.victim} leaves", seconds=60
                )
                nominated = named(shell, "urgent-0")
                assert nominated is not None
                assert nominated.status.nominated_node_name == "node-0"
                await end(shell, case.victim)
            await shell.until(lambda: shell.bound("urgent") == 1, "urgent runs")
            other = "young-0" if case.victim == "old-0" else "old-0"
            assert named(shell, other) is not None
            assert not terminating(shell, other), "one was enough"
            assert not any(task.done() for task in shell.tasks.values())
            await shell.clock.sleep(2)
            assert await events(shell) == list(case.events)

    run_virtual(story())


def test_releasing_is_tried_again_after_a_budget_refused_it() -> None:
    async def story() -> None:
        async with Shell() as shell:
            await shell.nodes(1)
            shell.cluster.refusals["half-1"] = [ForbiddenError("never") for _ in range(9000)]
            shell.cluster.kept["half-0"] = [BUDGET, BUDGET]
            await shell.gang("half", 2, cpu="20")
            await shell.until(
                lambda: shell.cluster.writes["evict"] == 1, "an eviction", seconds=100
            )
            for name in ("a", "b", "c"):  # sessions, each of which would release it
                await shell.gang(name, 1, cpu="1")
                await shell.until(lambda n=name: shell.bound(n) == 1, name)  # type: ignore[misc]
            await shell.clock.sleep(EXEMPT_SECONDS / 2)
            assert shell.cluster.writes["evict"] == 1
            await shell.until(
                lambda: terminating(shell, "half-0"), "released", seconds=2 * EXEMPT_SECONDS + 5
            )
            assert shell.cluster.writes["evict"] == 3

    run_virtual(story())


async def leave_for_good(shell: Shell, name: str) -> None:
    """Somebody deletes a job of one pod."""
    await shell.cluster.delete(PODS, name=f"{name}-0", namespace=NAMESPACE, grace_seconds=0)
    await shell.cluster.delete(PODGROUPS, name=name, namespace=NAMESPACE)


async def no_victim_terminates(shell: Shell) -> None:
    await shell.clock.sleep(5)
    assert shell.cluster.writes["evict"] == 0
    assert not any(terminating(shell, name) for name in ("young-0", "old-0"))
    assert await events(shell) == []


@pytest.mark.parametrize("kinds", [(PODS,), (PODGROUPS,), (PODS, PODGROUPS)])
def test_no_pod_is_evicted_for_a_job_deleted_during_the_session(
    kinds: tuple[Kind, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with Shell() as shell:
            await full_cluster(shell)
            run_cycle = shell.schedulers[0]._run_cycle
            left: list[Decisions] = []

            async def meanwhile(snapshot: Snapshot, conf: Conf, now: float) -> Decisions:
                decisions = await run_cycle(snapshot, conf, now)
                if decisions.evictions and not left:
                    left.append(decisions)
                    for kind in kinds:
                        name = "urgent-0" if kind is PODS else "urgent"
                        await shell.cluster.delete(
                            kind, name=name, namespace=NAMESPACE, grace_seconds=0
                        )
                    await shell.clock.sleep(1)
                return decisions

            monkeypatch.setattr(shell.schedulers[0], "_run_cycle", meanwhile)
            await shell.gang("urgent", 1, cpu="4", priority="high")
            await shell.until(lambda: bool(left), "a session that evicts for it")
            await no_victim_terminates(shell)

    run_virtual(story())


def test_no_pod_is_evicted_for_a_job_deleted_before_its_nomination() -> None:
    async def story() -> None:
        async with Shell() as shell:
            await full_cluster(shell)
            shell.cluster.patch_seconds["pods"] = 2.0
            await shell.gang("urgent", 1, cpu="4", priority="high")
            await shell.clock.sleep(1)
            await leave_for_good(shell, "urgent")
            await no_victim_terminates(shell)
            shell.cluster.patch_seconds.clear()
            await shell.gang("later", 1, cpu="4", priority="high")
            await shell.until(lambda: terminating(shell, "young-0"), "it leaves for another")

    run_virtual(story())
