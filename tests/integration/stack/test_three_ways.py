"""One story, told three ways: in memory, as processes on Kafka and Redis, and on a real API server.

Two gangs of which one fits, a queue that is too small, the users' own manifests with all their plugins,
and a deletion after which nothing is left. The story asks over HTTP alone and does not know where it is
told; nodes are eight of 64 CPUs each time. On the real kube-apiserver with etcd, where KWOK plays the
kubelets, RBAC is on and each service has its own account.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.error import HTTPError

import pytest

from tests.integration.stack.running import (
    RunningStack,
    RunningUp,
    api_request,
    eventually,
    gang,
    require,
    run_for,
)
from tests.simulation.seeds import (
    GROUND,
    KINDS,
    SEEDS,
    Seed,
    check_pod,
    check_service,
    documents,
)
from vc.clock import LoopClock
from vc.model.api import kinds
from vc.model.api.keys import JOB_NAME, SIM_RUN_SECONDS
from vc.model.api.kinds import Kind
from vc.model.api.struct import JsonObject

pytestmark = [pytest.mark.slow, pytest.mark.timeout(700), pytest.mark.xdist_group("stack")]

FIRST_SECONDS_MAX = 120.0
SEEDS_SECONDS_MAX = 240.0
CLEAN_SECONDS_MAX = 120.0
RUN_SECONDS = {"4": 12, "3": 12, "5": 12, "6": 20, "60": 300}
"""What the seeds' annotation becomes: long enough to be looked at on a busy machine."""
GANG_PODS = 6
GANG_CPU = "40"
"""One pod a node: each gang needs six of the eight."""
GANG_RUN_SECONDS = 3.0
WAITS_SECONDS = 3.0
"""For how long a job that must wait is looked at."""
CONFLICT = 409
FORBIDDEN = 403
OWNED = (kinds.PODS, kinds.PODGROUPS, kinds.SERVICES, kinds.CONFIGMAPS, kinds.SECRETS, kinds.NETWORKPOLICIES)  # fmt: skip
"""What the end of a job must leave none of."""


class Way(Protocol):
    """Where the story is told."""

    def up(self) -> None: ...

    def request(self, method: str, path: str, body: object = None) -> dict[str, Any]: ...

    def down(self) -> None: ...


def on_kafka(home: Path) -> RunningStack:
    require("kafka", "redis")
    return RunningStack(home)


def on_kubernetes(home: Path) -> RunningStack:
    require("kafka", "redis", "kubernetes", "kwok")
    return RunningStack(home, CLUSTER="kubernetes")


WAYS: dict[str, Callable[[Path], Way]] = {
    "in memory": RunningUp,
    "as processes on Kafka and Redis": on_kafka,
    "on a real API server": on_kubernetes,
}
_KAFKA = (pytest.mark.kafka, pytest.mark.redis)


@pytest.fixture(
    params=[
        pytest.param("in memory"),
        pytest.param("as processes on Kafka and Redis", marks=_KAFKA),
        pytest.param("on a real API server", marks=(*_KAFKA, pytest.mark.kubernetes)),
    ]
)
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Way]:
    """A stack that is up; it ends in order, and leaves no process."""
    started = WAYS[request.param](tmp_path)
    clock = LoopClock()
    began = clock.monotonic()
    started.up()
    print(f"\n{request.param}: up in {clock.monotonic() - began:.1f} s")
    try:
        if request.param == "on a real API server":
            rights_are_asked_for(tmp_path / "accounts")
        yield started
    finally:
        started.down()


def test_the_story_is_the_same_whatever_it_is_told_on(way: Way) -> None:
    story = Story(way)
    story.of_two_gangs_one_fits()
    story.a_queue_holds_what_it_may()
    story.the_seeds_end_where_they_promise()
    story.deleted_jobs_leave_nothing()


def path(kind: Kind, namespace: str = "", name: str = "") -> str:
    group = "/api/v1" if kind.api_version == "v1" else f"/apis/{kind.api_version}"
    within = f"/namespaces/{namespace}" if kind.namespaced and namespace else ""
    return f"{group}{within}/{kind.plural}" + (f"/{name}" if name else "")


