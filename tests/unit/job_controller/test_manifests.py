"""Whole jobs are read once, kept within a bound, and used only if they are the observed job."""

import asyncio
import itertools
from typing import Any

import msgspec
import pytest

from tests.simulation.stack import Stack, gang_job
from tests.unit.job_controller.stack import on_stack, phase
from vc.clock import LoopClock, run_virtual
from vc.cluster import (
    ClusterError,
    ForbiddenError,
    NotFoundError,
    ServerError,
    TooManyRequestsError,
)
from vc.job_controller.logic import work
from vc.job_controller.manifests import READS_AT_ONCE, Manifests
from vc.messages.published import published
from vc.model.api.job import Job
from vc.model.api.kinds import JOBS, PODGROUPS, PODS
from vc.model.api.struct import JsonObject

SECRET = "value-of-the-environment"


def secret_job(name: str, **options: Any) -> JsonObject:
    job = gang_job(name, **options)
    container = job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "PASSWORD", "value": SECRET}]
    return job


class Server:
    """Gives what a test says, and counts."""

    def __init__(self, *replies: JsonObject | ClusterError) -> None:
        self.replies = list(replies)
        self.asked: list[str] = []
        self.at_once = self.at_once_max = 0

    async def get(self, kind: Any, *, name: str, namespace: str) -> JsonObject:
        assert kind is JOBS
        self.asked.append(f"{namespace}/{name}")
        self.at_once += 1
        self.at_once_max = max(self.at_once_max, self.at_once)
        await asyncio.sleep(0.1)
        self.at_once -= 1
        answer = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(answer, ClusterError):
            raise answer
        return answer


def body(name: str = "a", *, uid: str = "u1", generation: int = 1, **spec: Any) -> JsonObject:
    job = secret_job(name)
    job["metadata"] |= {"namespace": "ns", "uid": uid, "generation": generation}
    job["spec"] |= spec
    return job


def observed(raw: JsonObject) -> Job:
    """As the view has it."""
    return published(msgspec.convert(raw, Job))


def manifests(server: Server, **bounds: int) -> Manifests:
    context: Any = type("Context", (), {"cluster": server, "clock": LoopClock()})()
    return Manifests(context, **bounds)


def test_a_job_is_read_once_and_is_whole() -> None:
    async def main() -> None:
        server = Server(body())
        subject, job = manifests(server), observed(body())
        assert subject.of(job) is None
        assert SECRET not in repr(job)
        assert await subject.read(job) is None
        assert SECRET in repr(subject.of(job))
        assert subject.of(job) is subject.of(job)
        assert server.asked == ["ns/a"]
        subject.forget("ns/a")
        assert subject.of(job) is None

    run_virtual(main())


