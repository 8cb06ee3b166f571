"""How conditions and events of waiting pods are written: patches, events, order and rate, settings."""

import msgspec
import pytest

from tests.unit.scheduling.objects import EPOCH, group, pod
from vc.messages.effects import BindPod, RecordEvent
from vc.model.api.kinds import JOBS, PODGROUPS, PODS
from vc.model.api.pod import Pod, PodCondition
from vc.scheduler.config import Config, PodEvents
from vc.scheduling.model.decisions import PodRef
from vc.scheduling.pod_status import background_queue
from vc.scheduling.pod_status.background_queue import (
    BURST,
    WRITES_PER_SECOND,
    BackgroundQueue,
    BackgroundWrite,
    PodEvent,
)
from vc.scheduling.pod_status.effects import (
    assigned,
    condition_patch,
    failed_scheduling,
    gang_scheduled,
    job_waits,
    waiting_message,
)

# -- effects -------------------------------------------------------------------------------------


def with_conditions(*conditions: PodCondition) -> Pod:
    plain = pod("p", group="g", created=EPOCH)
    return msgspec.structs.replace(
        plain, status=msgspec.structs.replace(plain.status, conditions=list(conditions))
    )


def test_a_patch_keeps_the_conditions_of_others_and_the_time_of_ours() -> None:
    other = PodCondition(type="Ready", status="False")
    ours = PodCondition(
        type="PodScheduled",
        status="False",
        reason="Unschedulable",
        message="no room",
        last_transition_time="2027-01-15T08:00:00Z",
    )
    effect = condition_patch(with_conditions(ours, other), "no queue", now=EPOCH + 60)
    assert effect is not None
    kept, changed = effect.patch["status"]["conditions"]
    assert kept["type"] == "Ready"
    assert (changed["message"], changed["lastTransitionTime"]) == (
        "no queue", "2027-01-15T08:00:00Z",
    )  # fmt: skip
    assert condition_patch(with_conditions(ours), "no room", now=EPOCH) is None


def scheduled(status: str, reason: str) -> PodCondition:
    return PodCondition(type="PodScheduled", status=status, reason=reason, message="no room")


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        pytest.param([], "", id="no condition"),
        pytest.param([scheduled("False", "Unschedulable")], "no room", id="our condition"),
        pytest.param([scheduled("False", "SchedulingGated")], "", id="the gate of the API server"),
        pytest.param([scheduled("True", "Unschedulable")], "", id="a pod that has a node"),
        pytest.param(
            [
                PodCondition(type="Ready", status="False", reason="Unschedulable", message="else"),
                scheduled("False", "Unschedulable"),
            ],
            "no room",
            id="behind the condition of others",
        ),
    ],
)
def test_the_message_of_a_waiting_pod_is_read_from_our_condition_alone(
    conditions: list[PodCondition], message: str
) -> None:
    assert waiting_message(with_conditions(*conditions)) == message


@pytest.mark.parametrize(
    ("before", "since"),
    [
        pytest.param(
            msgspec.structs.replace(
                scheduled("True", ""), last_transition_time="2027-01-15T07:00:00Z"
            ),
            "2027-01-15T08:01:00Z",
            id="it had a node",
        ),
        pytest.param(
            msgspec.structs.replace(
                scheduled("False", "SchedulingGated"), last_transition_time="2027-01-15T07:00:00Z"
            ),
            "2027-01-15T07:00:00Z",
            id="it waited before",
        ),
        pytest.param(scheduled("False", "Unschedulable"), "2027-01-15T08:01:00Z", id="no time"),
    ],
)
def test_a_condition_has_the_time_since_when_the_pod_waits(
    before: PodCondition, since: str
) -> None:
    other = PodCondition(type="Ready", status="False", last_transition_time="2027-01-15T06:00:00Z")
    effect = condition_patch(with_conditions(other, before), "no queue", now=EPOCH + 60)
    assert effect is not None
    _, written = effect.patch["status"]["conditions"]
    assert written == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no queue",
        "lastTransitionTime": since,
    }
    assert (effect.kind, effect.namespace, effect.name, effect.subresource) == (
        PODS, "ns", "p", "status",
    )  # fmt: skip


def test_the_event_of_a_bound_pod_names_its_node() -> None:
    made = assigned(BindPod(namespace="ns", name="p", uid="u", node="n"))
    assert (made.kind, made.namespace, made.name, made.uid) == (PODS, "ns", "p", "u")
    assert (made.type, made.reason) == ("Normal", "Scheduled")
    assert made.message == "Successfully assigned ns/p to n"


def test_a_patch_names_the_version_so_that_a_bind_in_between_wins() -> None:
    seen = with_conditions()
    metadata = msgspec.structs.replace(seen.metadata, resource_version="41")
    effect = condition_patch(msgspec.structs.replace(seen, metadata=metadata), "no room", now=EPOCH)
    assert effect is not None
    assert (effect.uid, effect.resource_version) == ("pod-p", "41")


