"""A job of a thousand tasks: what its plugins answer and what its pods take stays bounded, in bytes."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.unit.job_controller.builders import NOW, job, observed, podgroup, reply, task
from vc.job_controller.logic import decide
from vc.job_controller.logic.observed import ObservedJob
from vc.job_controller.logic.work import CREATES_PER_DECISION_MAX
from vc.jobplugin.answers import Decorated
from vc.messages.codec import CodecError, MessageTooLargeError, check_size, encode
from vc.messages.effects import CreateObject
from vc.messages.plugins import (
    EnvVar,
    JobDecoration,
    PluginRequest,
    TaskDecoration,
    reply_message,
    spec_hash,
)  # fmt: skip
from vc.messages.topics import MESSAGE_BYTES_MAX
from vc.model.api.job import Job, TaskSpec
from vc.model.api.kinds import PODS
from vc.model.api.struct import JsonObject
from vc.plugin_svc.logic import SvcCore

MIB = 1 << 20
TASKS = 1000


def of_tasks(count: int) -> Job:
    return job(tasks=[task(f"task-{n}", 1) for n in range(count)], plugins={"svc": []})


def question(of: Job, *, takes_shared: bool = True) -> PluginRequest:
    return PluginRequest(
        verb="apply", plugin="svc", arguments=[], job=of, spec_hash="", takes_shared=takes_shared
    )


def answered(of: Job, *, takes_shared: bool = True) -> Decorated:
    return SvcCore().decorate(question(of, takes_shared=takes_shared), {})


def peak_bytes(work: Callable[[], object]) -> int:
    """Memory that is taken at a time, over what was there."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_an_answer_about_a_thousand_tasks_is_small() -> None:
    of = of_tasks(TASKS)
    sent: list[bytes] = []

    def answer() -> None:
        decorated = answered(of)
        message = reply_message(reply("svc", observed(of), decoration=decorated.decoration))
        sent.append(message.value or b"")

    assert peak_bytes(answer) < 16 * MIB, "it was 1.9 GB"
    assert 0 < len(sent[0]) < MIB, "it was 336 MB"


def test_pods_of_a_thousand_tasks_share_their_variables() -> None:
    of = of_tasks(TASKS)
    seen = observed(of, podgroup=podgroup("Inqueue"))
    seen = with_answer(seen, answered(of).decoration)
    made: list[JsonObject] = []

    def make() -> None:
        decision = decide(seen, now=NOW)
        made.extend(
            e.body for e in decision.effects if isinstance(e, CreateObject) and e.kind is PODS
        )

    assert peak_bytes(make) < 64 * MIB
    assert len(made) == CREATES_PER_DECISION_MAX
    for body in (made[0], made[-1]):
        (container,) = body["spec"]["containers"]
        assert len(container["env"]) == 3 * TASKS
        assert body["spec"]["hostname"] == body["metadata"]["name"]


def with_answer(seen: ObservedJob, decoration: JobDecoration | None) -> ObservedJob:
    replies = {"svc": reply("svc", seen, decoration=decoration)}
    return msgspec.structs.replace(seen, replies=replies)


def pods(of: Job, decoration: JobDecoration | None) -> list[JsonObject]:
    seen = with_answer(observed(of, podgroup=podgroup("Inqueue")), decoration)
    effects = decide(seen, now=NOW).effects
    return [e.body for e in effects if isinstance(e, CreateObject) and e.kind is PODS]


def test_a_shared_answer_makes_the_same_pods_as_one_task_by_task() -> None:
    template: dict[str, Any] = {"spec": {"subdomain": "mine", "containers": [{"name": "c"}]}}
    own = TaskSpec(name="own", replicas=2, template=template)
    of = job(tasks=[task("worker", 2), own], plugins={"svc": []})
    once, each = (answered(of, takes_shared=shares).decoration for shares in (True, False))
    assert once is not None
    assert once.shared is not None
    assert each is not None
    assert each.shared is None
    assert pods(of, once) == pods(of, each)
    assert [pod["spec"]["subdomain"] for pod in pods(of, once)] == ["j", "j", "mine", "mine"]


def test_an_older_sender_gets_a_problem_before_the_reply_is_built() -> None:
    of = of_tasks(TASKS)
    replies: list[Decorated] = []
    assert peak_bytes(lambda: replies.append(answered(of, takes_shared=False))) < 16 * MIB
    assert "spec.tasks has 1000 tasks" in replies[0].problem
    assert str(MESSAGE_BYTES_MAX) in replies[0].problem
    assert answered(of_tasks(100), takes_shared=False).problem == ""


def test_a_question_says_that_it_takes_what_is_shared() -> None:
    of = of_tasks(2)
    (asked,) = decide(observed(of, podgroup=podgroup("Inqueue")), now=NOW).requests
    assert asked.takes_shared
    assert asked.spec_hash != spec_hash(job().spec)


def test_an_answer_that_is_too_large_is_found_out_before_it_is_written() -> None:
    variable = EnvVar(name="V", value="x" * 10_000)
    repeated = TaskDecoration(env=[variable] * 10_000)
    answer = reply(
        "svc",
        observed(job()),
        decoration=JobDecoration(tasks={f"t{n}": repeated for n in range(10)}),
    )

    def check() -> None:
        with pytest.raises(MessageTooLargeError, match=f"more than {MESSAGE_BYTES_MAX} bytes"):
            check_size(answer)

    assert peak_bytes(check) < 4 * MIB, "written it would take a gigabyte"
    small = reply("svc", observed(job()), decoration=JobDecoration(shared=TaskDecoration()))
    check_size(small)
    assert encode(small)


def test_what_holds_itself_is_left_to_the_encoder() -> None:
    endless: dict[str, Any] = {}
    endless[""] = endless
    decoration = JobDecoration(shared=TaskDecoration(volumes=[endless]))
    answer = reply("svc", observed(job()), decoration=decoration)
    check_size(answer)
    with pytest.raises(CodecError):
        encode(answer)
