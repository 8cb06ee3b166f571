"""An independent witness: watches every pod from outside and notes what must never be.

It has a connection of its own and shares no code with what it checks. Watches may break when a
scenario hurts the API server; then it lists anew, and since pods are counted by uid a gap can hide a
moment but invents nothing.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable

import msgspec

from vc.clock import LoopClock
from vc.cluster import ClusterError
from vc.cluster.kubernetes import KubernetesCluster
from vc.model.api.kinds import NODES, PODS
from vc.model.api.meta import controller_of
from vc.model.api.node import Node
from vc.model.api.pod import Pod
from vc.model.values.quantity import parse_resources

PAUSE_SECONDS = 0.2
WATCH_SECONDS = 300.0
_HOLDS_NODE = ("Pending", "Running")


class Audit:
    """Pods as they are, and everything wrong that was ever seen since `forget`."""

    def __init__(self, cluster: KubernetesCluster) -> None:
        self._cluster = cluster
        self._clock = LoopClock()
        self._room: dict[str, dict[str, int]] = {}
        self.pods: dict[str, Pod] = {}
        self.sizes: dict[str, int] = {}
        """Pods a gang has, by its job's uid; told by whoever submits."""
        self.forget()

    def forget(self) -> None:
        """Begin a new account; pods that exist stay known."""
        self.made: dict[tuple[str, str], set[str]] = {}
        """Pod uids by pod name and owner's uid."""
        self.bound: dict[str, set[str]] = {}
        """Names of pods that ever had a node, by owner's uid."""
        self.over_committed: list[str] = []
        self.partial_seconds_longest = 0.0
        self._first_bound_at: dict[str, float] = {}
        self._whole: set[str] = set()

    @property
    def doubled(self) -> list[str]:
        """Pods that were made more than once for the same job."""
        return sorted(
            f"{name} x{len(uids)}" for (name, _), uids in self.made.items() if len(uids) > 1
        )

    def partial(self, owners: Iterable[str]) -> list[str]:
        """Gangs of these jobs of which some pods were bound and others never."""
        return [
            f"{owner}: {len(self.bound[owner])} of {self.sizes[owner]}"
            for owner in owners
            if owner in self.bound and len(self.bound[owner]) < self.sizes[owner]
        ]

    def bound_of(self, owner: str) -> int:
        """How many pods of a job have had a node."""
        return len(self.bound.get(owner, ()))

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            try:
                version = await self._list()
                async for event in self._cluster.watch(
                    PODS, resource_version=version, timeout_seconds=WATCH_SECONDS
                ):
                    if event.type != "BOOKMARK":
                        pod = msgspec.json.decode(event.object, type=Pod)
                        self._take(pod, gone=event.type == "DELETED")
            except ClusterError:
                await asyncio.sleep(PAUSE_SECONDS)

    async def _list(self) -> str:
        nodes = await self._cluster.list(NODES)
        for raw in nodes.items:
            node = msgspec.json.decode(raw, type=Node)
            self._room[node.metadata.name] = parse_resources(node.status.allocatable)
        page = await self._cluster.list(PODS)
        listed = [msgspec.json.decode(raw, type=Pod) for raw in page.items]
        for key in set(self.pods) - {pod.key for pod in listed}:
            del self.pods[key]
        for pod in listed:
            self._take(pod, gone=False)
        return page.resource_version

    def _take(self, pod: Pod, *, gone: bool) -> None:
        owner = controller_of(pod.metadata)
        uid = owner.uid if owner is not None else ""
        self.made.setdefault((pod.key, uid), set()).add(pod.metadata.uid)
        if gone:
            self.pods.pop(pod.key, None)
            return
        self.pods[pod.key] = pod
        if pod.spec.node_name:
            self._note_bound(pod.key, uid)
            self._check_node(pod.spec.node_name)

    def _note_bound(self, key: str, owner: str) -> None:
        names = self.bound.setdefault(owner, set())
        names.add(key)
        now = self._clock.monotonic()
        since = self._first_bound_at.setdefault(owner, now)
        if owner not in self._whole and len(names) >= self.sizes.get(owner, 1):
            self._whole.add(owner)
            self.partial_seconds_longest = max(self.partial_seconds_longest, now - since)

    def _check_node(self, node: str) -> None:
        used: Counter[str] = Counter()
        for pod in self.pods.values():
            if pod.spec.node_name == node and pod.status.phase in _HOLDS_NODE:
                for container in pod.spec.containers:
                    used.update(parse_resources(container.resources.requests))
        room = self._room.get(node, {})
        for resource, amount in used.items():
            if amount > room.get(resource, 0):
                self.over_committed.append(f"{node}: {resource} {amount} of {room.get(resource)}")
