"""Sessions over a cluster that is written as one literal.

`World` feeds facts to a real cluster cache, runs the real cycle, and applies the decisions as facts, as the API server
and the watcher would. After every session it checks the invariants (`invariants.py`).
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from tests.unit.scheduling.invariants import Invariants, reservations_checked
from tests.unit.scheduling.objects import EPOCH, GROUP
from vc.messages.effects import BindPod
from vc.messages.sessions import Reason
from vc.messages.view import Change
from vc.model.api import kinds
from vc.model.api.keys import QUEUE_ALLOCATED
from vc.model.api.kinds import Kind
from vc.model.api.kubernetes import (
    CSINode,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    ResourceQuota,
    StorageClass,
)
from vc.model.api.meta import ApiObject, object_key
from vc.model.api.node import Node
from vc.model.api.pod import Pod, PodCondition
from vc.model.api.scheduling import PodGroup, PodGroupStatus, PriorityClass, Queue
from vc.model.values.times import format_time
from vc.scheduling.cache.cluster_cache import ClusterCache
from vc.scheduling.cache.pod_groups import read_group
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.conf.model import ActionConf, Conf
from vc.scheduling.cycle import run_cycle
from vc.scheduling.model.decisions import Decisions
from vc.scheduling.pod_status.effects import condition_patch

_KIND_OF: Final[dict[type, Kind]] = {
    Pod: kinds.PODS,
    Node: kinds.NODES,
    PodGroup: kinds.PODGROUPS,
    Queue: kinds.QUEUES,
    PriorityClass: kinds.PRIORITYCLASSES,
    Namespace: kinds.NAMESPACES,
    PersistentVolumeClaim: kinds.CLAIMS,
    PersistentVolume: kinds.VOLUMES,
    StorageClass: kinds.STORAGECLASSES,
    CSINode: kinds.CSINODES,
    ResourceQuota: kinds.QUOTAS,
    PodDisruptionBudget: kinds.BUDGETS,
}


class World:
    """Objects, the columns made of them, and sessions."""

    def __init__(
        self,
        *objects: ApiObject | Iterable[ApiObject],
        conf: Conf | None = None,
        surplus_delay: str = "0",
    ) -> None:
        """Pods beyond a minimum wait for `surplus_delay`, unless the configuration says how long: most tests
        are about one session."""
        self.conf = _with_delay(conf or Conf(), surplus_delay)
        self.cache = ClusterCache(("volcano",))
        self.now = EPOCH
        self._objects: dict[tuple[str, str], ApiObject] = {}
        self.deleted_groups: dict[str, PodGroup] = {}
        """Pod groups that this scheduler knew."""
        self._sessions = 0
        self._version = 0
        self.matters = False
        self.invariants = Invariants(self)
        for given in objects:
            self.put(*([given] if isinstance(given, ApiObject) else given))

    # -- facts -----------------------------------------------------------------------------------

    def put(self, *objects: ApiObject) -> None:
        """Create or change objects."""
        for obj in objects:
            kind = _KIND_OF[type(obj)]
            self._version += 1
            metadata = msgspec.structs.replace(obj.metadata, resource_version=str(self._version))
            obj = msgspec.structs.replace(obj, metadata=metadata)
            before = self._objects.get((kind.short, obj.key))
            self._objects[kind.short, obj.key] = obj
            self.invariants.changed(kind)
            self._publish(kind, obj.key, before, obj)
            if before is None and isinstance(obj, PodGroup):
                self._enqueued_before(obj)

    def forge(self, group: PodGroup) -> None:
        """Somebody who is not the scheduler writes a pod group with its status."""
        self.put(msgspec.structs.replace(group, status=PodGroupStatus()))
        self.put(group)

    def _enqueued_before(self, group: PodGroup) -> None:
        """A world begins with groups that its scheduler enqueued earlier."""
        if group.status.phase in ("Inqueue", "Running", "Unknown"):
            amounts = dict(read_group(group).min_resources or ())
            self.cache.overlays.enqueued.put(group.key, group.metadata.uid, amounts, now=self.now)

    def delete(self, kind: Kind, key: str) -> None:
        """Remove an object."""
        self.invariants.changed(kind)
        gone = self._objects.pop((kind.short, key))
        if isinstance(gone, PodGroup):
            self.deleted_groups[key] = gone
        self._publish(kind, key, gone, None)

    def delete_pod(self, name: str) -> None:
        self.delete(kinds.PODS, f"ns/{name}")

    def _publish(
        self, kind: Kind, key: str, before: ApiObject | None, after: ApiObject | None
    ) -> None:
        change = Change(kind=kind, key=key, partition=0, before=before, after=after)
        self.matters = self.cache.apply(change)

    def pod(self, name: str) -> Pod:
        found = self._objects["pods", f"ns/{name}"]
        assert isinstance(found, Pod)
        return found

    def group(self, name: str) -> PodGroup:
        found = self._objects["podgroups", f"ns/{name}"]
        assert isinstance(found, PodGroup)
        return found

    def pods(self) -> list[Pod]:
        return [obj for obj in self._objects.values() if isinstance(obj, Pod)]

    def objects(self) -> list[ApiObject]:
        return list(self._objects.values())

    # -- sessions --------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        self._sessions += 1
        return self.cache.snapshot(f"session-{self._sessions}", now=self.now)

    def decide(self) -> Decisions:
        """A session that changes nothing."""
        with reservations_checked():
            return run_cycle(self.snapshot(), self.conf, self.now)

    def session(self) -> Decisions:
        """A session whose decisions come true at once; the invariants hold after it."""
        self.invariants.before()
        decisions = self.decide()
        for gang_bind in decisions.binds:
            self.cache.overlays.evictions.nomination_ended(gang_bind.group)
            for bind in gang_bind.binds:
                self._bind(bind)
        self.invariants.bound(decisions)
        for enqueued_groups in decisions.enqueued_groups:
            self.cache.overlays.enqueued.put(
                enqueued_groups.group, enqueued_groups.uid, enqueued_groups.claim, now=self.now
            )
        for status in decisions.statuses:
            key = object_key(status.namespace, status.name)
            self.cache.overlays.enqueued.status_decided(key, status.status, now=self.now)
            known = self._objects["podgroups", key]
            assert isinstance(known, PodGroup)
            self.put(msgspec.structs.replace(known, status=status.status))
        for lift in decisions.gates:
            for ref in lift.pods:
                self._lift_gate(ref.name)
        for release in decisions.releases:
            for ref in release.pods:
                self.delete(kinds.PODS, object_key(ref.namespace, ref.name))
        self._apply_nominations(decisions)
        for waiting in decisions.waiting:
            for ref in waiting.pods:
                self.say_waiting(ref.name, waiting.message)
        for withdrawal in decisions.withdrawals:
            for ref in withdrawal.pods:
                self._nominate(ref.name, "")
        self.invariants.after(decisions)
        return decisions

    def _lift_gate(self, name: str) -> None:
        gated = self.pod(name)
        self.cache.remove_gate(gated.key, gated.metadata.uid)
        metadata = msgspec.structs.replace(
            gated.metadata, annotations={**gated.metadata.annotations, QUEUE_ALLOCATED: "true"}
        )
        spec = msgspec.structs.replace(gated.spec, scheduling_gates=[])
        self.put(msgspec.structs.replace(gated, metadata=metadata, spec=spec))

    def say_waiting(self, name: str, message: str) -> None:
        """A pod's condition PodScheduled=False is written, as its writer would."""
        patch = condition_patch(self.pod(name), message, now=self.now)
        assert patch is not None, f"{name} says so already"
        conditions = msgspec.convert(patch.patch["status"]["conditions"], list[PodCondition])
        observed = self.pod(name)
        status = msgspec.structs.replace(observed.status, conditions=conditions)
        self.put(msgspec.structs.replace(observed, status=status))

    def _apply_nominations(self, decisions: Decisions) -> None:
        for eviction in decisions.evictions:
            self.cache.overlays.evictions.nominate(eviction, now=self.now)
            for place in eviction.reserved_nodes:
                if place.freed:
                    self._nominate(place.name, place.node)
            for ref in eviction.pods:
                self._begin_to_leave(ref.name)
        for takeover in decisions.takeovers:
            self.cache.overlays.evictions.take_over(takeover, now=self.now)
            for place in takeover.reserved_nodes:
                if place.freed:
                    self._nominate(place.name, place.node)

    def _nominate(self, name: str, node_name: str) -> None:
        observed = self.pod(name)
        status = msgspec.structs.replace(observed.status, nominated_node_name=node_name)
        self.put(msgspec.structs.replace(observed, status=status))

    def restart(self) -> None:
        """Another scheduler takes over: it knows the objects and nothing else."""
        self.cache = ClusterCache(("volcano",))
        self.deleted_groups = {}
        for (short, key), obj in self._objects.items():
            kind = _KIND_OF[type(obj)]
            assert kind.short == short
            self._publish(kind, key, None, obj)
        self.cache.forget_absent()

    def _begin_to_leave(self, name: str) -> None:
        victim = self.pod(name)
        assert victim.spec.node_name, f"{name} is evicted and was not on a node"
        metadata = msgspec.structs.replace(
            victim.metadata, deletion_timestamp=format_time(self.now)
        )
        self.put(msgspec.structs.replace(victim, metadata=metadata))

    def leave(self) -> list[str]:
        """Pods that are being deleted are gone now; their names."""
        names = sorted(p.metadata.name for p in self.pods() if p.metadata.deletion_timestamp)
        for name in names:
            self.delete_pod(name)
        return names

    def _bind(self, bind: BindPod) -> None:
        waiting = self.pod(bind.name)
        assert not waiting.spec.node_name, f"{bind.name} was bound twice"
        assert waiting.metadata.uid == bind.uid
        gates = [] if bind.lifts_gate else waiting.spec.scheduling_gates
        assert not gates, f"{bind.name} is bound behind a gate"
        self.put(
            msgspec.structs.replace(
                waiting,
                spec=msgspec.structs.replace(
                    waiting.spec, node_name=bind.node, scheduling_gates=[]
                ),
                status=msgspec.structs.replace(waiting.status, phase="Running"),
            )
        )

    def finish(self, *names: str) -> None:
        """Pods run to their end."""
        for name in names:
            done = self.pod(name)
            status = msgspec.structs.replace(done.status, phase="Succeeded")
            self.put(msgspec.structs.replace(done, status=status))

    def finish_group(self, name: str) -> None:
        self.finish(
            *[p.metadata.name for p in self.pods() if p.metadata.annotations.get(GROUP) == name]
        )

    # -- looking ---------------------------------------------------------------------------------

    def where(self) -> dict[str, str]:
        """Bound pods and their nodes."""
        return {p.metadata.name: p.spec.node_name for p in self.pods() if p.spec.node_name}

    def bound(self, name: str) -> int:
        """Bound pods of a group."""
        return sum(
            1 for p in self.pods() if p.spec.node_name and p.metadata.annotations.get(GROUP) == name
        )


def _with_delay(conf: Conf, delay: str) -> Conf:
    if any(action.name == "allocate" for action in conf.configurations):
        return conf
    configured = ActionConf(name="allocate", arguments={"surplusDelay": delay})
    return msgspec.structs.replace(conf, configurations=(*conf.configurations, configured))


def reason_of(decisions: Decisions, name: str) -> Reason:
    """Why a group waits."""
    found = [job.reason for job in decisions.reasons if job.group == f"ns/{name}"]
    assert found, f"{name} has no reason; others: {[job.group for job in decisions.reasons]}"
    return found[0]
