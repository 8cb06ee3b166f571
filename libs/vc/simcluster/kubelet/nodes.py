"""Simulated nodes: the task that runs all kubelets, and the operations on nodes."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from vc.cluster.errors import ClusterError, GoneError, NotFoundError, TooManyRequestsError
from vc.model.api.struct import JsonObject
from vc.model.values.times import format_time
from vc.simcluster.kubelet.kubelet import Kubelets, Timings
from vc.simcluster.kubelet.node_pools import DEFAULT_POOLS, NodePool, node_object
from vc.simcluster.schema.builtin_resources import NODES, PODS
from vc.simcluster.store.failures import not_found
from vc.simcluster.store.store import DELETED, Change, Record, Table
from vc.simcluster.verbs.api import Api
from vc.simcluster.verbs.pod_verbs import set_condition

DRAIN_ATTEMPTS_MAX: Final = 60
DRAIN_PAUSE_SECONDS: Final = 1.0
"""Pause between two attempts to evict a pod that a disruption budget protects."""
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_CORDONED: Final = "node.kubernetes.io/unschedulable"


class SimulatedNodes:
    """Nodes and their kubelets on an embedded API."""

    def __init__(
        self,
        api: Api,
        *,
        pools: Iterable[NodePool] = DEFAULT_POOLS,
        timings: Timings | None = None,
    ) -> None:
        self.api = api
        self._pools = tuple(pools)
        self._kubelets = Kubelets(api, timings or Timings())
        self._cursors: dict[tuple[str, str], int] = {}
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Create missing nodes, resume the existing pods, and start the task."""
        # Nodes come first: the rebuild that follows needs them to resume pods.
        for pool in self._pools:
            await self.add_nodes(pool)
        self._take_over()
        self.api.store.listeners.append(self._wake)
        self._task = asyncio.create_task(self._run(), name="simulated-nodes")

    async def stop(self) -> None:
        """Stop the kubelets. Nodes and pods stay as they are."""
        task, self._task = self._task, None
        if task is None:
            return
        self.api.store.listeners.remove(self._wake)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def _wake(self, table: Table, _change: Change) -> None:
        if table.resource.storage in self._cursors:
            self._woken.set()

    def _take_over(self) -> None:
        # The cursors are set before the rebuild: a change in between is seen twice, never missed.
        for resource in (NODES, PODS):
            self._cursors[resource.storage] = self.api.store.table(resource).history_end
        self._kubelets.rebuild()

    async def _run(self) -> None:
        while True:
            # Cleared before the changes are read: a later write sets it again and is not missed.
            self._woken.clear()
            self._see_changes()
            self._kubelets.fire()
            if self._woken.is_set():
                # woken by our own writes: process them, but let other tasks run first
                await asyncio.sleep(0)
                continue
            due = self._kubelets.next_due_seconds
            pause = None if due is None else max(0.0, due - self.api.clock.monotonic())
            try:
                # Wakes up for changes of pods and nodes, or for the next timer.
                async with asyncio.timeout(pause):
                    await self._woken.wait()
            except TimeoutError:
                continue

    def _see_changes(self) -> None:
        """Process new changes, nodes before pods.

        A pod may be bound to a node that was created at the same time as the binding.
        """
        try:
            for change in self._news(self.api.store.table(NODES)):
                if change.type == DELETED:
                    self._kubelets.lose_node(change.record.name)
                elif self._is_current(change):
                    self._kubelets.see_node(change.record)
            for change in self._news(self.api.store.table(PODS)):
                if change.type == DELETED:
                    self._kubelets.forget_pod(change.record)
                else:
                    # Only the current state of a pod counts; intermediate states need no reaction.
                    current = self.api.store.find(PODS, change.record.key)
                    if current is not None and current.uid == change.record.uid:
                        self._kubelets.see_pod(current)
        except GoneError:
            # The reader fell behind the history: rebuild from the current state, like a relist.
            self._take_over()

    def _news(self, table: Table) -> list[Change]:
        changes = list(table.changes_from(self._cursors[table.resource.storage]))
        self._cursors[table.resource.storage] += len(changes)
        return changes

    def _is_current(self, change: Change) -> bool:
        # An older state could mark a node as lost that has been restored since.
        current = self.api.store.find(NODES, change.record.key)
        return current is not None and current.version == change.version

    async def add_nodes(self, pool: NodePool) -> list[str]:
        """Create the missing nodes of a pool, numbered from 0, and return their names."""
        added = []
        now = format_time(self.api.clock.now())
        for number in range(pool.count):
            node = node_object(pool, number, now=now)
            name = node["metadata"]["name"]
            # An existing node keeps its taints and conditions when the simulation restarts.
            if self.api.store.find(NODES, ("", name)) is None:
                await self.api.create(NODES, node)
                added.append(name)
        return added

    def cordon(self, name: str, *, on: bool = True) -> None:
        """Mark a node unschedulable, or schedulable again."""

        def change(node: JsonObject) -> None:
            spec: JsonObject = node.setdefault("spec", {})
            # The field is absent rather than false on a schedulable node, as in Kubernetes.
            spec.pop("unschedulable", None)
            _set_taint(spec, _CORDONED, "NoSchedule", on=on)
            if on:
                spec["unschedulable"] = True

        self._edit(name, change)

    async def drain(self, name: str) -> list[str]:
        """Cordon the node and evict its pods. Return the names of pods that were not evicted."""
        # First, so that no scheduler binds new pods here while the others are evicted.
        self.cordon(name)
        table = self.api.store.table(PODS)
        records = [r for r in table.records.values() if r.fields["spec.nodeName"] == name]
        return [record.name for record in records if not await self._evict(record)]

    async def _evict(self, record: Record) -> bool:
        owners = record.object()["metadata"].get("ownerReferences") or []
        # Like `kubectl drain --ignore-daemonsets`: these pods would be created again at once.
        if any(ref.get("kind") == "DaemonSet" for ref in owners):
            return True
        # By uid: a replacement with the same name may already run on another node.
        eviction: JsonObject = {"deleteOptions": {"preconditions": {"uid": record.uid}}}
        for _ in range(DRAIN_ATTEMPTS_MAX):
            try:
                await self.api.evict(
                    namespace=record.namespace, name=record.name, eviction=eviction
                )
            except TooManyRequestsError:
                # A budget may allow it later, when replacements of other pods are healthy.
                await self.api.clock.sleep(DRAIN_PAUSE_SECONDS)
            except NotFoundError:
                return True
            except ClusterError:
                return False
            else:
                return True
        return False

    def kill(self, name: str) -> None:
        """Mark a node as unreachable. Its pods are removed after `Timings.lost_seconds`."""
        self._set_ready(
            name, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."
        )

    def restore(self, name: str) -> None:
        """Mark a node as Ready again. Its remaining pods resume from their status."""
        self._set_ready(name, "True", "KubeletReady", "kubelet is posting ready status")

    def _set_ready(self, name: str, status: str, reason: str, message: str) -> None:
        now = format_time(self.api.clock.now())

        def change(node: JsonObject) -> None:
            condition = {"type": "Ready", "status": status, "reason": reason, "message": message}
            set_condition(node.setdefault("status", {}), condition, now=now)
            # The node life cycle controller of a real cluster sets both taints on an unreachable
            # node.
            for effect in ("NoSchedule", "NoExecute"):
                _set_taint(node.setdefault("spec", {}), _UNREACHABLE, effect, on=status != "True")

        self._edit(name, change)

    def _edit(self, name: str, change: Callable[[JsonObject], None]) -> None:
        if not self.api.lifecycle.edit(NODES, ("", name), change):
            raise not_found(NODES, name)


def _set_taint(spec: JsonObject, key: str, effect: str, *, on: bool) -> None:
    # Kubernetes identifies a taint by key and effect, so other effects of the key stay.
    kept = [t for t in spec.get("taints") or [] if (t.get("key"), t.get("effect")) != (key, effect)]
    kept += [{"key": key, "effect": effect}] if on else []
    spec.pop("taints", None)
    if kept:
        spec["taints"] = kept