def test_events_of_a_group_name_its_job_by_uid() -> None:
    alone = group("g", minimum=1)
    owner = pod("p").metadata.owner_references
    owned = msgspec.structs.replace(
        alone, metadata=msgspec.structs.replace(alone.metadata, owner_references=owner)
    )
    assert [(e.kind, e.type, e.reason) for e in gang_scheduled(alone, 4)] == [
        (PODGROUPS, "Normal", "Scheduled")
    ]
    assert [(e.kind, e.name, e.uid) for e in gang_scheduled(owned, 4)] == [
        (PODGROUPS, "g", "group-g"), (JOBS, "j", "u"),
    ]  # fmt: skip
    assert job_waits(alone, "no room") == []
    (waits,) = job_waits(owned, "no room")
    assert (waits.kind, waits.type, waits.reason) == (JOBS, "Warning", "FailedScheduling")
    assert (waits.namespace, waits.name, waits.uid, waits.message) == ("ns", "j", "u", "no room")
    assert {e.message for e in gang_scheduled(owned, 4)} == {"pod group is ready: 4 pods are bound"}
    assert all(event.aggregate for event in (waits, *gang_scheduled(owned, 4)))


# -- the queue -----------------------------------------------------------------------------------


def condition(name: str, message: str = "no room") -> background_queue.PodCondition:
    ref = PodRef(namespace="ns", name=name, uid=name)
    return background_queue.PodCondition(pod=ref, message=message)


def event(name: str) -> PodEvent:
    ref = PodRef(namespace="ns", name=name, uid=name)
    return PodEvent(pod=ref, message="no room")


def taken(entries: BackgroundQueue, *, now: float) -> list[BackgroundWrite]:
    found: list[BackgroundWrite] = []
    while (write := entries.take(now)) is not None:
        found.append(write[0])
    return found


def test_conditions_go_before_events_and_the_newest_wins() -> None:
    entries = BackgroundQueue()
    entries.put("a", event("a"))
    entries.put("a", condition("a"))
    entries.put("b", condition("b"))
    entries.put("a", condition("a", "no queue"))
    assert len(entries) == 3
    assert taken(entries, now=0.0) == [condition("a", "no queue"), condition("b"), event("a")]
    assert entries.rest_seconds(0.0) is None


def test_no_more_than_the_named_number_go_out_in_a_second() -> None:
    entries = BackgroundQueue()
    for number in range(1_000):
        entries.put(str(number), condition(str(number)))
    assert len(taken(entries, now=0.0)) == BURST
    assert entries.rest_seconds(0.0) == pytest.approx(1 / WRITES_PER_SECOND)
    passed = sum(len(taken(entries, now=at / 100)) for at in range(1, 101))
    assert passed == pytest.approx(WRITES_PER_SECOND, abs=1)


def test_a_write_carries_the_epoch_of_its_decision() -> None:
    entries = BackgroundQueue()
    entries.put("a", condition("a"), 3)
    entries.put("a", event("a"), 4)
    assert [entries.take(0.0), entries.take(0.0)] == [(condition("a"), 3), (event("a"), 4)]
    assert entries.take(0.0) is None


def test_a_pause_allows_no_more_than_a_burst_and_a_clock_set_back_allows_nothing() -> None:
    entries = BackgroundQueue()
    for number in range(1_000):
        entries.put(str(number), condition(str(number)))
    assert len(taken(entries, now=1_000.0)) == BURST
    assert taken(entries, now=900.0) == []
    assert entries.rest_seconds(900.0) == pytest.approx(1 / WRITES_PER_SECOND)
    assert len(taken(entries, now=900.0 + 1.5 / WRITES_PER_SECOND)) == 1
    assert len(taken(entries, now=2_000.0)) == BURST
    assert entries.rest_seconds(3_000.0) == 0.0


# -- settings ------------------------------------------------------------------------------------


def test_settings_are_read_and_nonsense_names_the_variable() -> None:
    assert Config.from_env({}) == Config()
    read = Config.from_env(
        {"SCHEDULER_POD_CONDITION_SECONDS": "0.5", "SCHEDULER_POD_EVENTS": "all"}
    )
    assert (read.pod_condition_seconds, read.pod_events) == (0.5, PodEvents.ALL)
    for variable, value in (
        ("SCHEDULER_POD_CONDITION_SECONDS", "soon"),
        ("SCHEDULER_POD_CONDITION_SECONDS", "-1"),
        ("SCHEDULER_POD_CONDITION_SECONDS", "nan"),
        ("SCHEDULER_POD_EVENTS", "some"),
    ):
        with pytest.raises(ValueError, match=f"{variable}='{value}'"):
            Config.from_env({variable: value})


def test_an_event_of_a_waiting_pod_aggregates() -> None:
    made = failed_scheduling(PodRef(namespace="ns", name="p", uid="u"), "no room")
    assert isinstance(made, RecordEvent)
    assert (made.kind, made.aggregate) == (PODS, True)
    assert (made.namespace, made.name, made.uid) == ("ns", "p", "u")
    assert (made.type, made.reason, made.message) == ("Warning", "FailedScheduling", "no room")
