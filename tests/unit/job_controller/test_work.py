"""What a live job makes: its pod group, its pods; and how little it writes."""

import msgspec

from tests.unit.job_controller.builders import (
    NOW,
    created,
    deleted,
    events,
    group_effects,
    job,
    observed,
    pod,
    podgroup,
    reply,
    task,
    written_status,
)
from vc.job_controller.logic import Blocker, decide
from vc.job_controller.logic.work import CREATES_PER_DECISION_MAX
from vc.messages.effects import CreateObject, PatchObject
from vc.messages.plugins import JobDecoration
from vc.model.api import keys
from vc.model.api.job import DependsOn, Job, PartitionPolicy, VolumeSpec
from vc.model.api.kinds import CLAIMS, JOBS, PODGROUPS, PODS
from vc.model.api.meta import ObjectMeta
from vc.model.api.scheduling import PriorityClass
from vc.model.api.struct import JsonObject


def group_spec(of: Job, *pods: object, **others: object) -> JsonObject:
    decision = decide(observed(of, *pods, **others), now=NOW)  # type: ignore[arg-type]
    made = [e for e in decision.effects if isinstance(e, CreateObject) and e.kind is PODGROUPS]
    spec: JsonObject = made[0].body["spec"]
    return spec


def test_a_new_job_says_pending_and_takes_its_place_in_the_queue() -> None:
    of = job("", queue="q", priority_class_name="high")
    decision = decide(observed(of), now=NOW)
    patch, group = decision.effects
    assert isinstance(patch, PatchObject)
    assert (patch.kind, patch.subresource, patch.resource_version) == (JOBS, "status", "10")
    assert isinstance(group, CreateObject)
    assert group.name == "j"
    assert group.owner_uid == "job-1"
    assert group.body["spec"] == {
        "minMember": 2,
        "minTaskMember": {"worker": 2},
        "queue": "q",
        "priorityClassName": "high",
        "minResources": {"count/pods": "2", "cpu": "2", "pods": "2", "requests.cpu": "2"},
    }


def test_requests_default_from_limits_and_count_as_a_quota_does() -> None:
    limits = {"limits": {"memory": "1Gi", "example.com/gpu": "2"}, "requests": {"memory": "512Mi"}}
    template = {"spec": {"containers": [{"name": "c", "resources": limits}]}}
    spec = group_spec(job("", tasks=[msgspec.structs.replace(task(replicas=1), template=template)]))
    assert spec["minResources"] == {
        "count/pods": "1",
        "example.com/gpu": "2",
        "limits.memory": "1Gi",
        "memory": "512Mi",
        "pods": "1",
        "requests.example.com/gpu": "2",
        "requests.memory": "512Mi",
    }


def test_a_small_gang_counts_its_most_important_pods() -> None:
    def of_priority(name: str, cpu: str, priority: str) -> object:
        containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
        template = {"spec": {"containers": containers, "priorityClassName": priority}}
        return msgspec.structs.replace(task(name, 2), template=template)

    tasks = [of_priority("a", "1", "low"), of_priority("b", "10", "high")]
    classes = {
        "low": PriorityClass(metadata=ObjectMeta(name="low"), value=1),
        "high": PriorityClass(metadata=ObjectMeta(name="high"), value=9),
    }
    of = job("", tasks=tasks, min_available=3)  # type: ignore[arg-type]
    assert group_spec(of, priorities=classes)["minResources"]["cpu"] == "21"


def test_a_gang_with_tasks_that_wait_for_others_is_smaller_until_they_are_released() -> None:
    waits = task("w", 2, depends_on=DependsOn(name=["m"]))
    of = job("", tasks=[task("m", 1), waits])
    assert group_spec(of)["minMember"] == 1
    pending = msgspec.structs.replace(of, status=job("Pending").status)
    first = decide(observed(pending, podgroup=podgroup()), now=NOW)
    assert created(first) == ["j-m-0"]
    unready = pod(0, of="m", ready=False)
    assert created(decide(observed(pending, unready, podgroup=podgroup()), now=NOW)) == []
    up = decide(observed(pending, pod(0, of="m"), podgroup=podgroup()), now=NOW)
    assert created(up) == ["j-w-0", "j-w-1"]
    grown = [e for e in up.effects if isinstance(e, PatchObject) and e.kind is PODGROUPS]
    assert grown[0].patch["spec"]["minMember"] == 3


