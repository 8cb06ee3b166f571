"""The decisions that a session has made so far. `closing/close.py` turns them into `Decisions`."""

from collections.abc import Iterable

from vc.messages.effects import BindPod
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.rows import INQUEUE, GroupRow, PodRow
from vc.scheduling.model.volume_rows import ClaimChoice


class DecidedSoFar:
    """Decisions in the order in which they were made. None of them is taken back."""

    def __init__(self) -> None:
        self.enqueued: list[str] = []
        self.confirmed: list[str] = []
        """Groups that were already Inqueue and about which this process decides for the first
        time."""
        self.claims: dict[str, Amounts] = {}
        """What each group of `enqueued` and `confirmed` claims."""
        self.binds: dict[str, list[BindPod]] = {}
        """Committed binds by group."""
        self.released: dict[str, list[PodRow]] = {}
        """Pods of half-bound gangs to evict, by group."""
        self.evicted: dict[str, list[PodRow]] = {}
        """Victims by the group for which they are evicted."""
        self.evicted_uids: dict[str, None] = {}
        """The uids of all victims. No pod is a victim twice."""
        self.gates: dict[str, list[PodRow]] = {}
        """By group: pods whose queue-allocation gate is removed."""
        self.choices: list[ClaimChoice] = []
        """Nodes and volumes chosen for unbound claims."""

    def enqueue(self, group: GroupRow, claim: Amounts) -> None:
        """Enqueue a group with this claim."""
        known = group.status.phase == INQUEUE
        (self.confirmed if known else self.enqueued).append(group.key)
        self.claims[group.key] = claim

    def bind(self, group: GroupRow, pod: PodRow, node: str) -> None:
        """Bind a pod to a node."""
        bind = BindPod(
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            node=node,
            lifts_gate=pod.queue_gated,
        )
        self.binds.setdefault(group.key, []).append(bind)

    def evict(self, group: GroupRow, victims: list[PodRow]) -> None:
        """Evict victims for a group."""
        self.evicted[group.key] = victims
        self.evicted_uids.update({victim.uid: None for victim in victims})

    def release(self, group: GroupRow, pods: list[PodRow]) -> None:
        """Evict the bound pods of a half-bound gang."""
        self.released[group.key] = pods

    def lift_gates(self, group: GroupRow, pods: list[PodRow]) -> None:
        """Remove the queue-allocation gate of pods that are not bound."""
        self.gates[group.key] = pods

    def choose_volumes(self, choices: Iterable[ClaimChoice]) -> None:
        """Write the chosen node or volume to unbound claims."""
        self.choices += choices
