"""What a session leaves behind: its record, and the commands its decisions become."""

import pytest

from tests.unit.scheduler.objects import gang, nodes, queue
from tests.unit.scheduler.world import World
from vc_messages.effects import EvictPod, PatchObject
from vc_messages.record import Record
from vc_messages.sessions import SessionRecord, session_message, session_of
from vc_model.pod import Container, PodSpec, ResourceRequirements
from vc_scheduler.logic import ledger as ledger_module
from vc_scheduler.logic.amounts import Problems, pod_request
from vc_scheduler.logic.commands import group_work, queue_effect, release_effects, status_effect
from vc_scheduler.logic.decisions import PodRef, QueueAllocated, Release
from vc_scheduler.logic.ledger import Ledger, Timing

NOW = Timing(started_at=1.0, took_ms=2.0)


def test_a_record_holds_what_is_new_and_an_empty_session_leaves_none() -> None:
    ledger = Ledger()
    world = World(queue(), nodes(1), gang("runs", 1, cpu=1), gang("waits", 2, cpu=40))
    first = ledger.record(world.session(), NOW)
    assert first is not None
    assert [p.pod for p in first.placements] == ["ns/runs-worker-0"]
    assert [job.group for job in first.reasons] == ["ns/waits"]
    assert first.waiting == 1
    assert ledger.record(world.session(), NOW) is None

    world.put(*nodes(2))
    last = ledger.record(world.session(), NOW)
    assert last is not None
    assert (last.reasons, last.resolved, last.bound_pods) == ([], ["ns/waits"], 2)


def test_reasons_beyond_the_bound_are_said_by_the_next_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ledger_module, "REASONS_RECORDED_MAX", 2)
    ledger, said = Ledger(), []
    world = World(queue(), nodes(1), *[gang(f"w{n}", 2, cpu=40) for n in range(5)])
    for expected in (2, 2, 1):
        record = ledger.record(world.session(), NOW)
        assert record is not None
        assert (len(record.reasons), record.waiting) == (expected, 5)
        said += [job.group for job in record.reasons]
    assert sorted(said) == [f"ns/w{n}" for n in range(5)]
    assert ledger.record(world.session(), NOW) is None


def test_after_a_rebuilt_view_everything_is_said_again() -> None:
    ledger = Ledger()
    world = World(queue(), nodes(1), gang("waits", 2, cpu=40))
    ledger.record(world.session(), NOW)
    ledger.forget()
    again = ledger.record(world.session(), NOW)
    assert again is not None
    assert [job.group for job in again.reasons] == ["ns/waits"]


def test_a_record_travels_and_comes_back_the_same() -> None:
    world = World(queue(), nodes(1), gang("runs", 1, cpu=1), gang("waits", 2, cpu=40))
    record = Ledger().record(world.session(), NOW)
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
