"""Totals of the cluster by resource, computed once per session."""

from vc.scheduling.model.node_table import NodeTable


class ClusterTotals:
    """Sums and maxima over the nodes of the snapshot. Placements do not change them."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._sums: dict[str, tuple[int, int]] = {}
        self._largest: list[int] | None = None

    def amounts(self, resource: str) -> tuple[int, int]:
        """Allocatable and, as of the start of the session, used amounts, summed over ready nodes."""
        known = self._sums.get(resource)
        if known is None:
            nodes = self._nodes
            column = nodes.resources.get(resource)
            ready = nodes.static.ready
            known = (0, 0)
            if column is not None:
                # Python integers, because int64 may overflow with memory in bytes.
                known = (
                    sum(nodes.allocatable[ready, column].tolist()),
                    sum(nodes.used[ready, column].tolist()),
                )
            self._sums[resource] = known
        return known

    def largest(self, resource: str) -> int:
        """The largest allocatable amount of any single node, including nodes that are not ready."""
        column = self._nodes.resources.get(resource)
        if column is None:
            return 0
        if self._largest is None:
            self._largest = self._nodes.allocatable.max(axis=0, initial=0).tolist()
        return self._largest[column]