def test_a_job_without_its_queue_waits_and_says_so() -> None:
    of = job("")
    decision = decide(observed(of, queue=None), now=NOW)
    status = written_status(of, decision)
    assert (status.state.phase, status.state.reason) == ("Pending", "QueueNotFound")
    assert group_effects(decision) == []
    assert events(decision) == ["QueueNotFound"]


def test_an_amount_nobody_can_read_is_said_on_the_job() -> None:
    template = {"spec": {"containers": [{"resources": {"requests": {"cpu": "much"}}}]}}
    of = job("", tasks=[msgspec.structs.replace(task(), template=template)])
    state = written_status(of, decide(observed(of), now=NOW)).state
    assert state.reason == "InvalidResources"
    assert "much" in state.message


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


def test_a_pod_of_a_partition_says_which() -> None:
    parts = PartitionPolicy(total_partitions=2, partition_size=2)
    of = job("Pending", tasks=[task(replicas=4, partition_policy=parts)])
    decision = decide(observed(of, podgroup=podgroup()), now=NOW)
    pods = [e.body for e in decision.effects if isinstance(e, CreateObject) and e.kind is PODS]
    labels = [body["metadata"]["labels"][keys.PARTITION_ID] for body in pods]
    assert labels == ["0", "0", "1", "1"]


