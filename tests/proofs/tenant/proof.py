"""One seed: a tenant with the chart's `edit` role writes what it likes; another submits ordinary jobs.

The hostile tenant may write every namespaced object of its namespace, statuses of pod groups included. By
a quota its pods may have the class `low` or none. Half of the seeds have our webhooks, half have not; without them it
leaves the queue of groups that have started as it is (SECURITY.md, L12). In the end every job of the others has completed, at its first attempt and with pods that were made once, so
that none was evicted; no queue has changed its state; no pod of the tenant was bound while its group was in a
queue that is closed, or not for it; no service ended by itself and no node was over its allocatable.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from tests.proofs.runner import Outcome, Proof
from tests.proofs.tenant import attacks
from tests.proofs.tenant.door import Door
from tests.simulation.stack import CORE, Stack, gang_job
from vc.clock import run_virtual
from vc.cluster import ClusterError
from vc.model.api.keys import ALLOWED_NAMESPACES, HONOR_NON_PREEMPTABLE
from vc.model.api.kinds import (
    COMMANDS,
    JOBS,
    NAMESPACES,
    PODGROUPS,
    PODS,
    PRIORITYCLASSES,
    QUEUES,
    Kind,
)
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup
from vc.model.api.struct import JsonObject, ResourceList
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.kubelet.node_pools import NodePool

GOOD: Final = "good"
EVIL: Final = attacks.EVIL
CAPACITY: Final[ResourceList] = {"cpu": "16", "memory": "64Gi", "pods": "110"}
POOLS: Final = (NodePool(count=2, capacity=CAPACITY),)
STORM_SECONDS: Final = 120.0
STARTED_SECONDS_MAX: Final = 3600.0
"""Claims end after ten minutes, rests after five: whoever waits longer waits for ever."""
CLASSES: Final = {"low": 10, "normal": 100, "high": 1000}
NOT_HERS: Final = ("vip", "shut")
DECIDED_SECONDS_MAX: Final = 30.0
"""A bind may be written so long after the session that decided it."""


class Tenant:
    """Writes at random, and does not mind being refused."""

    def __init__(self, stack: Stack, rng: random.Random, *, webhooks: bool) -> None:
        self._webhooks = webhooks
        self._cluster = StoreCluster(stack.api, user="mallory")
        self._stack = stack
        self._chance = rng
        self._made = 0
        self.written = self.refused = 0

    async def write(self) -> None:
        """One object, or one change."""
        rng = self._chance
        self._made += 1
        name = f"e-{self._made}"
        what = rng.choices(
            ("podgroup", "pod", "job", "command", "change", "delete"), weights=(5, 4, 2, 3, 8, 1)
        )[0]
        try:
            await self._do(what, name)
            self.written += 1
        except ClusterError:
            self.refused += 1

    async def _do(self, what: str, name: str) -> None:
        rng, cluster = self._chance, self._cluster
        groups = self._groups()
        match what:
            case "podgroup":
                await cluster.create(PODGROUPS, attacks.podgroup(rng, name), namespace=EVIL)
            case "pod":
                group = rng.choice(groups) if groups and rng.random() < 0.7 else ""
                await cluster.create(PODS, attacks.pod(rng, name, group), namespace=EVIL)
            case "job":
                await cluster.create(JOBS, attacks.job(rng, name), namespace=EVIL)
            case "command":
                await cluster.create(COMMANDS, attacks.command(rng, name), namespace=EVIL)
            case "change" if groups:
                chosen, patch = rng.choice(groups), attacks.change(rng)
                if not self._webhooks and self._started(chosen):
                    patch.get("spec", {}).pop("queue", None)
                await cluster.patch(PODGROUPS, patch, name=chosen, namespace=EVIL)
            case "delete" if groups:
                await cluster.delete(PODGROUPS, name=rng.choice(groups), namespace=EVIL)

    def _started(self, group: str) -> bool:
        """Whether one of its pods was bound."""
        key = f"{EVIL}/{group}"
        return any(_group(p) == key and p.spec.node_name for p in objects(self._stack, PODS))

    def _groups(self) -> list[str]:
        return sorted(
            g.metadata.name for g in groups_of(self._stack) if g.metadata.namespace == EVIL
        )


class Witness:
    """Remembers the queues that each pod group of the tenant was in, and when each of her pods was bound."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._queues: dict[str, list[tuple[float, str]]] = defaultdict(list)
        """By group: since when it is in which queue."""
        self._bound: dict[str, tuple[float, Pod]] = {}

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[None]:
        """While the body runs."""
        tasks = [asyncio.create_task(self._groups()), asyncio.create_task(self._pods())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _groups(self) -> None:
        async for group in self._watched(PODGROUPS):
            known = self._queues[group.key]
            if not known or known[-1][1] != group.spec.queue:
                known.append((self._stack.clock.monotonic(), group.spec.queue))

    async def _pods(self) -> None:
        async for pod in self._watched(PODS):
            if pod.spec.node_name:
                self._bound.setdefault(pod.metadata.uid, (self._stack.clock.monotonic(), pod))

    async def _watched(self, kind: Kind) -> AsyncIterator[Any]:
        events = self._stack.cluster.watch(kind, resource_version="0", timeout_seconds=1e9)
        async for event in events:
            if event.type not in ("ADDED", "MODIFIED"):
                continue
            obj = msgspec.json.decode(event.object, type=kind.type)
            if obj.metadata.namespace == EVIL:
                yield obj

    def intruders(self) -> list[str]:
        """Pods that were bound although their group was in a forbidden queue all the time before."""
        found: list[str] = []
        for at, pod in self._bound.values():
            queues = self._queues_at(_group(pod), at)
            if queues and queues <= set(NOT_HERS):
                found.append(f"{pod.key} was bound in queue {', '.join(sorted(queues))}")
        return found

    def _queues_at(self, group: str, at: float) -> set[str]:
        """Those it was in when a bind of that time was decided."""
        known = self._queues.get(group, [])
        ends = [since for since, _ in known[1:]] + [float("inf")]
        return {
            queue
            for (since, queue), until in zip(known, ends, strict=True)
            if since <= at and until >= at - DECIDED_SECONDS_MAX
        }


def objects(stack: Stack, kind: Kind) -> list[Any]:
    """All objects of a kind."""
    resource = stack.api.registry.for_kind(kind)
    return [msgspec.json.decode(raw, type=kind.type) for raw in stack.api.list(resource).items]


def groups_of(stack: Stack) -> list[PodGroup]:
    """All pod groups; their statuses may be anything that the definition lets through."""
    return objects(stack, PODGROUPS)


def prove(seed: int) -> Outcome:
    """What became of the others' jobs."""
    return run_virtual(_history(seed))


async def _history(seed: int) -> Outcome:
    rng = random.Random(f"tenant/{seed}")
    webhooks = seed % 2 == 0
    services = (*CORE, "podgroup-controller")
    failures: list[str] = []
    async with Stack(seed=seed, services=services, pools=POOLS) as stack:
        await _furnish(stack)
        quota = {EVIL: frozenset({"", "low"})}
        stack.api.admission = Door(stack.api, webhooks=webhooks, quota=quota)
        tenant, witness = Tenant(stack, rng, webhooks=webhooks), Witness(stack)
        async with witness.looking():
            jobs = await _storm(stack, tenant, rng)
            try:
                await _until_completed(stack, tenant, jobs, rng)
            except AssertionError as error:
                phases = {name: stack.job(name, GOOD).status.state.phase for name in jobs}
                failures.append(f"{error}; phases {phases}; webhooks {webhooks}")
        failures += [*_judge(stack, jobs), *witness.intruders(), *stack.problems]
        counts = {
            "jobs of others": len(jobs),
            "objects written": tenant.written,
            "refused": tenant.refused,
            "deaths": sum(len(lives) - 1 for lives in stack.lives.values()),
        }
        return Outcome(counts=counts, failures=tuple(failures))


async def _furnish(stack: Stack) -> None:
    """Namespaces, classes, and queues that the tenant has no rights on."""
    admin = StoreCluster(stack.api, user="pyroclast-admin")
    for name in (GOOD, EVIL):
        await admin.create(NAMESPACES, _object("v1", "Namespace", name))
    for name, value in CLASSES.items():
        made = _object(PRIORITYCLASSES.api_version, "PriorityClass", name)
        await admin.create(PRIORITYCLASSES, {**made, "value": value})
    for name, notes in (
        ("default", {HONOR_NON_PREEMPTABLE: "false"}),
        ("vip", {ALLOWED_NAMESPACES: GOOD}),
        ("shut", {}),
    ):
        queue = _object(QUEUES.api_version, "Queue", name)
        queue["metadata"]["annotations"] = notes
        queue["spec"] = {"weight": 1, "reclaimable": False}
        await admin.create(QUEUES, queue)
    await admin.patch(QUEUES, {"status": {"state": "Closed"}}, name="shut", subresource="status")


def _object(api_version: str, kind: str, name: str) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}


