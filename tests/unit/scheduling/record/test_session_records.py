"""Session records, and the writes that decisions become."""

import msgspec
import pytest

from tests.unit.scheduling.objects import gang, nodes, queue
from tests.unit.scheduling.world import World
from vc.messages.effects import EvictPod, PatchObject
from vc.messages.record import Record
from vc.messages.sessions import (
    JobReason,
    Reason,
    SessionRecord,
    Stage,
    session_message,
    session_of,
)
from vc.model.api.pod import Container, PodSpec, ResourceRequirements
from vc.scheduling.effects import group_work, queue_effect, release_effects, status_effect
from vc.scheduling.model.amounts import Problems, pod_request
from vc.scheduling.model.decisions import Decisions, PodRef, QueueAllocated, Release
from vc.scheduling.record import reason_log as reason_log_module
from vc.scheduling.record.reason_log import ReasonLog, Timing

NOW = Timing(started_at=1.0, took_ms=2.0)


def test_a_record_holds_what_is_new_and_an_empty_session_leaves_none() -> None:
    log = ReasonLog()
    world = World(queue(), nodes(1), gang("runs", 1, cpu=1), gang("waits", 2, cpu=40))
    first = log.record(world.session(), NOW)
    assert first is not None
    assert [p.pod for p in first.placements] == ["ns/runs-worker-0"]
    assert [job.group for job in first.reasons] == ["ns/waits"]
    assert first.waiting == 1
    assert log.record(world.session(), NOW) is None

    world.put(*nodes(2))
    last = log.record(world.session(), NOW)
    assert last is not None
    assert (last.reasons, last.resolved, last.bound_pods) == ([], ["ns/waits"], 2)


def test_reasons_beyond_the_bound_are_said_by_the_next_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reason_log_module, "REASONS_RECORDED_MAX", 2)
    log, said = ReasonLog(), []
    world = World(queue(), nodes(1), *[gang(f"w{n}", 2, cpu=40) for n in range(5)])
    for expected in (2, 2, 1):
        record = log.record(world.session(), NOW)
        assert record is not None
        assert (len(record.reasons), record.waiting) == (expected, 5)
        said += [job.group for job in record.reasons]
    assert sorted(said) == [f"ns/w{n}" for n in range(5)]
    assert log.record(world.session(), NOW) is None


def said(name: str, position: int, *, queue: str = "q", sentence: str = "no room") -> JobReason:
    reason = Reason(stage=Stage.GANG, code="NotEnoughResources", sentence=sentence)
    return JobReason(group=name, uid=f"u-{name}", queue=queue, position=position, reason=reason)


def refusing(*reasons: JobReason) -> Decisions:
    """A session that did nothing but refuse."""
    return msgspec.structs.replace(World(queue()).session(), reasons=reasons, queues=())


def test_who_moves_up_because_another_left_is_not_spoken_of_again() -> None:
    log = ReasonLog()
    log.record(refusing(said("a", 1), said("b", 2), said("c", 3)), NOW)
    record = log.record(refusing(said("b", 1), said("c", 2)), NOW)
    assert record is not None
    assert (record.resolved, record.reasons) == (["a"], [])


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(said("a", 1, sentence="another"), id="another reason"),
        pytest.param(said("a", 1, queue="r"), id="another queue"),
        pytest.param(msgspec.structs.replace(said("a", 1), uid="v"), id="another of the name"),
    ],
)
def test_what_is_new_about_a_job_is_said(other: JobReason) -> None:
    log = ReasonLog()
    log.record(refusing(said("a", 1)), NOW)
    record = log.record(refusing(other), NOW)
    assert record is not None
    assert record.reasons == [other]


def test_no_reason_is_left_out_when_all_change_in_every_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reason_log_module, "REASONS_RECORDED_MAX", 3)
    log = ReasonLog()
    last: dict[str, int] = {}
    names = [f"{queue}{n}" for queue in "ab" for n in range(5)]
    for session in range(1, 9):
        jobs = [said(name, 1, queue=name[0], sentence=f"{session} is too few") for name in names]
        record = log.record(refusing(*jobs), NOW)
        assert record is not None
        assert len(record.reasons) == 3
        last |= {job.group: session for job in record.reasons}
    assert sorted(last) == names
    assert min(last.values()) >= 5, "each within the ten reasons that four records hold"


def test_after_a_rebuilt_view_everything_is_said_again() -> None:
    log = ReasonLog()
    world = World(queue(), nodes(1), gang("waits", 2, cpu=40))
    log.record(world.session(), NOW)
    log.forget()
    again = log.record(world.session(), NOW)
    assert again is not None
    assert [job.group for job in again.reasons] == ["ns/waits"]


def test_a_record_travels_and_comes_back_the_same() -> None:
    world = World(queue(), nodes(1), gang("runs", 1, cpu=1), gang("waits", 2, cpu=40))
    record = ReasonLog().record(world.session(), NOW)
    assert isinstance(record, SessionRecord)
    message = session_message(record)
    read = Record(
        topic=message.topic,
        partition=message.partition,
        offset=0,
        key=message.key,
        value=message.value,
        headers=message.headers,
    )
    assert session_of(read) == record


def test_jobs_that_wait_know_their_place_in_the_queue() -> None:
    waiting = [gang(f"w{n}", 2, cpu=60, age=n) for n in range(3)]
    world = World(queue(), nodes(1), *waiting)
    places = {job.group: job.position for job in world.session().reasons}
    assert places == {"ns/w2": 1, "ns/w1": 2, "ns/w0": 3}


def test_a_group_is_patched_in_its_status_alone_and_guarded_by_its_uid() -> None:
    world = World(queue(), nodes(1), gang("runs", 1, cpu=1))
    work = group_work(world.decide())[0]
    assert work.gang is not None
    assert work.status is not None
    effect = status_effect(work.status)
    assert (effect.uid, effect.subresource) == ("group-runs", "")
    assert list(effect.patch) == ["status"]
    assert effect.patch["status"]["phase"] == "Running"
    assert effect.patch["status"]["conditions"][0]["transitionID"] == "session-1"


def test_a_released_pod_is_marked_before_it_is_evicted() -> None:
    pods = tuple(PodRef(namespace="ns", name=f"p{n}", uid=f"u{n}") for n in range(2))
    effects = release_effects(Release(group="ns/g", pods=pods))
    assert [type(effect) for effect in effects] == [PatchObject, PatchObject, EvictPod, EvictPod]


def test_a_resource_that_a_queue_no_longer_has_is_removed_from_its_status() -> None:
    effect = queue_effect(QueueAllocated(queue="q", allocated={"cpu": "1"}, gone=("memory",)))
    assert effect.patch == {"status": {"allocated": {"memory": None, "cpu": "1"}}}


def test_a_request_is_the_larger_of_running_and_starting() -> None:
    def container(cpu: str, *, restart: str | None = None) -> Container:
        return Container(
            resources=ResourceRequirements(requests={"cpu": cpu}), restart_policy=restart
        )

    spec = PodSpec(
        containers=[container("1"), container("2")],
        init_containers=[container("1", restart="Always"), container("5")],
        overhead={"cpu": "500m"},
    )
    assert pod_request(spec, Problems())["cpu"] == 6500  # the init container beside the sidecar
