"""binpack: prefer nodes that are already used, with a weight per resource (docs/behaviour.md 5.7).

Extended resources such as accelerators have weight 1 unless `binpack.resources` lists the ones that
count. A score from CPU and memory alone would leave a few free GPUs on every node, where no pod
that needs a whole set of them fits.

Arguments: `binpack.weight` (1) of the score as a whole; `binpack.cpu` and `binpack.memory` (1 each);
`binpack.resources`, a list of further resources, and `binpack.resources.<name>` (1 each).
"""

from collections.abc import Mapping
from typing import ClassVar, Final

import numpy as np

from vc.scheduling.conf.arguments import weight
from vc.scheduling.framework.node_points import NodeCandidates
from vc.scheduling.model.node_table import Ints
from vc.scheduling.plugins.nodeorder.plugin import used_points

_PREFIX: Final = "binpack.resources."


class Binpack:
    """Scores a node by its use after the placement, over the resources that the pod requests."""

    name: ClassVar[str] = "binpack"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._weight = weight(arguments, "binpack.weight", 1)
        self._weights = {
            "cpu": weight(arguments, "binpack.cpu", 1),
            "memory": weight(arguments, "binpack.memory", 1),
        }
        self._extended = "binpack.resources" not in arguments
        for listed in arguments.get("binpack.resources", "").split(","):
            name = listed.strip()
            if name:
                self._weights[name] = weight(arguments, _PREFIX + name, 1)

    def batch_node_order_scores(self, candidates: NodeCandidates) -> Ints:
        """Return the weighted mean of use per node and pod; zero where no resource counts."""
        total = np.zeros(candidates.form, dtype=np.int64)
        weights = 0
        # Only requested resources count: the use of others says nothing about how well the pod fits.
        for name, _ in candidates.shape.request:
            share = self._weights.get(name, 1 if self._extended and "/" in name else None)
            if share is not None and name in candidates.resources:
                total += share * used_points(candidates, candidates.resources[name])
                weights += share
        # The mean is formed before the weight of the plugin, so that a pod with many resources does not
        # outweigh the scores of other plugins.
        return self._weight * (total // weights) if weights else total