class Story:
    """The chapters, in their order; each leaves the cluster as the next one wants it."""

    def __init__(self, way: Way) -> None:
        self._way = way

    # -- asking ------------------------------------------------------------------------------------

    def read(self, kind: Kind, name: str, namespace: str) -> JsonObject:
        return self._way.request("GET", path(kind, namespace, name))

    def all(self, kind: Kind) -> list[JsonObject]:
        found: list[JsonObject] = self._way.request("GET", path(kind))["items"]
        return found

    def make(self, body: JsonObject) -> None:
        """As `kubectl apply` of something new; what is there already stays as it is."""
        kind = KINDS[body["kind"]]
        namespace = body["metadata"].get("namespace", "default")
        try:
            self._way.request("POST", path(kind, namespace), body)
        except HTTPError as error:
            if error.code != CONFLICT:
                raise AssertionError(f"{body['metadata']}: {error.read().decode()}") from error

    def phase(self, job: str, namespace: str = "default") -> str:
        status = self.read(kinds.JOBS, job, namespace).get("status", {})
        found: str = status.get("state", {}).get("phase", "")
        return found

    def is_completed(self, *jobs: str) -> bool:
        return all(self.phase(job) == "Completed" for job in jobs)

    def holding_nodes(self) -> dict[str, int]:
        """Pods that hold a node at one moment, by job."""
        held: dict[str, int] = {}
        for pod in self.all(kinds.PODS):
            job = pod["metadata"].get("labels", {}).get(JOB_NAME, "")
            ended = pod["status"].get("phase") in ("Succeeded", "Failed")
            if job and pod["spec"].get("nodeName") and not ended:
                held[job] = held.get(job, 0) + 1
        return held

    # -- the chapters ------------------------------------------------------------------------------

    def of_two_gangs_one_fits(self) -> None:
        """Whoever comes first has all its nodes; the other has none until it ended, then all."""
        names = ("gang-a", "gang-b")
        for name in names:
            self.make(gang(name, pods=GANG_PODS, cpu=GANG_CPU, run_seconds=GANG_RUN_SECONDS))
        whole: set[str] = set()

        def both_ended() -> bool:
            held = self.holding_nodes()
            assert len(held) <= 1, f"both hold nodes: {held}"
            whole.update(name for name, pods in held.items() if pods == GANG_PODS)
            return self.is_completed(*names)

        eventually(both_ended, "both gangs ran", seconds_max=FIRST_SECONDS_MAX)
        assert whole == set(names)

    def a_queue_holds_what_it_may(self) -> None:
        """A gang that its queue has no room for waits, and runs when the queue is given more."""
        queue = {
            "apiVersion": kinds.QUEUES.api_version,
            "kind": kinds.QUEUES.kind,
            "metadata": {"name": "small"},
            "spec": {"weight": 1, "capability": {"cpu": "1"}},
        }
        self.make(queue)
        eventually(lambda: self._is_open("small"), "the queue is open")
        self.make(gang("patient", pods=2, queue="small"))
        clock = LoopClock()
        until = clock.monotonic() + WAITS_SECONDS
        while clock.monotonic() < until:
            assert self.holding_nodes() == {}
            assert self.phase("patient") in ("", "Pending")
        wider = self.read(kinds.QUEUES, "small", "")
        wider["spec"]["capability"]["cpu"] = "4"
        self._way.request("PUT", path(kinds.QUEUES, name="small"), wider)
        eventually(lambda: self.is_completed("patient"), "it runs")

    def _is_open(self, queue: str) -> bool:
        return bool(self.read(kinds.QUEUES, queue, "").get("status", {}).get("state") == "Open")

    def the_seeds_end_where_they_promise(self) -> None:
        """Plugins included: variables, mounts, host names, services and what commands refer to."""
        for file in (GROUND, *(seed.file for seed in SEEDS)):
            for document in documents(file):
                self.make(_slowed(document))
        look = Look(self, SEEDS)
        try:
            eventually(look.all_there, "every phase", seconds_max=SEEDS_SECONDS_MAX)
        finally:
            print({seed.job: self.phase(seed.job, seed.namespace) for seed in SEEDS})
        for seed in SEEDS:
            assert len(look.pods[seed.namespace, seed.job]) == seed.pods, seed.job
            if seed.kept is not None:
                assert look.left(seed) == seed.kept

    def deleted_jobs_leave_nothing(self) -> None:
        """Some of them run, others have ended."""
        jobs = self.all(kinds.JOBS)
        assert len(jobs) == len(SEEDS) + 3
        for job in jobs:
            metadata = job["metadata"]
            self._way.request(
                "DELETE",
                path(kinds.JOBS, metadata["namespace"], metadata["name"]),
                {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"},
            )
        eventually(lambda: not self._left(), "nothing is left", seconds_max=CLEAN_SECONDS_MAX)

    def _left(self) -> list[str]:
        found = [f"Job {job['metadata']['name']}" for job in self.all(kinds.JOBS)]
        for kind in OWNED:
            found += [
                f"{kind.kind} {each['metadata']['name']}"
                for each in self.all(kind)
                for owner in each["metadata"].get("ownerReferences", [])
                if owner["kind"] == kinds.JOBS.kind
            ]
        return found


def _slowed(document: JsonObject) -> JsonObject:
    for task in document.get("spec", {}).get("tasks", []):
        annotations = task["template"].get("metadata", {}).get("annotations", {})
        if SIM_RUN_SECONDS in annotations:
            annotations |= run_for(RUN_SECONDS[annotations[SIM_RUN_SECONDS]])
    return document


class Look:
    """Checks every pod once, when it is first seen, and remembers it."""

    def __init__(self, story: Story, seeds: list[Seed]) -> None:
        self._story = story
        self._seeds = {(seed.namespace, seed.job): seed for seed in seeds}
        self.pods: dict[tuple[str, str], dict[str, JsonObject]] = {key: {} for key in self._seeds}

    def all_there(self) -> bool:
        """Look; whether each job has reached what it promises."""
        for pod in self._story.all(kinds.PODS):
            metadata = pod["metadata"]
            key = (metadata["namespace"], metadata.get("labels", {}).get(JOB_NAME, ""))
            if key in self._seeds and metadata["name"] not in self.pods[key]:
                check_pod(self._story.read, self._seeds[key], pod)
                self.pods[key][metadata["name"]] = pod
                if self._seeds[key].has_service:
                    check_service(self._story.read, self._seeds[key], self.pods[key])
        return all(
            self._story.phase(seed.job, seed.namespace) == seed.phase
            for seed in self._seeds.values()
        )

    def left(self, seed: Seed) -> set[str]:
        return {
            pod["metadata"]["name"]
            for pod in self._story.all(kinds.PODS)
            if pod["metadata"].get("labels", {}).get(JOB_NAME) == seed.job
        }


def rights_are_asked_for(accounts: Path) -> None:
    """RBAC is on: the dashboard only watches, so it has no right to delete anything."""
    (dashboard,) = [file for file in accounts.iterdir() if "dashboard" in file.name]
    with pytest.raises(HTTPError) as refused:
        api_request(dashboard, "DELETE", path(kinds.JOBS, "default", "any"))
    assert refused.value.code == FORBIDDEN
    refused.value.close()