async def _storm(stack: Stack, tenant: Tenant, rng: random.Random) -> list[str]:
    """Both tenants submit; the scheduler dies now and then, so that a new one reads what is written."""
    jobs: list[str] = []
    grace = StoreCluster(stack.api, user="grace")
    while (now := stack.clock.monotonic()) < STORM_SECONDS:
        await tenant.write()
        if now > 10 and len(jobs) < 4 and rng.random() < 0.05:
            job = gang_job(
                f"good-{len(jobs)}",
                replicas=rng.choice((1, 2, 4)),
                cpu=rng.choice(("4", "8")),
                run_seconds=rng.choice((10, 120)),
                queue="default",
            )
            job["spec"]["priorityClassName"] = "normal"
            await grace.create(JOBS, job, namespace=GOOD)
            jobs.append(f"good-{len(jobs)}")
        if rng.random() < 0.02:
            stack.kill(rng.choice(("scheduler", "queue-controller", "job-controller")))
        await stack.clock.sleep(rng.choice((0.2, 1.0, 3.0)))
    return jobs


async def _until_completed(
    stack: Stack, tenant: Tenant, jobs: list[str], rng: random.Random
) -> None:
    """The tenant goes on, more slowly."""
    deadline = stack.clock.monotonic() + STARTED_SECONDS_MAX
    while any(stack.job(name, GOOD).status.state.phase != "Completed" for name in jobs):
        assert stack.clock.monotonic() < deadline, "not every job of the others is completed"
        await tenant.write()
        await stack.clock.sleep(rng.choice((5.0, 30.0)))


def _judge(stack: Stack, jobs: list[str]) -> list[str]:
    wrong = [f"{name} was retried" for name in jobs if stack.job(name, GOOD).status.retry_count]
    wrong += [
        f"{pod} made {n} times"
        for pod, n in stack.created.items()
        if n > 1 and pod.startswith(f"{GOOD}/")
    ]
    states = {q.metadata.name: q.status.state for q in objects(stack, QUEUES)}
    expected = {"default": "Open", "vip": "Open", "shut": "Closed"}
    known = {q: "Closed" if state == "Closing" else state for q, state in states.items()}
    return wrong + [
        f"queue {q} is {known.get(q)}" for q, want in expected.items() if known.get(q) != want
    ]


def _group(pod: Pod) -> str:
    name = pod.metadata.annotations.get("scheduling.k8s.io/group-name", "")
    return f"{pod.metadata.namespace}/{name}"


PROOF: Final = Proof(name="tenant", title="hostile tenants", prove=prove)
