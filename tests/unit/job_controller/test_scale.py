"""A job that is scaled down: plugins first, then pods (`logic/scale_down.py`)."""

from dataclasses import dataclass

import msgspec
import pytest

from tests.simulation.stack import Stack, gang_job
from tests.unit.job_controller.builders import (
    NOW,
    created,
    deleted,
    job,
    observed,
    pod,
    podgroup,
    reply,
    task,
    written_status,
)
from tests.unit.job_controller.stack import WITH_ALL_PLUGINS, on_stack, phase
from vc.job_controller.logic import ObservedJob, decide
from vc.job_controller.logic.observation import observe
from vc.messages.plugins import JobDecoration
from vc.model.api.job import Job
from vc.model.api.kinds import (
    CONFIGMAPS,
    JOBS,
)

ALL = ("j-worker-0", "j-worker-1", "j-worker-2")


def scaled(*, applied: bool = False, phase: str = "Running", **others: object) -> ObservedJob:
    """Three pods of a job that wants one now, with svc and env; by default its plugins know three."""
    of = job(phase, tasks=[task(replicas=1)], min_available=1, plugins={"svc": [], "env": []})
    pods = [pod(index) for index in range(3)]
    seen = observed(of, *pods, podgroup=podgroup("Running"), **others)
    noted = observe(seen).hash if applied else "of-three"
    return _noted(seen, noted)


def _noted(seen: ObservedJob, noted: str) -> ObservedJob:
    status = msgspec.structs.replace(seen.job.status, controlled_resources={"plugins-for": noted})
    of: Job = msgspec.structs.replace(seen.job, status=status)
    return msgspec.structs.replace(seen, job=of)


def with_answers(seen: ObservedJob, *plugins: str, about: str = "") -> ObservedJob:
    replies = {name: reply(name, seen, decoration=JobDecoration()) for name in plugins}
    if about:
        replies = {n: msgspec.structs.replace(r, spec_hash=about) for n, r in replies.items()}
    return msgspec.structs.replace(seen, replies=replies)


def without_queue(seen: ObservedJob) -> ObservedJob:
    return msgspec.structs.replace(seen, queue=None)


@dataclass(frozen=True)
class Case:
    id: str
    seen: ObservedJob
    deletes: tuple[str, ...]
    asks: tuple[str, ...]


SURPLUS = ("j-worker-1", "j-worker-2")
CASES = [
    Case("no plugin has replied: requests are sent, no pod is deleted", scaled(), (), ("env", "svc")),
    Case("one has answered: still none", with_answers(scaled(), "env"), (), ("svc",)),
    Case("all have answered: the surplus goes", with_answers(scaled(), "env", "svc"), SURPLUS, ()),
    Case("answers were noted before a restart of ours", scaled(applied=True), SURPLUS, ()),
    Case(
        "an answer about another spec came since: what is noted is not what is written",
        with_answers(scaled(applied=True), "svc", about="of-three"), (), ("env", "svc"),
    ),
    Case("answers about another spec are none", with_answers(scaled(), "env", "svc", about="of-three"), (), ("env", "svc")),
    Case("its queue is gone: requests are sent all the same", without_queue(scaled()), (), ("env", "svc")),
    Case("its queue is gone, all have answered", without_queue(with_answers(scaled(), "env", "svc")), SURPLUS, ()),
    Case("a job that ends waits for no plugin", scaled(phase="Terminating"), ALL, ()),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_surplus_pods_go_after_every_plugin_has_answered(case: Case) -> None:
    decision = decide(case.seen, now=NOW)
    assert tuple(deleted(decision)) == case.deletes
    assert tuple(question.plugin for question in decision.requests) == case.asks
    if case.asks:
        assert decision.wake_after_seconds is not None


def test_the_answers_are_noted_with_the_deletion() -> None:
    seen = with_answers(scaled(), "env", "svc")
    decision = decide(seen, now=NOW)
    noted = written_status(seen.job, decision).controlled_resources["plugins-for"]
    assert noted == observe(seen).hash


def test_a_job_without_plugins_does_not_wait() -> None:
    of = job("Running", tasks=[task(replicas=1)], min_available=1)
    seen = observed(of, *(pod(index) for index in range(3)), podgroup=podgroup("Running"))
    assert tuple(deleted(decide(seen, now=NOW))) == SURPLUS


def restarting(*pods: int) -> ObservedJob:
    """A restart of the first pod, while the job shrinks from three to one."""
    of = job(
        "Restarting",
        tasks=[task(replicas=1)],
        min_available=1,
        plugins={"svc": []},
        notes={"restart": "pod/worker/0", "plugins-for": "of-three"},
        retry=1,
    )
    return observed(of, *(pod(index) for index in pods), podgroup=podgroup("Running"))


def test_a_restart_deletes_what_it_restarts_at_once_and_the_surplus_after_the_answers() -> None:
    seen = restarting(0, 1, 2)
    first = decide(seen, now=NOW)
    assert deleted(first) == ["j-worker-0"]
    assert [question.plugin for question in first.requests] == ["svc"]
    assert deleted(decide(with_answers(restarting(1, 2), "svc"), now=NOW)) == list(SURPLUS)


def test_scaling_down_ends_the_highest_and_up_makes_new_ones() -> None:
    of = job("Running", tasks=[task(replicas=1)])
    assert deleted(decide(observed(of, pod(0), pod(1), podgroup=podgroup()), now=NOW)) == [
        "j-worker-1"
    ]
    of = job("Running", tasks=[task(replicas=3)], min_available=2)
    assert created(decide(observed(of, pod(0), pod(1), podgroup=podgroup()), now=NOW)) == [
        "j-worker-2"
    ]


def test_a_scaled_job_follows() -> None:
    async def scenario(stack: Stack) -> None:
        await stack.submit(gang_job("a", replicas=2, run_seconds=600, plugins={"svc": []}))
        await phase(stack, "a", "Running")
        hosts = _configmap(stack)["VC_WORKER_HOSTS"]
        assert hosts == "a-worker-0.a,a-worker-1.a"
        spec = gang_job("a", replicas=3, min_available=2, run_seconds=600)["spec"]
        patch = {"spec": {"tasks": spec["tasks"], "minAvailable": 2}}
        await stack.cluster.patch(JOBS, patch, name="a", namespace="default")
        await stack.until(lambda: len(stack.pods()) == 3, seconds=20, what="three pods")
        assert _configmap(stack)["VC_WORKER_NUM"] == "3"

    on_stack(scenario, WITH_ALL_PLUGINS)


def _configmap(stack: Stack) -> dict[str, str]:
    found = stack.api.get(
        stack.api.registry.for_kind(CONFIGMAPS), name="a-svc", namespace="default"
    )
    data: dict[str, str] = found["data"]
    return data
