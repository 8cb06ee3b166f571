"""Which nodes a pod's volumes can be reached from, during one session.

A bound claim's volume says which nodes reach it. A claim that waits for its first consumer can take a
volume that is there already, the smallest that will do, or have one made where its class can. What is
placed takes its volumes, so that two claims never get one, and counts for what nodes can attach. All
rules are kube-scheduler's.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np

from vc_model.selectors import selector_matches
from vc_scheduler.logic.attachments import Attachments
from vc_scheduler.logic.node_masks import any_term
from vc_scheduler.logic.rows import GroupRow, PodRow
from vc_scheduler.logic.table import Mask, NodeTable
from vc_scheduler.logic.volume_rows import (
    ClaimChoice,
    ClaimRow,
    ClassRow,
    VolumeRow,
    claims_of,
)
from vc_scheduler.logic.volumes import VolumeTable

VOLUME_AFFINITY: Final = "volume affinity"
VOLUME_ZONE: Final = "volume zone"
VOLUME_BINDING: Final = "volume binding"
VOLUME_LIMITS: Final = "volume limits"

_ONE_POD: Final = "ReadWriteOncePod"


class Obstacle(NamedTuple):
    """A claim that keeps its pod from any node."""

    claim: str
    what: str
    """`missing`, `deleting`, `lost`, `unbound`, `volume-missing` or `in-use`."""
    detail: str = ""


class Claims:
    """The working copy."""

    def __init__(self, table: VolumeTable, nodes: NodeTable) -> None:
        self._table = table
        self._nodes = nodes
        self._static = nodes.static
        self._reached: dict[str, Mask] = {}
        """By volume: nodes that its affinity lets through."""
        self._made: dict[str, Mask] = {}
        """By class: nodes it makes volumes for."""
        self._fitting: dict[str, list[VolumeRow]] = {}
        """By claim: free volumes that would do, smallest first."""
        self._taken: dict[str, str] = {}
        """Volumes given to claims: by our choices, and in this session."""
        for choice in table.chosen.values():
            if choice.volume:
                self._taken[choice.volume] = choice.claim
        self._given: dict[str, tuple[str, int]] = {}
        """By claim: the volume it gets (empty for one to be made), and by how many pods."""
        self.attachments = Attachments(table, nodes)

    # -- is there any way ------------------------------------------------------------------------

    def obstacle(self, pod: PodRow) -> Obstacle | None:
        """The first claim that no node can help."""
        for key in claims_of(pod):
            found = self._obstacle(key)
            if found is not None:
                return found
        return None

    def _obstacle(self, key: str) -> Obstacle | None:
        claim = self._table.claims.get(key)
        if claim is None:
            return Obstacle(key, "missing")
        if claim.deleting:
            return Obstacle(key, "deleting")
        if claim.lost:
            return Obstacle(key, "lost", claim.volume)
        if claim.bound and claim.volume not in self._table.volumes:
            return Obstacle(key, "volume-missing", claim.volume)
        if not claim.bound and (not self._waits(claim) or key in self._table.stuck):
            return Obstacle(key, "unbound", claim.class_name)
        if _ONE_POD in claim.modes and self.attachments.users(key):
            return Obstacle(key, "in-use")
        return None

    def _waits(self, claim: ClaimRow) -> bool:
        """Its class binds it when a pod has its node."""
        storage = self._table.classes.get(claim.class_name)
        return storage is not None and storage.waits

    # -- where -----------------------------------------------------------------------------------

    def affinity(self, pod: PodRow) -> Mask:
        """Nodes that reach all its bound volumes."""
        return self._all(pod, self._reach)

    def zones(self, pod: PodRow) -> Mask:
        """Nodes in the zones of its bound volumes."""
        return self._all(pod, self._in_zone)

    def _all(self, pod: PodRow, check: Callable[[VolumeRow], Mask]) -> Mask:
        mask = np.ones(len(self._static.names), dtype=np.bool_)
        for volume in self.bound_volumes(pod):
            mask &= check(volume)
        return mask

    def bound_volumes(self, pod: PodRow) -> list[VolumeRow]:
        """The volumes its claims are bound to, as far as they exist."""
        claims = [self._table.claims.get(key) for key in claims_of(pod)]
        return [
            self._table.volumes[claim.volume]
            for claim in claims
            if claim is not None and claim.bound and claim.volume in self._table.volumes
        ]

    def _reach(self, volume: VolumeRow) -> Mask:
        known = self._reached.get(volume.name)
        if known is None:
            if volume.terms is None:
                known = np.ones(len(self._static.names), dtype=np.bool_)
            else:
                known = any_term(volume.terms, self._static)
            self._reached[volume.name] = known
        return known

    def _in_zone(self, volume: VolumeRow) -> Mask:
        """A node without any zone label is nowhere, and so in nobody's way."""
        mask = np.ones(len(self._static.names), dtype=np.bool_)
        if not volume.zones:
            return mask
        placed = np.zeros(len(self._static.names), dtype=np.bool_)
        for key, values in volume.zones:
            column = self._static.label(key)
            wanted = [column.values[value] for value in values if value in column.values]
            mask &= np.isin(column.codes, np.array(wanted, dtype=np.int64))
            placed |= column.codes >= 0
        nowhere: Mask = mask | ~placed
        return nowhere

    def binding(self, pod: PodRow) -> Mask:
        """Nodes where each unbound claim finds a volume or has one made."""
        if self.obstacle(pod) is not None:
            return np.zeros(len(self._static.names), dtype=np.bool_)
        mask = np.ones(len(self._static.names), dtype=np.bool_)
        unbound = [claim for claim in self._unbound(pod) if self._waits(claim)]
        for claim in unbound:
            mask &= self._possible(claim)
        if len(unbound) > 1:  # two claims may have looked at one volume
            for row in np.flatnonzero(mask).tolist():
                mask[row] = self._pick(unbound, row) is not None
        return mask

    def _unbound(self, pod: PodRow) -> list[ClaimRow]:
        """Smaller ones first: they leave the larger volumes to the others."""
        found = [self._table.claims.get(key) for key in claims_of(pod)]
        return sorted((c for c in found if c is not None and not c.bound), key=_by_size)

    def _possible(self, claim: ClaimRow) -> Mask:
        decided = self._decided(claim)
        if decided is not None and self._table.asked.get(claim.key, 0) < 2:
            return decided  # a claim that several pods share may be reached from more nodes
        mask = np.zeros(len(self._static.names), dtype=np.bool_)
        for volume in self._candidates(claim):
            if self._taken.get(volume.name, claim.key) == claim.key:
                mask |= self._reach(volume) & self._in_zone(volume)
        storage = self._table.classes.get(claim.class_name)
        if storage is not None and storage.provisions:
            mask |= self._makes(storage)
        return mask

    def _decided(self, claim: ClaimRow) -> Mask | None:
        """Where a claim must be used that was given its place before."""
        volume = self._table.volumes.get(self._table.kept_for.get(claim.key, ""))
        if volume is not None:
            reached: Mask = self._reach(volume) & self._in_zone(volume)
            return reached
        choice = self._table.chosen.get(claim.uid)
        node = choice.node if choice is not None else claim.selected_node
        row = self._static.row(node) if node else None
        if row is None:  # nobody chose, or the node is gone
            return None
        mask = np.zeros(len(self._static.names), dtype=np.bool_)
        mask[row] = True
        return mask

    def _candidates(self, claim: ClaimRow) -> list[VolumeRow]:
        known = self._fitting.get(claim.key)
        if known is None:
            found = [v for v in self._table.volumes.values() if v.free and _suits(v, claim)]
            known = self._fitting[claim.key] = sorted(found, key=_by_capacity)
        return known

    def _makes(self, storage: ClassRow) -> Mask:
        known = self._made.get(storage.name)
        if known is None:
            if storage.topologies:
                known = any_term(storage.topologies, self._static)
            else:
                known = np.ones(len(self._static.names), dtype=np.bool_)
            self._made[storage.name] = known
        return known

    def _pick(self, unbound: Iterable[ClaimRow], row: int) -> dict[str, str] | None:
        """What each claim gets on a node; None when one gets nothing."""
        picked: dict[str, str] = {}
        for claim in unbound:
            if self._decided(claim) is not None:
                continue
            volume = next(
                (
                    volume.name
                    for volume in self._candidates(claim)
                    if self._taken.get(volume.name, claim.key) == claim.key
                    and volume.name not in picked.values()
                    and bool(self._reach(volume)[row] and self._in_zone(volume)[row])
                ),
                "",
            )
            storage = self._table.classes.get(claim.class_name)
            made = storage is not None and storage.provisions and bool(self._makes(storage)[row])
            if not volume and not made:
                return None
            picked[claim.key] = volume
        return picked

    # -- placements ------------------------------------------------------------------------------

    def put(self, pod: PodRow, row: int, sign: int) -> None:
        """A pod comes to lie on a row, or (-1) leaves it."""
        if sign > 0:
            self._give(pod, row)
        self.attachments.put(pod, row, sign)
        if sign < 0:
            self._take_back(pod)

    def _give(self, pod: PodRow, row: int) -> None:
        unbound = self._unbound(pod)
        picked = self._pick([c for c in unbound if c.key not in self._given], row) or {}
        for claim in unbound:
            known, pods = self._given.get(claim.key, (picked.get(claim.key, ""), 0))
            self._given[claim.key] = (known, pods + 1)
            if known:
                self._taken[known] = claim.key

    def _take_back(self, pod: PodRow) -> None:
        for claim in self._unbound(pod):
            known, pods = self._given.get(claim.key, ("", 0))
            if pods > 1:
                self._given[claim.key] = (known, pods - 1)
            elif pods:
                del self._given[claim.key]
                self._taken.pop(known, None)

    # -- what is to be written -------------------------------------------------------------------

    def waiting(self, pod: PodRow) -> list[str]:
        """Its claims that must be bound before the pod is."""
        return [claim.key for claim in self._unbound(pod)]

    def choices(self, pod: PodRow, row: int) -> list[ClaimChoice]:
        """What its claims are to be given for this row, as far as nobody chose before."""
        made: list[ClaimChoice] = []
        for claim in self._unbound(pod):
            if self._decided(claim) is not None:
                continue
            volume = self._table.volumes.get(self._given.get(claim.key, ("", 0))[0])
            made.append(
                ClaimChoice(
                    group=pod.group,
                    claim=claim.key,
                    claim_uid=claim.uid,
                    node=self._static.names[row],
                    volume=volume.name if volume is not None else "",
                    volume_uid=volume.uid if volume is not None else "",
                    volume_version=volume.version if volume is not None else "",
                )
            )
        return made

    def begun(self, groups: Iterable[GroupRow]) -> dict[str, None]:
        """Groups some of whose claims were given their place: they go first, or it is in vain."""
        if not self._table.claims:
            return {}
        return {
            group.key: None
            for group in groups
            if any(
                self._decided(claim) is not None
                for run in group.runs
                if run.shape.peering.claims
                for pod in run.pods
                for claim in self._unbound(pod)
            )
        }


def _suits(volume: VolumeRow, claim: ClaimRow) -> bool:
    return (
        volume.class_name == claim.class_name
        and volume.size >= claim.size
        and volume.block == claim.block
        and all(mode in volume.modes for mode in claim.modes)
        and (claim.selector is None or selector_matches(claim.selector, volume.labels))
    )


def _by_size(claim: ClaimRow) -> tuple[int, str]:
    return (claim.size, claim.key)


def _by_capacity(volume: VolumeRow) -> tuple[int, str]:
    return (volume.size, volume.name)