@pytest.mark.parametrize(
    ("read", "why"),
    [
        (body(uid="u2"), "another one has its name"),
        (body(generation=2), "generation 1 is observed, the API server has 2"),
        (body(generation=0), "generation 1 is observed, the API server has 0"),
        (body(minAvailable=1), "is not the one at the API server"),
        (NotFoundError("no such job"), "the job is gone"),
        (ServerError("etcd is away"), "etcd is away"),
        (TooManyRequestsError("slowly"), "slowly"),
        (ForbiddenError("no right"), "no right"),
        (body(minAvailable="many"), "cannot be read"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_job_that_differs_from_the_observed_one_is_not_used(
    read: JsonObject | ClusterError, why: str
) -> None:
    async def main() -> None:
        subject, job = manifests(Server(read)), observed(body())
        unread = await subject.read(job)
        assert unread is not None
        assert why in unread.why
        assert SECRET not in unread.why
        assert subject.of(job) is None

    run_virtual(main())


def test_only_permanent_errors_become_blockers_and_retry_after_is_obeyed() -> None:
    async def main() -> None:
        job = observed(body())
        for error, permanent, seconds in (
            (ForbiddenError("no right"), True, 0.0),
            (ServerError("away"), False, 0.0),
            (NotFoundError("gone"), False, 0.0),
            (TooManyRequestsError("slowly", retry_after_seconds=7.0), False, 7.0),
        ):
            server = Server(error)
            subject = manifests(server)
            unread = await subject.read(job)
            assert unread is not None
            subject.rest(job.key, unread, 5.0)
            again = await subject.read(job)
            assert again is not None
            assert (again.why, again.backoff_seconds) == (unread.why, 5.0)
            assert len(server.asked) == 1
            await asyncio.sleep(5.0)
            await subject.read(job)
            assert len(server.asked) == 2
            assert (unread.blocker is not None) == permanent
            assert unread.retry_after_seconds == seconds

    run_virtual(main())


def test_a_changed_template_is_read_again() -> None:
    """Its outline may be the same: only the generation shows that a value in it has changed."""
    newer = body(generation=2)
    container = newer["spec"]["tasks"][0]["template"]["spec"]["containers"][0]
    container["env"][0]["value"] = "another"

    async def main() -> None:
        subject = manifests(Server(body(), newer))
        first, second = observed(body()), observed(newer)
        assert first.spec == second.spec
        await subject.read(first)
        assert subject.of(second) is None
        await subject.read(second)
        assert "another" in repr(subject.of(second))
        assert subject.of(first) is None

    run_virtual(main())


def test_what_is_kept_is_bounded_and_reads_are_few_at_a_time() -> None:
    class Named(Server):
        async def get(self, kind: Any, *, name: str, namespace: str) -> JsonObject:
            await super().get(kind, name=name, namespace=namespace)
            return body(name)

    async def main() -> None:
        server = Named(body())
        subject = manifests(server, jobs_max=10)
        jobs = [observed(body(f"job-{number}")) for number in range(100)]
        await asyncio.gather(*(subject.read(job) for job in jobs))
        assert server.at_once_max == READS_AT_ONCE
        assert sum(subject.of(job) is not None for job in jobs) == 10
        small = manifests(server, bytes_max=1)
        for job in jobs[:3]:
            assert await small.read(job) is None
            assert small.of(job) is not None
        assert sum(small.of(job) is not None for job in jobs) == 1

    run_virtual(main())


def jobs_read(stack: Stack) -> list[str]:
    """Grows with every job that anybody reads from now on."""
    real, read = stack.cluster.get, list[str]()

    async def get(kind: Any, *, name: str, namespace: str = "") -> JsonObject:
        if kind is JOBS:
            read.append(name)
        return await real(kind, name=name, namespace=namespace)

    stack.cluster.get = get  # type: ignore[method-assign]
    return read


# -- in the shell ------------------------------------------------------------------------------------


def test_one_get_a_job_on_the_happy_path_however_many_pods() -> None:
    async def scenario(stack: Stack) -> None:
        read = jobs_read(stack)
        for name in ("a", "b"):
            await stack.submit(secret_job(name, replicas=40, run_seconds=2))
        for name in ("a", "b"):
            await phase(stack, name, "Completed", seconds=60)
        assert sorted(read) == ["a", "b"]

    assert set(on_stack(scenario).created.values()) == {1}


def test_jobs_that_need_no_pods_are_not_read_at_a_start() -> None:
    async def scenario(stack: Stack) -> None:
        read = jobs_read(stack)
        for number in range(20):
            await stack.submit(secret_job(f"job-{number}", replicas=2, run_seconds=60))
        for number in range(20):
            await phase(stack, f"job-{number}", "Running")
        assert len(read) == 20
        stack.kill("job-controller")
        await stack.clock.sleep(20)
        assert len(read) == 20

    on_stack(scenario)


def test_annotations_of_the_author_reach_the_pod_group_by_the_same_get() -> None:
    async def scenario(stack: Stack) -> None:
        read = jobs_read(stack)
        job = secret_job("a", replicas=2, run_seconds=5)
        job["metadata"]["annotations"] = {
            "example.com/x": SECRET,
            "volcano.sh/sla-waiting-time": "1h",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
        }
        await stack.submit(job)
        await phase(stack, "a", "Running")
        resource = stack.api.registry.for_kind(PODGROUPS)
        group = stack.api.get(resource, name="a", namespace="default")
        assert group["metadata"]["annotations"] == {
            "example.com/x": SECRET,
            "volcano.sh/sla-waiting-time": "1h",
            "volcano.sh/job-version": "0",
        }
        await phase(stack, "a", "Completed")
        assert read == ["a"]

    on_stack(scenario)


def test_pods_wait_for_a_server_that_does_not_give_the_job_and_come_when_it_does() -> None:
    asked: list[float] = []

    async def scenario(stack: Stack) -> None:
        real = stack.cluster.get

        async def get(kind: Any, *, name: str, namespace: str = "") -> JsonObject:
            if kind is JOBS:
                asked.append(stack.clock.monotonic())
                if len(asked) == 1:
                    raise TooManyRequestsError("slowly", retry_after_seconds=3.0)
                if len(asked) < 8:
                    raise ServerError("etcd is away")
            return await real(kind, name=name, namespace=namespace)

        stack.cluster.get = get  # type: ignore[method-assign]
        await stack.submit(secret_job("a", replicas=2, run_seconds=1))
        await phase(stack, "a", "Completed", seconds=60)

    stack = on_stack(scenario)
    assert set(stack.created.values()) == {1}
    waits = [later - sooner for sooner, later in itertools.pairwise(asked)]
    assert len(asked) == 8
    assert waits[0] >= 3.0
    assert waits[-1] > waits[1], "longer and longer"


def test_a_refused_read_is_a_blocker() -> None:
    async def scenario(stack: Stack) -> None:
        real = stack.cluster.get
        refusing = True

        async def get(kind: Any, *, name: str, namespace: str = "") -> JsonObject:
            if kind is JOBS and refusing:
                raise ForbiddenError("jobs is forbidden: no right to get")
            return await real(kind, name=name, namespace=namespace)

        stack.cluster.get = get  # type: ignore[method-assign]
        await stack.submit(secret_job("a", replicas=2, run_seconds=1))
        await stack.until(
            lambda: stack.job("a").status.state.reason == "ReadRefused", seconds=30, what="reported"
        )
        assert "no right to get" in stack.job("a").status.state.message
        refusing = False
        await phase(stack, "a", "Completed", seconds=60)
        assert stack.job("a").status.state.reason == ""

    on_stack(scenario)


def test_a_changed_value_is_in_the_pods_that_are_made_afterwards() -> None:
    async def scenario(stack: Stack) -> None:
        await stack.submit(secret_job("a", replicas=2, run_seconds=600))
        await phase(stack, "a", "Running")
        job = await stack.cluster.get(JOBS, name="a", namespace="default")
        task = job["spec"]["tasks"][0]
        task["template"]["spec"]["containers"][0]["env"][0]["value"] = "another"
        task["replicas"] = 3
        await stack.cluster.patch(JOBS, {"spec": {"tasks": [task]}}, name="a", namespace="default")
        await stack.until(lambda: len(stack.pods()) == 3, seconds=30, what="the third pod")
        resource = stack.api.registry.for_kind(PODS)
        values = []
        for index in range(3):
            pod = stack.api.get(resource, name=f"a-worker-{index}", namespace="default")
            env = pod["spec"]["containers"][0]["env"]
            values += [variable["value"] for variable in env if variable["name"] == "PASSWORD"]
        assert values == [SECRET, SECRET, "another"]

    on_stack(scenario)


def test_more_pods_than_one_decision_makes_come_of_one_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(work, "CREATES_PER_DECISION_MAX", 5)

    async def scenario(stack: Stack) -> None:
        read = jobs_read(stack)
        await stack.submit(secret_job("a", replicas=22, run_seconds=2))
        await phase(stack, "a", "Completed", seconds=60)
        assert read == ["a"]

    assert len(on_stack(scenario).created) == 22
