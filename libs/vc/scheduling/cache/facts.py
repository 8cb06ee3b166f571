"""The facts of the cluster as tables that are updated one fact at a time.

A rebuilt view starts with an empty `ClusterFacts`. Everything here can be derived from the facts;
our own writes that no fact shows yet are in `cache/overlays`.
"""

from vc.model.api.pod import Pod
from vc.scheduling.cache.namespaces import TerminatingNamespaces
from vc.scheduling.cache.nodes import NodeTableBuilder
from vc.scheduling.cache.pod_affinity_index import PodAffinityIndex
from vc.scheduling.cache.queues import QueueTableBuilder
from vc.scheduling.cache.quotas_and_budgets import QuotasAndBudgets
from vc.scheduling.cache.volumes import VolumeChoices, VolumeTableBuilder
from vc.scheduling.model.rows import ON_NODE, PodRow, TaskStatus


class PodTable:
    """Rows of pods by key."""

    def __init__(self) -> None:
        self.rows: dict[str, PodRow] = {}
        self.terminating: dict[str, PodRow] = {}
        """Pods that are being deleted, or evicted by us, and still occupy their nodes."""
        self.pending_facts: dict[str, Pod] = {}
        """Facts of pending pods, from which rows are read again when an overlay is removed."""

    def replace(self, before: PodRow | None, after: PodRow | None) -> None:
        """Replace the row of a pod; None for a pod that does not exist."""
        if before is not None:
            del self.rows[before.key]
            self.terminating.pop(before.key, None)
        if after is not None:
            self.rows[after.key] = after
            if after.status is TaskStatus.RELEASING and after.node:
                self.terminating[after.key] = after


class ClusterFacts:
    """Nodes, queues, pods, storage, namespaces, quotas and budgets."""

    def __init__(self, choices: VolumeChoices) -> None:
        """`choices` is the overlay of chosen volumes, which survives a rebuilt view."""
        self.nodes = NodeTableBuilder()
        self.queues = QueueTableBuilder()
        self.pods = PodTable()
        self.pod_affinity = PodAffinityIndex()
        self.volumes = VolumeTableBuilder(choices)
        self.namespaces = TerminatingNamespaces()
        self.quotas_and_budgets = QuotasAndBudgets()

    def replace_pod(self, before: PodRow | None, after: PodRow | None) -> None:
        """Replace the row of a pod, and update everything that is counted from it."""
        self.pod_affinity.replace(before, after)
        self.volumes.replace(before, after)
        self.nodes.images.replace(before, after)
        # Every addition is undone with the row that was added, so the sums cannot drift from the
        # rows, whatever the order of facts and overlays.
        if before is not None and before.node and before.status in ON_NODE:
            self.nodes.remove_pod(before.node, before.shape)
        if after is not None and after.node and after.status in ON_NODE:
            self.nodes.add_pod(after.node, after.shape)
        self.pods.replace(before, after)
