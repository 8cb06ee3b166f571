"""Log lines of decisions: one per job, with the job, its trace and the session."""

import logging
from collections.abc import Callable

import pytest

from tests.builders.contexts import memory_context
from tests.unit.scheduler.shell import Shell
from vc.clock import run_virtual
from vc.messages.effects import BindPod
from vc.messages.trace import trace_id
from vc.model.api.kinds import JOBS
from vc.model.api.meta import ObjectMeta, OwnerReference
from vc.model.api.scheduling import PodGroup
from vc.runtime.applying.effects import Outcome, OutcomeStatus
from vc.scheduler.session_observer import Observer
from vc.scheduler.spans import SessionTimes
from vc.scheduling.effects import GroupWork
from vc.scheduling.model.decisions import Eviction, GangBind, PodRef, Takeover
from vc.scheduling.model.nominations import ReservedNode

SESSION = SessionTimes(session_id="7-3", opened=1.0, decided=2.0, epoch=1)
KEY = "ml/train"
OWNER = OwnerReference(
    api_version=JOBS.api_version, kind=JOBS.kind, name="train", uid="u-1", controller=True
)
GROUP = PodGroup(metadata=ObjectMeta(name="train", namespace="ml", owner_references=[OWNER]))
BIND = BindPod(namespace="ml", name="train-0", uid="p", node="n")
GANG = GangBind(group=KEY, uid="g", binds=(BIND,))
FAILED = [Outcome(effect=BIND, status=OutcomeStatus.REFUSED, error="taken")]
VICTIM = PodRef(namespace="ml", name="v", uid="v")
EVICTION = Eviction(group=KEY, uid="g", pods=(VICTIM,))
WORK = GroupWork(group=KEY, uid="g", gang=GANG, eviction=EVICTION, enqueues=True)

SAID: dict[str, tuple[Callable[[Observer], None], str]] = {
    "enqueued": (lambda observer: observer.enqueued(WORK, SESSION), "enqueued"),
    "bound": (lambda observer: observer.bound(WORK, SESSION, began=1.5), "gang bound pods=1"),
    "binds that failed": (
        lambda observer: observer.bind_failed(GANG, FAILED, SESSION),
        "binds failed error=taken failed=1 pods=1",
    ),
    "released": (lambda observer: observer.releasing(KEY, SESSION), "releasing half-bound gang"),
    "members that stay": (
        lambda observer: observer.members_stay(KEY, FAILED, SESSION),
        "release refused members=1 error=taken",
    ),
    "victims that are kept for a job that left": (
        lambda observer: observer.preemption_cancelled(KEY, SESSION),
        "preemption cancelled: preemptor deleted",
    ),
    "evicts": (lambda observer: observer.evicting(WORK, SESSION), "evicting victims=1"),
    "victims that stay": (
        lambda observer: observer.victims_stay(EVICTION, FAILED, SESSION),
        "evictions refused error=taken refused=1 victims=1",
    ),
    "takes over": (
        lambda observer: observer.reservations_taken_over(KEY, ["ml/a", "ml/b"], SESSION),
        "reservations taken over from=ml/a,ml/b",
    ),
    "claims without a place": (
        lambda observer: observer.claims_refused(KEY, [("c1", "gone"), ("c2", "gone")], SESSION),
        "volume claims refused claims=2 first=c1 error=gone",
    ),
}


@pytest.mark.parametrize("what", SAID)
def test_a_decision_is_one_line_that_names_job_trace_and_session(
    what: str, caplog: pytest.LogCaptureFixture
) -> None:
    observe, text = SAID[what]
    caplog.set_level(logging.INFO, logger="pyroclast")
    observe(Observer(memory_context("scheduler"), group_of=lambda _: GROUP))
    (record,) = caplog.records
    fields = (record.__dict__["job"], record.__dict__["trace_id"], record.__dict__["session_id"])
    assert record.getMessage() == text
    assert fields == (KEY, trace_id("u-1"), "7-3")


def test_nothing_is_said_of_what_did_not_happen(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="pyroclast")
    observer = Observer(memory_context("scheduler"), group_of=lambda _: GROUP)
    quiet = GroupWork(group=KEY, uid="g")
    observer.enqueued(quiet, SESSION)
    observer.bound(quiet, SESSION, began=1.0)
    observer.evicting(quiet, SESSION)
    observer.victims_stay(EVICTION, [], SESSION)
    observer.claims_refused(KEY, [], SESSION)
    assert caplog.records == []


def test_every_line_about_a_group_names_the_session_and_no_pod_has_its_own(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        async with Shell() as shell:
            await shell.nodes(2)
            await shell.gang("train", 4)
            await shell.until(lambda: shell.bound("train") == 4, "all bound")
            await shell.gang("huge", 2, cpu="9999")
            await shell.clock.sleep(5)

    caplog.set_level(logging.INFO, logger="pyroclast")
    run_virtual(story())
    about = [r for r in caplog.records if "group" in r.__dict__ or "job" in r.__dict__]
    assert {"gang bound pods=4"} <= {record.getMessage() for record in about}
    assert all(record.__dict__.get("session_id") for record in about)
    assert not [r for r in caplog.records if "train-0" in r.getMessage()]


def test_a_takeover_of_a_reservation_nominates_pods_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No pod is bound or evicted for it: the victims are terminating already."""

    async def story() -> None:
        async with Shell() as shell:
            await shell.nodes(1, cpu="1")
            await shell.gang("high", 1, cpu="2")
            await shell.until(lambda: bool(shell.pods()), "its pod")
            (pod,) = shell.pods()
            uid = pod.metadata.uid
            place = ReservedNode(
                namespace="default", name="high-0", uid=uid, task="", shape=b"", node="node-0",
                freed=True,
            )  # fmt: skip
            takeover = Takeover(
                group="default/high", uid="", lost=("default/low",), reserved_nodes=(place,)
            )
            work = GroupWork(group="default/high", uid="", takeover=takeover)
            await shell.schedulers[0]._writers.hand_over(work, SESSION)
            await shell.until(
                lambda: nominated(shell) == ["node-0"], "the pod says where it will be"
            )

    caplog.set_level(logging.INFO, logger="pyroclast")
    run_virtual(story())
    assert "reservations taken over from=default/low" in [r.getMessage() for r in caplog.records]


def nominated(shell: Shell) -> list[str]:
    return [pod.status.nominated_node_name for pod in shell.pods()]
