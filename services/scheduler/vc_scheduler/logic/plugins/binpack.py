"""binpack: fill nodes up, resource by resource with weights (behaviour.md 5.7).

Extended resources (accelerators) count with weight 1 unless `binpack.resources` names those that do:
a binpack that looks at CPU alone leaves every node with a few GPUs free.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

import numpy as np

from vc_scheduler.logic.framework import Candidates
from vc_scheduler.logic.plugins.arguments import weight
from vc_scheduler.logic.plugins.nodeorder import used_points
from vc_scheduler.logic.table import Ints

_PREFIX: Final = "binpack.resources."


class Binpack:
    """The fuller the better, over the resources the pod asks for."""

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

    def score(self, candidates: Candidates) -> Ints:
        total = np.zeros(candidates.form, dtype=np.int64)
        weights = 0
        for name, _ in candidates.shape.request:
            share = self._weights.get(name, 1 if self._extended and "/" in name else None)
            if share is not None and name in candidates.resources:
                total += share * used_points(candidates, candidates.resources[name])
                weights += share
        return self._weight * (total // weights) if weights else total
