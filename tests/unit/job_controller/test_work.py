"""What a live job makes: its pod group, its pods, its questions; and how little it writes."""

import msgspec
import pytest

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
from vc_job_controller.logic import Trouble, decide
from vc_job_controller.logic.observed import Asked
from vc_job_controller.logic.work import CREATES_PER_DECISION_MAX
from vc_messages.effects import CreateObject, PatchObject
from vc_messages.plugins import (
    EnvVar,
    JobDecoration,
    PluginAnnouncement,
    PluginReply,
    TaskDecoration,
)
from vc_model import keys
from vc_model.job import DependsOn, Job, PartitionPolicy, VolumeSpec
from vc_model.kinds import CLAIMS, JOBS, PODGROUPS, PODS
from vc_model.meta import ObjectMeta
from vc_model.scheduling import PriorityClass
from vc_model.struct import JsonObject


def group_spec(of: Job, *pods: object, **others: object) -> JsonObject:
    decision = decide(observed(of, *pods, **others), now=NOW)  # type: ignore[arg-type]
    made = [e for e in decision.effects if isinstance(e, CreateObject) and e.kind is PODGROUPS]
    spec: JsonObject = made[0].body["spec"]
    return spec


def first_pod(of: Job, **others: object) -> JsonObject:
    decision = decide(observed(of, podgroup=podgroup(), **others), now=NOW)
    made = [e for e in decision.effects if isinstance(e, CreateObject) and e.kind is PODS]
    return made[0].body


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
    assert waiting.wake_after_seconds == 0.5
    over = observed(of, pod(0, "Succeeded"), pod(1, "Succeeded"), counters_due=False)
    assert written_status(of, decide(over, now=NOW)).state.phase == "Completed"


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
    refused = Trouble("WriteRefused", "Pod 'j-worker-0': over quota")
    decision = decide(observed(of, pod(0), pod(1), trouble=refused), now=NOW)
    status = written_status(of, decision)
    assert (status.state.reason, status.state.message) == (refused.reason, refused.message)
    assert events(decision) == ["WriteRefused"]
    troubled = msgspec.structs.replace(of, status=status)
    assert events(decide(observed(troubled, pod(0), pod(1), trouble=refused), now=NOW)) == []
    cleared = written_status(troubled, decide(observed(troubled, pod(0), pod(1)), now=NOW))
    assert cleared.state.reason == ""


# -- plugins ----------------------------------------------------------------------------------------


def with_env() -> Job:
    return job("Pending", plugins={"env": []})


def test_plugins_are_asked_at_once_and_pods_wait_for_them() -> None:
    seen = observed(with_env(), podgroup=podgroup())
    decision = decide(seen, now=NOW)
    assert [(q.plugin, q.verb) for q in decision.questions] == [("env", "apply")]
    assert created(decision) == []
    answered = observed(
        with_env(),
        podgroup=podgroup(),
        answers={"env": reply("env", seen, decoration=JobDecoration())},
    )
    decision = decide(answered, now=NOW)
    assert decision.questions == ()
    assert created(decision) == ["j-worker-0", "j-worker-1"]


def test_a_plugin_is_asked_again_only_after_a_while() -> None:
    soon = observed(with_env(), asked={("apply", "env"): Asked(1.0, 1.0)})
    assert decide(soon, now=NOW).questions == ()
    assert decide(soon, now=NOW).wake_after_seconds == 1.0
    late = observed(with_env(), asked={("apply", "env"): Asked(6.0, 6.0)})
    assert len(decide(late, now=NOW).questions) == 1


def test_a_plugin_that_does_not_answer_is_named() -> None:
    of = with_env()
    decision = decide(observed(of, asked={("apply", "env"): Asked(3.0, 3.0)}), now=NOW)
    state = written_status(of, decision).state
    assert (state.phase, state.reason) == ("Pending", "PluginPending")
    assert "env" in state.message
    assert events(decision) == ["PluginPending"]


def test_a_plugin_nobody_knows_is_named() -> None:
    of = job("Pending", plugins={"nope": []})
    state = written_status(of, decide(observed(of), now=NOW)).state
    assert state.reason == "PluginUnknown"
    announced = {"nope": PluginAnnouncement(plugin="nope", version="1")}
    assert len(decide(observed(of, registry=announced), now=NOW).questions) == 1


