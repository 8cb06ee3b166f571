"""The leaders' shells on the in-memory stack: plain pods get groups, queues get states."""

import logging
from itertools import count
from typing import Any

import msgspec
import pytest

from tests.simulation.stack import Stack
from vc.clock import run_virtual
from vc.model.api import keys
from vc.model.api.kinds import COMMANDS, PODGROUPS, PODS, QUEUES, REPLICASETS
from vc.model.api.scheduling import PodGroup, Queue
from vc.model.api.struct import JsonObject
from vc.runtime.hosting.context import Service

SERVICES = ("watcher", "podgroup-controller", "queue-controller")


def plain_pod(name: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "volcano",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m"}}}],
        },
    }


def groups(stack: Stack) -> list[PodGroup]:
    raw = stack.api.list(stack.api.registry.for_kind(PODGROUPS)).items
    return [msgspec.json.decode(each, type=PodGroup) for each in raw]


def queue(stack: Stack, name: str) -> Queue:
    return msgspec.convert(stack.api.get(stack.api.registry.for_kind(QUEUES), name=name), Queue)


def test_a_plain_pod_is_grouped_once_and_counts_in_its_queue() -> None:
    async def main() -> None:
        async with Stack(services=SERVICES) as stack:
            made = await stack.cluster.create(PODS, plain_pod("p"), namespace="default")
            await stack.until(lambda: bool(groups(stack)), seconds=20, what="a group")
            await stack.clock.sleep(5)
            (group,) = groups(stack)
            assert group.metadata.name == f"podgroup-{made['metadata']['uid']}"
            assert group.spec.queue == "default"
            (pod,) = stack.pods()
            assert pod.metadata.annotations[keys.GROUP_NAME] == group.metadata.name
            assert queue(stack, "default").status.pending == 1
            assert stack.problems == []
            life = stack.lives["podgroup-controller"][0]
            assert life.points.count("after cluster.patch") == 1

    run_virtual(main())


def test_a_decision_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> str:
        async with Stack(services=SERVICES) as stack:
            made = await stack.cluster.create(PODS, plain_pod("p"), namespace="default")
            await stack.until(lambda: bool(groups(stack)), seconds=20, what="a group")
            await stack.clock.sleep(30)
            return f"default/podgroup-{made['metadata']['uid']}"

    caplog.set_level(logging.INFO, logger="pyroclast")
    group = run_virtual(main())
    said = [record for record in caplog.records if record.name == "pyroclast.podgroup-controller"]
    about = [(r.getMessage(), r.__dict__["group"]) for r in said if "group" in r.__dict__]
    assert about == [("pod group created pods=1", group)]
    said = [record for record in caplog.records if record.name == "pyroclast.queue-controller"]
    made = [(r.__dict__["queue"], r.getMessage()) for r in said if "queue" in r.__dict__]
    assert sorted(made) == [
        ("default", "queue created"),
        ("default", "queue state changed state=Open"),
        ("root", "queue created"),
        ("root", "queue state changed state=Open"),
    ], "counters that move are no decision"


def test_a_queue_is_closed_by_command_and_drains() -> None:
    async def main() -> None:
        async with Stack(services=SERVICES) as stack:
            await stack.clock.sleep(5)
            body = {
                "apiVersion": QUEUES.api_version,
                "kind": QUEUES.kind,
                "metadata": {"name": "q"},
                "spec": {"weight": 1},
            }
            made = await stack.cluster.create(QUEUES, body)
            pod = plain_pod("p")
            pod["metadata"]["annotations"] = {keys.QUEUE_NAME_ANNOTATION: "q"}
            await stack.cluster.create(PODS, pod, namespace="default")
            await stack.until(lambda: bool(groups(stack)), seconds=20, what="a group")
            close = {
                "apiVersion": COMMANDS.api_version,
                "kind": COMMANDS.kind,
                "metadata": {"generateName": "q-"},
                "action": "CloseQueue",
                "target": {
                    "apiVersion": QUEUES.api_version,
                    "kind": "Queue",
                    "name": "q",
                    "uid": made["metadata"]["uid"],
                },
            }
            await stack.cluster.create(COMMANDS, close, namespace=keys.SYSTEM_NAMESPACE)
            await stack.until(
                lambda: queue(stack, "q").status.state == "Closing", seconds=20, what="closing"
            )
            await stack.cluster.delete(PODS, name="p", namespace="default", grace_seconds=0)
            await stack.until(
                lambda: queue(stack, "q").status.state == "Closed", seconds=60, what="closed"
            )
            assert queue(stack, "q").spec.parent == "root"
            assert not stack.api.list(stack.api.registry.for_kind(COMMANDS)).items
            assert stack.problems == []

    run_virtual(main())


