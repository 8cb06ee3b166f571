"""JobPods that are done and whose pods are gone are listed on the group (docs/adr/0044)."""

from typing import Final

import msgspec
import pytest

from tests.unit.job_controller.builders import (
    NOW,
    created,
    job,
    observed,
    pod,
    podgroup,
    task,
    written_status,
)
from vc.job_controller.logic import Decision, decide
from vc.messages.effects import CreateObject, PatchObject
from vc.model.api import keys
from vc.model.api.job import Job
from vc.model.api.kinds import PODGROUPS, PODS
from vc.model.api.scheduling import PodGroup, PodGroupSpec

DONE: Final = {"completed-worker": "0-1", "completed-side": "0", "alive-last": "0"}


def noted_members(decision: Decision) -> list[object]:
    """What becomes of the group's list of completed members, effect by effect."""
    found: list[object] = []
    for effect in decision.effects:
        if isinstance(effect, PatchObject) and effect.kind is PODGROUPS:
            body = effect.patch
        elif isinstance(effect, CreateObject) and effect.kind is PODGROUPS:
            body = effect.body
        else:
            continue
        annotations = body.get("metadata", {}).get("annotations", {})
        if keys.COMPLETED_MEMBERS in annotations:
            found.append(annotations[keys.COMPLETED_MEMBERS])
    return found


def group_noting(text: str, *, version: int = 0) -> PodGroup:
    group = podgroup("Running", version=version)
    annotations = {**group.metadata.annotations, keys.COMPLETED_MEMBERS: text}
    metadata = msgspec.structs.replace(group.metadata, annotations=annotations)
    return msgspec.structs.replace(group, metadata=metadata)


def done_job(**others: object) -> Job:
    tasks = [task("worker", 2), task("side", 1), task("last", 1)]
    return job("Running", tasks=tasks, notes=DONE, **others)  # type: ignore[arg-type]


def test_members_that_are_done_and_whose_pods_are_gone_are_listed_on_the_group() -> None:
    seen = observed(done_job(), pod(0, of="last"), podgroup=podgroup("Running"))
    assert noted_members(decide(seen, now=NOW)) == ['{"side":"0","worker":"0-1"}']


def test_the_list_is_written_once() -> None:
    listed = group_noting('{"side":"0","worker":"0-1"}')
    decision = decide(observed(done_job(), pod(0, of="last"), podgroup=listed), now=NOW)
    assert noted_members(decision) == []
    assert not decision.late


@pytest.mark.parametrize("going", [False, True], ids=["is there", "is being deleted"])
def test_a_pod_that_says_itself_that_it_succeeded_is_not_listed(going: bool) -> None:
    pods = [pod(0, "Succeeded", going=going), pod(1, "Succeeded"), pod(0, of="last")]
    seen = observed(done_job(), *pods, podgroup=podgroup("Running"))
    assert noted_members(decide(seen, now=NOW)) == ['{"side":"0"}']


def test_only_what_the_status_has_noted_is_listed() -> None:
    """The pod is gone and its success was not written: it is run again, and must not count twice."""
    of = job("Running", notes={"alive-worker": "0-1"})
    decision = decide(observed(of, pod(1), podgroup=podgroup("Running")), now=NOW)
    assert noted_members(decision) == []
    assert created(decision) == ["j-worker-0"]


def in_step(of: Job) -> PodGroup:
    """The group with the spec that the job wants."""
    made = [e for e in decide(observed(of), now=NOW).effects if isinstance(e, CreateObject)]
    spec = next(e.body["spec"] for e in made if e.kind is PODGROUPS)
    return msgspec.structs.replace(podgroup("Running"), spec=msgspec.convert(spec, PodGroupSpec))


def test_the_list_waits_until_counters_are_due_and_asks_to_be_looked_at_again() -> None:
    of, group = done_job(), in_step(done_job())
    status = written_status(of, decide(observed(of, pod(0, of="last"), podgroup=group), now=NOW))
    of = msgspec.structs.replace(of, status=status)
    early = decide(observed(of, pod(0, of="last"), podgroup=group, counters_due=False), now=NOW)
    assert (early.effects, early.late) == ((), True)
    due = decide(observed(of, pod(0, of="last"), podgroup=group), now=NOW)
    assert (len(noted_members(due)), due.late) == (1, False)


def test_a_place_that_is_to_run_again_is_taken_off_the_list_before_its_pod_is_made() -> None:
    of = job("Running", notes={"alive-worker": "1"})
    decision = decide(observed(of, pod(1), podgroup=group_noting('{"worker":"0"}')), now=NOW)
    assert noted_members(decision) == [None]
    kinds = [e.kind for e in decision.effects if isinstance(e, CreateObject | PatchObject)]
    assert kinds.index(PODGROUPS) < kinds.index(PODS)


def test_a_new_group_lists_completed_members_and_ignores_the_annotation_of_the_job() -> None:
    of = done_job(version=1)
    forged = {keys.COMPLETED_MEMBERS: '{"last":"0"}', keys.JOB_VERSION: "7", "team": "a"}
    metadata = msgspec.structs.replace(of.metadata, annotations=forged)
    of = msgspec.structs.replace(of, metadata=metadata)
    decision = decide(observed(of, pod(0, of="last", version=1)), now=NOW)
    assert noted_members(decision) == ['{"side":"0","worker":"0-1"}']
    bare = job("Pending")
    bare = msgspec.structs.replace(
        bare, metadata=msgspec.structs.replace(bare.metadata, annotations=forged)
    )
    made = [e for e in decide(observed(bare), now=NOW).effects if isinstance(e, CreateObject)]
    assert made[0].body["metadata"]["annotations"] == {keys.JOB_VERSION: "0", "team": "a"}
