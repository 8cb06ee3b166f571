"""Which nodes can access the volumes of a pod, during one session.

The volume of a bound claim determines the nodes that can access it. A claim with
WaitForFirstConsumer gets the smallest free volume that satisfies it, or a new volume where its
storage class can provision one. Placed pods occupy their volumes, so that no volume is chosen for
two claims, and count against the attach limits of nodes. All rules are those of kube-scheduler.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np

from vc.model.api.selectors import selector_matches
from vc.scheduling.cache.volumes import VolumeTable
from vc.scheduling.model.node_table import Mask, NodeTable
from vc.scheduling.model.rows import GroupRow, PodRow
from vc.scheduling.model.volume_rows import ClaimChoice, ClaimRow, ClassRow, VolumeRow, claims_of
from vc.scheduling.session.node_masks import any_term
from vc.scheduling.session.volume_limits import Attachments

VOLUME_AFFINITY: Final = "volume affinity"
VOLUME_ZONE: Final = "volume zone"
VOLUME_BINDING: Final = "volume binding"
VOLUME_LIMITS: Final = "volume limits"

_ONE_POD: Final = "ReadWriteOncePod"


class Obstacle(NamedTuple):
    """A claim that prevents its pod from running on any node."""

    claim: str
    what: str
    """`missing`, `deleting`, `lost`, `unbound`, `volume-missing` or `in-use`."""
    detail: str = ""


class Claims:
    """The volumes and claims of a session, including the choices made in it."""

    def __init__(self, table: VolumeTable, nodes: NodeTable) -> None:
        self._table = table
        self._nodes = nodes
        self._static = nodes.static
        self._accessible: dict[str, Mask] = {}
        """By volume: the nodes that satisfy its node affinity."""
        self._made: dict[str, Mask] = {}
        """By storage class: the nodes for which it can provision volumes."""
        self._fitting: dict[str, list[VolumeRow]] = {}
        """By claim: the free volumes that satisfy it, smallest first."""
        self._taken: dict[str, str] = {}
        """By volume: the claim that it was chosen for, by an earlier choice or in this session."""
        for choice in table.chosen.values():
            if choice.volume:
                self._taken[choice.volume] = choice.claim
        self._given: dict[str, tuple[str, int]] = {}
        """By claim: the chosen volume (empty for one to be provisioned), and the number of placed
        pods that use it."""
        self.attachments = Attachments(table, nodes)

    # -- is there any way ------------------------------------------------------------------------

    def obstacle(self, pod: PodRow) -> Obstacle | None:
        """The first claim of the pod that cannot be satisfied on any node."""
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
        """Whether the claim is bound only once a pod that uses it has a node (WaitForFirstConsumer)."""
        storage = self._table.classes.get(claim.class_name)
        return storage is not None and storage.waits

    # -- where -----------------------------------------------------------------------------------

    def affinity(self, pod: PodRow) -> Mask:
        """Nodes that can access all bound volumes of the pod."""
        return self._all(pod, self._access)

    def zones(self, pod: PodRow) -> Mask:
        """Nodes in the zones of all bound volumes of the pod."""
        return self._all(pod, self._in_zone)

    def _all(self, pod: PodRow, check: Callable[[VolumeRow], Mask]) -> Mask:
        mask = np.ones(len(self._static.names), dtype=np.bool_)
        for volume in self.bound_volumes(pod):
            mask &= check(volume)
        return mask

    def bound_volumes(self, pod: PodRow) -> list[VolumeRow]:
        """The volumes that the pod's claims are bound to, as far as they exist."""
        claims = [self._table.claims.get(key) for key in claims_of(pod)]
        return [
            self._table.volumes[claim.volume]
            for claim in claims
            if claim is not None and claim.bound and claim.volume in self._table.volumes
        ]

    def _access(self, volume: VolumeRow) -> Mask:
        known = self._accessible.get(volume.name)
        if known is None:
            if volume.terms is None:
                known = np.ones(len(self._static.names), dtype=np.bool_)
            else:
                known = any_term(volume.terms, self._static)
            self._accessible[volume.name] = known
        return known

    def _in_zone(self, volume: VolumeRow) -> Mask:
        """Nodes in the zones of a volume. A node without any zone label is in no zone, and passes."""
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
        """Nodes where each unbound claim of the pod finds a volume or can have one provisioned."""
        if self.obstacle(pod) is not None:
            return np.zeros(len(self._static.names), dtype=np.bool_)
        mask = np.ones(len(self._static.names), dtype=np.bool_)
        unbound = [claim for claim in self._unbound(pod) if self._waits(claim)]
        for claim in unbound:
            mask &= self._possible(claim)
        if len(unbound) > 1:  # each claim was checked alone, so two may rely on one volume
            for row in np.flatnonzero(mask).tolist():
                mask[row] = self._pick(unbound, row) is not None
        return mask

    def _unbound(self, pod: PodRow) -> list[ClaimRow]:
        """The unbound claims of a pod, smallest first: larger volumes remain for larger claims."""
        found = [self._table.claims.get(key) for key in claims_of(pod)]
        return sorted((c for c in found if c is not None and not c.bound), key=_by_size)

    def _possible(self, claim: ClaimRow) -> Mask:
        decided = self._decided(claim)
        if decided is not None and self._table.requested.get(claim.key, 0) < 2:
            return decided  # other pods may use a shared claim from further nodes
        mask = np.zeros(len(self._static.names), dtype=np.bool_)
        for volume in self._candidates(claim):
            # A volume already chosen for this claim remains a candidate, for the next pod that
            # shares the claim.
            if self._taken.get(volume.name, claim.key) == claim.key:
                mask |= self._access(volume) & self._in_zone(volume)
        storage = self._table.classes.get(claim.class_name)
        if storage is not None and storage.provisions:
            mask |= self._makes(storage)
        return mask

    def _decided(self, claim: ClaimRow) -> Mask | None:
        """The nodes to which an earlier decision restricts a claim; None without such a decision."""
        # A volume that names the claim takes precedence: only the binding is outstanding.
        volume = self._table.volumes.get(self._table.kept_for.get(claim.key, ""))
        if volume is not None:
            accessible: Mask = self._access(volume) & self._in_zone(volume)
            return accessible
        choice = self._table.chosen.get(claim.uid)
        node = choice.node if choice is not None else claim.selected_node
        row = self._static.row(node) if node else None
        if row is None:  # no node was chosen, or it no longer exists
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
        """The volume of each claim on a node (empty: provision one); None if a claim gets none."""
        picked: dict[str, str] = {}
        for claim in unbound:
            if self._decided(claim) is not None:
                continue
            # Existing volumes come before provisioning, and the smallest sufficient volume first.
            volume = next(
                (
                    volume.name
                    for volume in self._candidates(claim)
                    if self._taken.get(volume.name, claim.key) == claim.key
                    and volume.name not in picked.values()
                    and bool(self._access(volume)[row] and self._in_zone(volume)[row])
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
        """Record that a pod is placed on a row, or (-1) that it is removed."""
        if sign > 0:
            self._give(pod, row)
        self.attachments.put(pod, row, sign)
        if sign < 0:
            self._take_back(pod)

    def _give(self, pod: PodRow, row: int) -> None:
        unbound = self._unbound(pod)
        # A claim shared with a pod that is already placed keeps its volume.
        picked = self._pick([c for c in unbound if c.key not in self._given], row) or {}
        for claim in unbound:
            known, pods = self._given.get(claim.key, (picked.get(claim.key, ""), 0))
            self._given[claim.key] = (known, pods + 1)
            if known:
                self._taken[known] = claim.key

    def _take_back(self, pod: PodRow) -> None:
        for claim in self._unbound(pod):
            known, pods = self._given.get(claim.key, ("", 0))
            # The volume is free again only after the last pod with the claim is removed.
            if pods > 1:
                self._given[claim.key] = (known, pods - 1)
            elif pods:
                del self._given[claim.key]
                self._taken.pop(known, None)

    # -- what is to be written -------------------------------------------------------------------

    def waiting(self, pod: PodRow) -> list[str]:
        """The claims that must be bound before the pod is bound."""
        return [claim.key for claim in self._unbound(pod)]

    def choices(self, pod: PodRow, row: int) -> list[ClaimChoice]:
        """The choices to write for the undecided claims of a pod on this row."""
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
        """Groups with claims that already have a node or volume. They are placed first, because
        otherwise the storage prepared for them stays unused."""
        if not self._table.claims:
            return {}
        return {
            group.key: None
            for group in groups
            if any(
                self._decided(claim) is not None
                for run in group.runs
                if run.shape.pod_terms.claims
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