def test_a_problem_of_a_plugin_is_the_jobs_and_no_pod_is_made() -> None:
    of = with_env()
    seen = observed(of, podgroup=podgroup())
    answers = {"env": reply("env", seen, problem="argument '--x' is not known")}
    decision = decide(observed(of, podgroup=podgroup(), answers=answers), now=NOW)
    state = written_status(of, decision).state
    assert (state.reason, state.message) == (
        "PluginProblem",
        "plugin env: argument '--x' is not known",
    )
    assert created(decision) == []


def test_an_answer_about_another_spec_is_none() -> None:
    of = with_env()
    stale = PluginReply(
        verb="apply", plugin="env", job_key="ns/j", job_uid="job-1", spec_hash="old"
    )
    decision = decide(observed(of, podgroup=podgroup(), answers={"env": stale}), now=NOW)
    assert created(decision) == []
    assert len(decision.questions) == 1


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (["pytorch"], ["pytorch", "svc"]),
        (["mpi"], ["mpi", "ssh", "svc"]),
        (["env"], ["env"]),
    ],
    ids=["torch needs names", "mpi needs names and keys", "env needs nobody"],
)
def test_plugins_bring_the_plugins_they_need(asked: list[str], wanted: list[str]) -> None:
    of = job("Pending", plugins={name: [] for name in asked})
    assert [q.plugin for q in decide(observed(of), now=NOW).questions] == wanted


def test_what_the_user_wrote_wins_over_decorations() -> None:
    container = {
        "name": "c",
        "env": [{"name": "MINE", "value": "1"}, {"name": "USES", "value": "$(ADDED)"}],
        "volumeMounts": [{"name": "own", "mountPath": "/etc/volcano"}],
    }
    spec = {"containers": [container], "initContainers": [{"name": "i"}], "hostname": "own"}
    of = job(
        "Pending",
        plugins={"env": []},
        tasks=[msgspec.structs.replace(task(), template={"spec": spec})],
    )
    decoration = TaskDecoration(
        env=[EnvVar(name="MINE", value="2"), EnvVar(name="ADDED", index_plus=5)],
        mounts=[{"name": "p", "mountPath": "/etc/volcano"}, {"name": "p", "mountPath": "/new"}],
        volumes=[{"name": "p"}],
        init_containers=[{"name": "first"}],
        hostname_from_pod=True,
        subdomain="j",
    )
    seen = observed(of)
    answer = reply("env", seen, decoration=JobDecoration(tasks={"worker": decoration}))
    body = first_pod(of, answers={"env": answer})["spec"]
    assert body["containers"][0]["env"] == [
        {"name": "ADDED", "value": "5"},
        {"name": "MINE", "value": "1"},
        {"name": "USES", "value": "$(ADDED)"},
    ]
    paths = [m["mountPath"] for m in body["containers"][0]["volumeMounts"]]
    assert paths == ["/etc/volcano", "/new"]
    assert [c["name"] for c in body["initContainers"]] == ["first", "i"]
    assert (body["hostname"], body["subdomain"]) == ("own", "j")


def test_plugins_are_told_to_take_away_what_they_made_when_the_job_is_over() -> None:
    of = job("Completed", plugins={"svc": []}, notes={"plugin-svc": "svc"})
    seen = observed(of)
    assert [(q.plugin, q.verb) for q in decide(seen, now=NOW).questions] == [("svc", "remove")]
    gone = msgspec.structs.replace(reply("svc", seen), verb="remove")
    after = written_status(of, decide(observed(of, answers={"svc": gone}), now=NOW))
    assert "plugin-svc" not in after.controlled_resources


def test_a_private_key_does_not_go_on_the_bus() -> None:
    of = job("Pending", plugins={"ssh": ["--ssh-private-key=SECRET", "--ssh-port=23"]})
    question = decide(observed(of), now=NOW).questions[0]
    assert "SECRET" not in repr(question)
    assert question.arguments == ["--ssh-private-key=<redacted>", "--ssh-port=23"]


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
