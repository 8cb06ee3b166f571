"""One seed: a tenant with the chart's `edit` role writes what it likes; another submits ordinary jobs.

The hostile tenant may write every namespaced object of its namespace, statuses of pod groups included. By
a quota its pods may have the class `low` or none. Half of the seeds have our webhooks, half have not. In
the end every job of the others has completed, at its first attempt and with pods that were made once, so
that none was evicted; no queue has changed its state; nothing of the tenant ran in a queue that is closed,
or not for it; no service ended by itself and no node was over its allocatable.
"""

import random
from typing import Any, Final

import msgspec

from tests.proofs.runner import Outcome, Proof
from tests.proofs.tenant import attacks
from tests.proofs.tenant.door import Door
from tests.simulation.stack import CORE, Stack, gang_job
from vc_clock import run_virtual
from vc_cluster import ClusterError
from vc_model.keys import ALLOWED_NAMESPACES, HONOR_NON_PREEMPTABLE
from vc_model.kinds import (
    COMMANDS,
    JOBS,
    NAMESPACES,
    PODGROUPS,
    PODS,
    PRIORITYCLASSES,
    QUEUES,
    Kind,
)
from vc_model.pod import Pod
from vc_model.scheduling import PodGroup
from vc_model.struct import JsonObject, ResourceList
from vc_simcluster.cluster import StoreCluster
from vc_simcluster.node_pools import NodePool

GOOD: Final = "good"
EVIL: Final = attacks.EVIL
CAPACITY: Final[ResourceList] = {"cpu": "16", "memory": "64Gi", "pods": "110"}
POOLS: Final = (NodePool(count=2, capacity=CAPACITY),)
STORM_SECONDS: Final = 120.0
STARTED_SECONDS_MAX: Final = 3600.0
"""Claims end after ten minutes, rests after five: whoever waits longer waits for ever."""
CLASSES: Final = {"low": 10, "normal": 100, "high": 1000}
NOT_HERS: Final = ("vip", "shut")


class Tenant:
    """Writes at random, and does not mind being refused."""

    def __init__(self, stack: Stack, chance: random.Random) -> None:
        self._cluster = StoreCluster(stack.api, user="mallory")
        self._stack = stack
        self._chance = chance
        self._made = 0
        self.written = self.refused = 0

    async def write(self) -> None:
        """One object, or one change."""
        chance = self._chance
        self._made += 1
        name = f"e-{self._made}"
        what = chance.choices(
            ("podgroup", "pod", "job", "command", "change", "delete"), weights=(5, 4, 2, 3, 8, 1)
        )[0]
        try:
            await self._do(what, name)
            self.written += 1
        except ClusterError:
            self.refused += 1

    async def _do(self, what: str, name: str) -> None:
        chance, cluster = self._chance, self._cluster
        groups = self._groups()
        match what:
            case "podgroup":
                await cluster.create(PODGROUPS, attacks.podgroup(chance, name), namespace=EVIL)
            case "pod":
                group = chance.choice(groups) if groups and chance.random() < 0.7 else ""
                await cluster.create(PODS, attacks.pod(chance, name, group), namespace=EVIL)
            case "job":
                await cluster.create(JOBS, attacks.job(chance, name), namespace=EVIL)
            case "command":
                await cluster.create(COMMANDS, attacks.command(chance, name), namespace=EVIL)
            case "change" if groups:
                chosen, patch = chance.choice(groups), attacks.change(chance)
                await cluster.patch(PODGROUPS, patch, name=chosen, namespace=EVIL)
            case "delete" if groups:
                await cluster.delete(PODGROUPS, name=chance.choice(groups), namespace=EVIL)

    def _groups(self) -> list[str]:
        return sorted(
            g.metadata.name for g in groups_of(self._stack) if g.metadata.namespace == EVIL
        )


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
    chance = random.Random(f"tenant/{seed}")
    webhooks = seed % 2 == 0
    services = (*CORE, "podgroup-controller")
    failures: list[str] = []
    async with Stack(seed=seed, services=services, pools=POOLS) as stack:
        await _furnish(stack)
        quota = {EVIL: frozenset({"", "low"})}
        stack.api.admission = Door(stack.api, webhooks=webhooks, quota=quota)
        tenant = Tenant(stack, chance)
        jobs = await _storm(stack, tenant, chance)
        try:
            await _until_completed(stack, tenant, jobs, chance)
        except AssertionError as error:
            phases = {name: stack.job(name, GOOD).status.state.phase for name in jobs}
            failures.append(f"{error}; phases {phases}; webhooks {webhooks}")
        failures += [*_judge(stack, jobs), *stack.problems]
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


async def _storm(stack: Stack, tenant: Tenant, chance: random.Random) -> list[str]:
    """Both tenants submit; the scheduler dies now and then, so that a new one reads what is written."""
    jobs: list[str] = []
    grace = StoreCluster(stack.api, user="grace")
    while (now := stack.clock.monotonic()) < STORM_SECONDS:
        await tenant.write()
        if now > 10 and len(jobs) < 4 and chance.random() < 0.05:
            job = gang_job(
                f"good-{len(jobs)}",
                replicas=chance.choice((1, 2, 4)),
                cpu=chance.choice(("4", "8")),
                run_seconds=chance.choice((10, 120)),
                queue="default",
            )
            job["spec"]["priorityClassName"] = "normal"
            await grace.create(JOBS, job, namespace=GOOD)
            jobs.append(f"good-{len(jobs)}")
        if chance.random() < 0.02:
            stack.kill(chance.choice(("scheduler", "queue-controller", "job-controller")))
        await stack.clock.sleep(chance.choice((0.2, 1.0, 3.0)))
    return jobs


async def _until_completed(
    stack: Stack, tenant: Tenant, jobs: list[str], chance: random.Random
) -> None:
    """The tenant goes on, more slowly."""
    deadline = stack.clock.monotonic() + STARTED_SECONDS_MAX
    while any(stack.job(name, GOOD).status.state.phase != "Completed" for name in jobs):
        assert stack.clock.monotonic() < deadline, "not every job of the others is completed"
        await tenant.write()
        await stack.clock.sleep(chance.choice((5.0, 30.0)))


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
    wrong += [
        f"queue {q} is {known.get(q)}" for q, want in expected.items() if known.get(q) != want
    ]
    queues = {g.key: g.spec.queue for g in groups_of(stack)}
    bound = [p for p in objects(stack, PODS) if p.metadata.namespace == EVIL and p.spec.node_name]
    return wrong + [
        f"{p.key} runs in queue {queues[_group(p)]}"
        for p in bound
        if queues.get(_group(p)) in NOT_HERS and not _moved(p)
    ]


def _group(pod: Pod) -> str:
    name = pod.metadata.annotations.get("scheduling.k8s.io/group-name", "")
    return f"{pod.metadata.namespace}/{name}"


def _moved(pod: Pod) -> bool:
    """Her own groups may change their queue after their pods ran: that takes nothing from anybody."""
    return not pod.metadata.annotations.get("scheduling.k8s.io/group-name", "").startswith(
        "podgroup-"
    )


PROOF: Final = Proof(name="tenant", title="hostile tenants", prove=prove)