def test_a_standby_with_work_it_may_not_do_does_not_spin() -> None:
    """It looked a thousand times a second: what is due stays due while another replica leads."""

    async def main() -> None:
        replicas = ("podgroup-controller", "podgroup-controller@2")
        async with Stack(services=("watcher", "queue-controller", *replicas)) as stack:
            await stack.clock.sleep(10)
            await stack.cluster.create(PODS, plain_pod("p"), namespace="default")
            await stack.until(lambda: bool(groups(stack)), seconds=20, what="a group")
            counted = [_count_polls(stack.running[name]) for name in replicas]
            await stack.clock.sleep(SECONDS)
            polls = [next(counter) for counter in counted]
            assert max(polls) <= SECONDS * POLLS_PER_SECOND_MAX, polls

    run_virtual(main())


def test_a_group_that_was_deleted_is_forgotten_when_it_is_seen_to_be_gone() -> None:
    """Once it was remembered for ever, one uid for each workload that was scaled to nothing."""

    async def main() -> None:
        async with Stack(services=SERVICES) as stack:
            body = {
                "apiVersion": REPLICASETS.api_version,
                "kind": REPLICASETS.kind,
                "metadata": {"name": "rs"},
                "spec": {"replicas": 1},
            }
            owner = await stack.cluster.create(REPLICASETS, body, namespace="default")
            reference = {
                "apiVersion": REPLICASETS.api_version,
                "kind": REPLICASETS.kind,
                "name": "rs",
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
            await stack.clock.sleep(10)
            controller: Any = stack.running["podgroup-controller"]
            ended = _remember_all(controller)
            for turn in range(TURNS):
                pod = plain_pod(f"p-{turn}")
                pod["metadata"]["ownerReferences"] = [reference]
                await _scale(stack, 1)
                await stack.cluster.create(PODS, pod, namespace="default")
                await stack.until(lambda: bool(groups(stack)), seconds=20, what="a group")
                await stack.clock.sleep(1)
                await _scale(stack, 0)
                await stack.cluster.delete(
                    PODS, name=f"p-{turn}", namespace="default", grace_seconds=0
                )
                await stack.until(lambda: not groups(stack), seconds=20, what="no group")
                await stack.clock.sleep(1)
            assert len(ended) == TURNS, "each was remembered for a while"
            assert controller._ended == set()
            assert stack.problems == []

    run_virtual(main())


async def _scale(stack: Stack, replicas: int) -> None:
    patch = {"spec": {"replicas": replicas}}
    await stack.cluster.patch(REPLICASETS, patch, name="rs", namespace="default")


def _remember_all(controller: Any) -> list[str]:
    """All that the controller ever takes for ended, in their order."""
    seen: list[str] = []

    class Recording(set[str]):
        def add(self, uid: str) -> None:
            seen.append(uid)
            super().add(uid)

    controller._ended = Recording()
    return seen


def _count_polls(service: Service) -> "count[int]":
    """Counts how often a service looks at the bus."""
    follower: Any = service._lead.follower  # type: ignore[attr-defined] # no public access
    counter, poll = count(), follower.poll

    async def counted(**how: Any) -> Any:
        next(counter)
        return await poll(**how)

    follower.poll = counted
    return counter


SECONDS = 10
TURNS = 3
POLLS_PER_SECOND_MAX = 25
