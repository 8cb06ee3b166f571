"""How many volumes of each driver are attached to nodes during one session, and how many may be.

A volume counts once per node, no matter how many pods use it there. The limit is published by the
driver of the node (CSINode), or otherwise by the node (`attachable-volumes-…`). Without either
there is no limit.
"""

from typing import Final

import numpy as np

from vc.scheduling.cache.volumes import VolumeTable
from vc.scheduling.model.node_table import Ints, Mask, NodeTable
from vc.scheduling.model.rows import PodRow
from vc.scheduling.model.volume_rows import claims_of

_NO_LIMIT: Final = 2**40
_ATTACHABLE: Final = "attachable-volumes-"
_IN_TREE: Final = {
    "ebs.csi.aws.com": "aws-ebs",
    "pd.csi.storage.gke.io": "gce-pd",
    "disk.csi.azure.com": "azure-disk",
    "cinder.csi.openstack.org": "cinder",
}
"""Names under which nodes publish the limits of drivers that were once part of Kubernetes."""


class Attachments:
    """Attached volumes in the current state of a session."""

    def __init__(self, table: VolumeTable, nodes: NodeTable) -> None:
        self._table = table
        self._nodes = nodes
        self._static = nodes.static
        self._there: dict[str, dict[int, int]] = {}
        """By claim: the number of pods with it, by row."""
        self._attached: dict[str, Ints] = {}
        """By driver: the number of attached volumes per node."""
        self._limits: dict[str, Ints] = {}

    def limits(self, pod: PodRow) -> Mask:
        """Nodes that can attach those volumes of the pod that are not attached there yet."""
        needed: dict[str, Ints] = {}
        for key in claims_of(pod):
            driver = self._driver(key)
            if not driver:
                continue
            more = needed.setdefault(driver, np.zeros(len(self._static.names), dtype=np.int64))
            more += 1
            # Where another pod uses the claim, the volume is attached already.
            for row in self.users(key):
                more[row] -= 1
        mask = np.ones(len(self._static.names), dtype=np.bool_)
        for driver, more in needed.items():
            # A node above its limit still accepts pods that attach nothing more.
            mask &= (more == 0) | (self._attachments(driver) + more <= self._limit(driver))
        return mask

    def _driver(self, key: str) -> str:
        claim = self._table.claims.get(key)
        if claim is None:
            return ""
        volume = self._table.volumes.get(claim.volume if claim.bound else "")
        if volume is not None:
            return volume.driver
        storage = self._table.classes.get(claim.class_name)
        return storage.driver if storage is not None else ""

    def users(self, key: str) -> dict[int, int]:
        known = self._there.get(key)
        if known is None:
            rows = {self._static.row(n): c for n, c in self._table.users.get(key, {}).items()}
            known = self._there[key] = {row: c for row, c in rows.items() if row is not None}
        return known

    def _attachments(self, driver: str) -> Ints:
        known = self._attached.get(driver)
        if known is None:
            known = self._attached[driver] = np.zeros(len(self._static.names), dtype=np.int64)
            for key in {**self._table.users, **self._there}:
                if self._driver(key) == driver:
                    for row in self.users(key):
                        known[row] += 1
        return known

    def _limit(self, driver: str) -> Ints:
        known = self._limits.get(driver)
        if known is None:
            known = self._limits[driver] = np.full(
                len(self._static.names), _NO_LIMIT, dtype=np.int64
            )
            for name in (f"csi-{driver}", _IN_TREE.get(driver, "")):
                column = self._nodes.resources.get(_ATTACHABLE + name)
                if name and column is not None:
                    # Amounts of the node table are in thousandths.
                    published = self._nodes.allocatable[:, column] // 1000
                    known[published > 0] = published[published > 0]
            # CSINode takes precedence over the node.
            for node, count in self._table.limits.get(driver, {}).items():
                row = self._static.row(node)
                if row is not None:
                    known[row] = count
        return known

    def put(self, pod: PodRow, row: int, sign: int) -> None:
        """Record that a pod is placed on a row, or (-1) that it is removed."""
        for key in claims_of(pod):
            users = self.users(key)
            before = users.get(row, 0)
            users[row] = before + sign
            if not users[row]:
                del users[row]
            attached = self._attached.get(self._driver(key))
            # Only the first and the last user on a node change the number of attached volumes.
            if attached is not None and 0 in (before, before + sign):
                attached[row] += sign
