"""What a job asks its plugins, and what it does with their replies."""

import msgspec
import pytest

from tests.unit.job_controller.builders import (
    NOW,
    created,
    events,
    job,
    observed,
    pod,
    podgroup,
    reply,
    task,
    written_status,
)
from vc.job_controller.logic import decide
from vc.job_controller.logic.observed import RequestAge
from vc.messages.effects import CreateObject
from vc.messages.plugins import (
    EnvVar,
    JobDecoration,
    PluginAnnouncement,
    PluginReply,
    TaskDecoration,
)
from vc.model.api.job import Job
from vc.model.api.kinds import PODS
from vc.model.api.struct import JsonObject


def first_pod(of: Job, **others: object) -> JsonObject:
    decision = decide(observed(of, podgroup=podgroup(), **others), now=NOW)
    made = [e for e in decision.effects if isinstance(e, CreateObject) and e.kind is PODS]
    return made[0].body


PLUGIN_NOTES = {"plugin-env": "env", "plugin-svc": "svc"}


def with_env() -> Job:
    return job("Pending", plugins={"env": []})


def test_plugins_get_requests_at_once_and_pods_wait_for_replies() -> None:
    seen = observed(with_env(), podgroup=podgroup())
    decision = decide(seen, now=NOW)
    assert [(q.plugin, q.verb) for q in decision.requests] == [("env", "apply")]
    assert created(decision) == []
    answered = observed(
        with_env(),
        podgroup=podgroup(),
        replies={"env": reply("env", seen, decoration=JobDecoration())},
    )
    decision = decide(answered, now=NOW)
    assert decision.requests == ()
    assert created(decision) == ["j-worker-0", "j-worker-1"]


def test_a_request_is_repeated_only_after_a_while() -> None:
    soon = observed(with_env(), open_requests={("apply", "env"): RequestAge(1.0, 1.0)})
    assert decide(soon, now=NOW).requests == ()
    assert decide(soon, now=NOW).wake_after_seconds == 1.0
    late = observed(with_env(), open_requests={("apply", "env"): RequestAge(6.0, 6.0)})
    assert len(decide(late, now=NOW).requests) == 1


def test_a_plugin_that_does_not_answer_is_named() -> None:
    of = with_env()
    decision = decide(observed(of, open_requests={("apply", "env"): RequestAge(3.0, 3.0)}), now=NOW)
    state = written_status(of, decision).state
    assert (state.phase, state.reason) == ("Pending", "PluginPending")
    assert "env" in state.message
    assert events(decision) == ["PluginPending"]


def test_an_unknown_plugin_is_named() -> None:
    of = job("Pending", plugins={"nope": []})
    state = written_status(of, decide(observed(of), now=NOW)).state
    assert state.reason == "PluginUnknown"
    announced = {"nope": PluginAnnouncement(plugin="nope", version="1")}
    assert len(decide(observed(of, registry=announced), now=NOW).requests) == 1


def test_a_problem_of_a_plugin_is_the_jobs_and_no_pod_is_made() -> None:
    of = with_env()
    seen = observed(of, podgroup=podgroup())
    replies = {"env": reply("env", seen, problem="argument '--x' is not known")}
    decision = decide(observed(of, podgroup=podgroup(), replies=replies), now=NOW)
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
    decision = decide(observed(of, podgroup=podgroup(), replies={"env": stale}), now=NOW)
    assert created(decision) == []
    assert len(decision.requests) == 1


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (["pytorch"], ["pytorch", "svc"]),
        (["mpi"], ["mpi", "ssh", "svc"]),
        (["env"], ["env"]),
    ],
    ids=["torch needs names", "mpi needs names and keys", "env forces none"],
)
def test_plugins_force_other_plugins(asked: list[str], wanted: list[str]) -> None:
    of = job("Pending", plugins={name: [] for name in asked})
    assert [q.plugin for q in decide(observed(of), now=NOW).requests] == wanted


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
    body = first_pod(of, replies={"env": answer})["spec"]
    assert body["containers"][0]["env"] == [
        {"name": "ADDED", "value": "5"},
        {"name": "MINE", "value": "1"},
        {"name": "USES", "value": "$(ADDED)"},
    ]
    paths = [m["mountPath"] for m in body["containers"][0]["volumeMounts"]]
    assert paths == ["/etc/volcano", "/new"]
    assert [c["name"] for c in body["initContainers"]] == ["first", "i"]
    assert (body["hostname"], body["subdomain"]) == ("own", "j")


def test_plugins_get_a_removal_request_when_the_job_is_over() -> None:
    of = job("Completed", plugins={"svc": []}, notes={"plugin-svc": "svc"})
    seen = observed(of)
    assert [(q.plugin, q.verb) for q in decide(seen, now=NOW).requests] == [("svc", "remove")]
    gone = msgspec.structs.replace(reply("svc", seen), verb="remove")
    after = written_status(of, decide(observed(of, replies={"svc": gone}), now=NOW))
    assert "plugin-svc" not in after.controlled_resources


def test_a_private_key_does_not_go_on_the_bus() -> None:
    of = job("Pending", plugins={"ssh": ["--ssh-private-key=SECRET", "--ssh-port=23"]})
    question = decide(observed(of), now=NOW).requests[0]
    assert "SECRET" not in repr(question)
    assert question.arguments == ["--ssh-private-key=<redacted>", "--ssh-port=23"]


def test_a_plugin_without_objects_gets_no_removal_request() -> None:
    of = job("Running", plugins={"env": [], "svc": []}, notes=PLUGIN_NOTES)
    registry = {"env": PluginAnnouncement(plugin="env", version="1", makes_nothing=True)}
    over = observed(of, pod(0, "Succeeded"), pod(1, "Succeeded"), registry=registry)
    decision = decide(over, now=NOW)
    assert [(q.plugin, q.verb) for q in decision.requests] == [("svc", "remove")]
    status = written_status(of, decision)
    assert status.state.phase == "Completed"
    noted = [key for key in status.controlled_resources if key.startswith("plugin-")]
    assert noted == ["plugin-svc"], "it went with the phase, in one write"


def test_a_plugin_whose_reply_was_not_noted_yet_gets_a_removal_request() -> None:
    of = job("Terminated", plugins={"svc": []})
    seen = observed(of)
    made = reply("svc", seen, decoration=JobDecoration())
    decision = decide(observed(of, replies={"svc": made}), now=NOW)
    assert [(q.plugin, q.verb) for q in decision.requests] == [("svc", "remove")]
    gone = msgspec.structs.replace(made, verb="remove", decoration=None)
    assert decide(observed(of, replies={"svc": gone}), now=NOW).requests == ()