def test_claims_are_made_once_before_the_first_pod_and_mounted() -> None:
    of = job("Pending", volumes=[VolumeSpec(mount_path="/data", volume_claim={"resources": {}})])
    decision = decide(observed(of, podgroup=podgroup()), now=NOW)
    kinds = [e.kind for e in decision.effects if isinstance(e, CreateObject)]
    assert kinds == [CLAIMS, PODS, PODS]
    made = [e for e in decision.effects if isinstance(e, CreateObject)]
    claim = made[1].body["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
    assert claim == made[0].name
    later = decide(observed(of, pod(0), podgroup=podgroup()), now=NOW)
    assert CLAIMS not in [e.kind for e in later.effects if isinstance(e, CreateObject)]


def test_a_pod_of_an_earlier_job_that_holds_a_name_goes_first() -> None:
    left = pod(0, job_uid="an-older-job", uid="old")
    decision = decide(observed(job("Pending"), left, podgroup=podgroup()), now=NOW)
    assert deleted(decision) == ["j-worker-0"]
    assert created(decision) == ["j-worker-1"]


def test_pods_of_an_earlier_job_do_not_count() -> None:
    of = job("Pending")
    left = (pod(0, job_uid="an-older-job"), pod(1, job_uid="an-older-job"))
    assert written_status(of, decide(observed(of, *left), now=NOW)).state.phase == "Pending"


def test_scaling_down_ends_the_highest_and_up_makes_new_ones() -> None:
    of = job("Running", tasks=[task(replicas=1)])
    assert deleted(decide(observed(of, pod(0), pod(1), podgroup=podgroup()), now=NOW)) == [
        "j-worker-1"
    ]
    of = job("Running", tasks=[task(replicas=3)], min_available=2)
    assert created(decide(observed(of, pod(0), pod(1), podgroup=podgroup()), now=NOW)) == [
        "j-worker-2"
    ]


def test_a_large_job_is_made_in_bounded_steps() -> None:
    of = job("Pending", tasks=[task(replicas=CREATES_PER_DECISION_MAX + 1)])
    decision = decide(observed(of, podgroup=podgroup()), now=NOW)
    assert len(created(decision)) == CREATES_PER_DECISION_MAX
    assert decision.wake_after_seconds == 0.0


def test_a_group_of_an_attempt_that_is_over_is_replaced() -> None:
    of = job("Pending", version=1)
    decision = decide(observed(of, podgroup=podgroup(version=0)), now=NOW)
    assert group_effects(decision) == ["DeleteObject"]
    assert created(decision) == []


# -- status -----------------------------------------------------------------------------------------


def settled() -> Job:
    """A running job whose status says all there is."""
    of = job("Running")
    seen = observed(of, pod(0), pod(1), podgroup=podgroup("Running"))
    return msgspec.structs.replace(of, status=written_status(of, decide(seen, now=NOW)))


def test_nothing_new_is_nothing_written() -> None:
    of = settled()
    spec = group_spec(of)
    group = msgspec.structs.replace(
        podgroup("Running"), spec=msgspec.convert(spec, type=type(podgroup().spec))
    )
    decision = decide(observed(of, pod(0), pod(1), podgroup=group), now=NOW)
    assert decision.effects == ()
    assert decision.wake_after_seconds is None


def test_counters_wait_until_they_are_due_but_phases_do_not() -> None:
    of = settled()
    early = observed(of, pod(0, "Succeeded"), pod(1), counters_due=False)
    waiting = decide(early, now=NOW)
    assert not [e for e in waiting.effects if isinstance(e, PatchObject) and e.kind is JOBS]
    assert waiting.late
    over = observed(of, pod(0, "Succeeded"), pod(1, "Succeeded"), counters_due=False)
    assert written_status(of, decide(over, now=NOW)).state.phase == "Completed"


def test_the_first_pods_do_not_wait_for_what_was_noted_of_plugins() -> None:
    of = job("Pending", plugins={"env": []}, min_available=2)
    of = msgspec.structs.replace(of, status=msgspec.structs.replace(of.status, min_available=2))
    answered = {"env": reply("env", observed(of), decoration=JobDecoration())}
    decision = decide(observed(of, podgroup=podgroup(), replies=answered), now=NOW)
    assert created(decision) == ["j-worker-0", "j-worker-1"]
    assert not [e for e in decision.effects if isinstance(e, PatchObject) and e.kind is JOBS]
    assert decision.late
    seen = observed(of, pod(0, "Pending"), pod(1, "Pending"), podgroup=podgroup(), replies=answered)
    status = written_status(of, decide(seen, now=NOW))
    assert status.controlled_resources["plugin-env"] == "env"


def test_a_job_that_is_over_keeps_its_counters_when_its_pods_are_cleaned_away() -> None:
    of = settled()
    over = observed(of, pod(0, "Succeeded"), pod(1, "Succeeded"))
    status = written_status(of, decide(over, now=NOW))
    done = msgspec.structs.replace(of, status=status)
    after = written_status(done, decide(observed(done), now=NOW))
    assert (after.succeeded, after.task_status_count["worker"].phase) == (2, {"Succeeded": 2})


def test_an_index_that_completed_is_not_run_again() -> None:
    of = job("Running", notes={"completed-worker": "0", "alive-worker": "1"})
    decision = decide(observed(of, pod(1), podgroup=podgroup("Running")), now=NOW)
    assert created(decision) == []


def test_what_could_not_be_written_is_said_and_taken_back() -> None:
    of = settled()
    refused = Blocker("WriteRefused", "Pod 'j-worker-0': over quota")
    decision = decide(observed(of, pod(0), pod(1), blocker=refused), now=NOW)
    status = written_status(of, decision)
    assert (status.state.reason, status.state.message) == (refused.reason, refused.message)
    assert events(decision) == ["WriteRefused"]
    troubled = msgspec.structs.replace(of, status=status)
    assert events(decide(observed(troubled, pod(0), pod(1), blocker=refused), now=NOW)) == []
    cleared = written_status(troubled, decide(observed(troubled, pod(0), pod(1)), now=NOW))
    assert cleared.state.reason == ""


# -- plugins ----------------------------------------------------------------------------------------


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
