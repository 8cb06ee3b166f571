"""The pods of a job: what they carry, which are created, and which are deleted."""

from tests.unit.job_controller.builders import (
    NOW,
    created,
    deleted,
    job,
    observed,
    pod,
    podgroup,
    task,
    written_status,
)
from vc.job_controller.logic import decide
from vc.job_controller.logic.work import CREATES_PER_DECISION_MAX
from vc.messages.effects import CreateObject
from vc.model.api import keys
from vc.model.api.kinds import PODS


def test_a_pod_carries_its_place_and_attempt() -> None:
    of = job("Pending", version=2, retry=1, queue="q", priority_class_name="high")
    decision = decide(observed(of, podgroup=podgroup(version=2)), now=NOW)
    body = next(e for e in decision.effects if isinstance(e, CreateObject) and e.kind is PODS).body
    metadata = body["metadata"]
    assert metadata["name"] == "j-worker-0"
    assert metadata["annotations"] == {
        keys.GROUP_NAME: "j",
        keys.JOB_NAME: "j",
        keys.TASK_SPEC: "worker",
        keys.TASK_INDEX: "0",
        keys.QUEUE_NAME: "q",
        keys.JOB_VERSION: "2",
        keys.JOB_RETRY_COUNT: "1",
        keys.TEMPLATE_UID: "j-worker",
    }
    assert metadata["labels"] == {
        keys.JOB_NAME: "j",
        keys.JOB_NAMESPACE: "ns",
        keys.TASK_SPEC: "worker",
        keys.TASK_INDEX: "0",
        keys.QUEUE_NAME: "q",
    }
    assert metadata["ownerReferences"][0]["uid"] == "job-1"
    assert body["spec"]["schedulerName"] == "volcano"
    assert body["spec"]["priorityClassName"] == "high"


def test_a_pod_of_an_earlier_job_that_holds_a_name_goes_first() -> None:
    left = pod(0, job_uid="an-older-job", uid="old")
    decision = decide(observed(job("Pending"), left, podgroup=podgroup()), now=NOW)
    assert deleted(decision) == ["j-worker-0"]
    assert created(decision) == ["j-worker-1"]


def test_pods_of_an_earlier_job_do_not_count() -> None:
    of = job("Pending")
    left = (pod(0, job_uid="an-older-job"), pod(1, job_uid="an-older-job"))
    assert written_status(of, decide(observed(of, *left), now=NOW)).state.phase == "Pending"


def test_a_large_job_is_made_in_bounded_steps() -> None:
    of = job("Pending", tasks=[task(replicas=CREATES_PER_DECISION_MAX + 1)])
    decision = decide(observed(of, podgroup=podgroup()), now=NOW)
    assert len(created(decision)) == CREATES_PER_DECISION_MAX
    assert decision.wake_after_seconds == 0.0


def test_an_index_that_completed_is_not_run_again() -> None:
    of = job("Running", notes={"completed-worker": "0", "alive-worker": "1"})
    decision = decide(observed(of, pod(1), podgroup=podgroup("Running")), now=NOW)
    assert created(decision) == []


def test_a_pod_of_an_older_attempt_goes_whatever_it_does() -> None:
    of = job("Running", version=1)
    seen = observed(
        of,
        pod(0, "Succeeded", version=0),
        pod(1, version=1),
        podgroup=podgroup("Running", version=1),
    )
    decision = decide(seen, now=NOW)
    assert deleted(decision) == ["j-worker-0"]
    assert "completed-worker" not in written_status(of, decision).controlled_resources
