"""PodDisruptionBudgets: the status, and evictions that a budget allows or refuses.

https://kubernetes.io/docs/tasks/run-application/configure-pdb/
"""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.unit.simcluster.stage import make_pod, play, pod_names, put_pod
from vc.cluster.errors import NotFoundError, ServerError, TooManyRequestsError
from vc.model.api.struct import JsonObject
from vc.simcluster import Api
from vc.simcluster.controllers.disruption import desired_healthy
from vc.simcluster.kubelet.nodes import SimulatedNodes
from vc.simcluster.schema.builtin_resources import BUDGETS, PODS

APP = {"app": "web"}


class Desired(msgspec.Struct, frozen=True):
    """A budget and the number of pods that must stay healthy."""

    id: str
    spec: JsonObject
    pods: int
    healthy: int


DESIRED = [
    Desired("a minimum", {"minAvailable": 2}, 3, 2),
    Desired("a minimum above the number of pods", {"minAvailable": 5}, 3, 5),
    Desired("a minimum in per cent is rounded up", {"minAvailable": "50%"}, 7, 4),
    Desired("a minimum of 0", {"minAvailable": 0}, 3, 0),
    Desired("a maximum", {"maxUnavailable": 1}, 3, 2),
    Desired("a maximum above the number of pods", {"maxUnavailable": 5}, 3, 0),
    Desired("a maximum in per cent is rounded up", {"maxUnavailable": "30%"}, 7, 4),
    Desired("a maximum of 0", {"maxUnavailable": 0}, 3, 3),
    Desired("nothing set means one disruption", {}, 3, 2),
    Desired("nothing set, no pods", {}, 0, 0),
    Desired("an unreadable value counts as 0", {"minAvailable": "half"}, 3, 0),
]


@pytest.mark.parametrize("case", DESIRED, ids=lambda case: case.id)
def test_the_desired_number_of_healthy_pods(case: Desired) -> None:
    assert desired_healthy(case.spec, case.pods) == case.healthy


async def create_budget(api: Api, name: str = "b", **spec: Any) -> None:
    body = {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": APP}, **spec}}
    await api.create(BUDGETS, body, namespace="default")


def status(api: Api) -> JsonObject:
    found: JsonObject = api.get(BUDGETS, name="b", namespace="default")["status"]
    return found


async def evict(api: Api, name: str) -> None:
    await api.evict(namespace="default", name=name, eviction={"metadata": {"name": name}})


async def run_pods(api: Api, *names: str) -> None:
    for name in names:
        await put_pod(api, make_pod(name, labels=APP))
    await asyncio.sleep(1)


def test_the_status_follows_the_pods() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await create_budget(api, minAvailable=1)
        await asyncio.sleep(0.01)
        assert status(api)["expectedPods"] == 0
        await run_pods(api, "p", "q")
        assert status(api) == {
            "observedGeneration": 1, "expectedPods": 2, "currentHealthy": 2, "desiredHealthy": 1,
            "disruptionsAllowed": 1,
        }  # fmt: skip

    play(story)


def test_pods_that_do_not_run_yet_are_not_healthy() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await create_budget(api, minAvailable=1)
        await api.create(PODS, make_pod("p", labels=APP), namespace="default")
        await asyncio.sleep(1)
        assert (status(api)["expectedPods"], status(api)["currentHealthy"]) == (1, 0)
        assert status(api)["disruptionsAllowed"] == 0

    play(story)


def test_finished_pods_do_not_count() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await create_budget(api, maxUnavailable=1)
        await put_pod(api, make_pod("done", labels=APP, run_seconds=1))
        await run_pods(api, "p", "q")
        await asyncio.sleep(2)
        assert (status(api)["expectedPods"], status(api)["disruptionsAllowed"]) == (2, 1)

    play(story)


def test_a_budget_refuses_the_eviction_that_would_violate_it() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await create_budget(api, minAvailable=1)
        await run_pods(api, "p", "q")
        await evict(api, "p")
        with pytest.raises(TooManyRequestsError, match="disruption budget") as caught:
            await evict(api, "q")
        causes = str(caught.value.details["causes"])
        assert "DisruptionBudget" in causes
        assert "needs 1 healthy pods and has 1 currently" in causes

    play(story)


def test_a_pod_that_is_not_bound_may_always_be_evicted() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await create_budget(api, minAvailable=5)
        await api.create(PODS, make_pod("p", labels=APP), namespace="default")
        await evict(api, "p")
        assert pod_names(api) == []

    play(story)


def test_a_finished_pod_may_always_be_evicted() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await create_budget(api, minAvailable=5)
        await put_pod(api, make_pod("p", labels=APP, run_seconds=1))
        await asyncio.sleep(2)
        await evict(api, "p")
        assert pod_names(api) == []

    play(story)


def test_a_pod_of_two_budgets_cannot_be_evicted() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await create_budget(api, minAvailable=0)
        await create_budget(api, "c", minAvailable=0)
        await run_pods(api, "p")
        with pytest.raises(ServerError, match="more than one PodDisruptionBudget"):
            await evict(api, "p")

    play(story)


def test_pods_that_no_budget_selects_are_evicted() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await create_budget(api, minAvailable=5)
        await put_pod(api, make_pod("other", labels={"app": "db"}, grace_seconds=0))
        await asyncio.sleep(1)
        await evict(api, "other")
        await asyncio.sleep(31)
        assert pod_names(api) == []

    play(story)


def test_evicting_an_absent_pod_is_not_found() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        with pytest.raises(NotFoundError, match='pods "absent" not found'):
            await evict(api, "absent")

    play(story)


def test_an_unchanged_status_is_not_written() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await create_budget(api, minAvailable=1)
        await run_pods(api, "p")
        before = api.get(BUDGETS, name="b", namespace="default")["metadata"]["resourceVersion"]
        await put_pod(api, make_pod("other"))
        await asyncio.sleep(1)
        after = api.get(BUDGETS, name="b", namespace="default")["metadata"]["resourceVersion"]
        assert after == before

    play(story)
