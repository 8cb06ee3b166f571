"""Allocatable resources of a node and their use. A kubelet rejects pods that do not fit.

A scheduler that over-commits a node is detected here, as on a real node.
"""

import msgspec

from vc.model.api.struct import JsonObject
from vc.model.values.quantity import QuantityError, parse_resources
from vc.model.values.resources import Resources
from vc.simcluster.schema.pod_defaults import containers_of


def pod_requests(spec: JsonObject) -> Resources:
    """The resources that a pod requests.

    That is the sum of its containers, or the peak of its init containers if that is higher.
    """
    total = Resources.total(_requests(each) for each in containers_of(spec, "containers"))
    sidecars = Resources()
    peak = Resources()
    for container in containers_of(spec, "initContainers"):
        step = sidecars + _requests(container)
        # A restartable init container (sidecar) keeps running beside all later containers.
        if container.get("restartPolicy") == "Always":
            sidecars = step
        peak.raise_to(step)
    # Sidecars run beside the containers, so both have to fit at the same time.
    total.add(sidecars)
    total.raise_to(peak)
    # The sandbox exists during initialisation and later, so its overhead is added to both.
    total.add(_parsed(spec.get("overhead")))
    return total


def _requests(container: JsonObject) -> Resources:
    return _parsed((container.get("resources") or {}).get("requests"))


def _parsed(amounts: JsonObject | None) -> Resources:
    try:
        return parse_resources(amounts)
    except QuantityError:
        # An unreadable quantity counts as no request: validation rejects it elsewhere.
        return Resources()


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a pod does not fit on a node."""

    resource: str
    requested: int
    used: int
    capacity: int

    @property
    def reason(self) -> str:
        return f"OutOf{self.resource}"

    @property
    def message(self) -> str:
        return (
            f"Pod was rejected: Node didn't have enough resource: {self.resource}, requested: "
            f"{self.requested}, used: {self.used}, capacity: {self.capacity}"
        )


class NodeCapacity:
    """The allocatable resources of one node, and the amounts held by each pod."""

    def __init__(self, allocatable: JsonObject) -> None:
        self.allocatable = _parsed(allocatable)
        self._held: dict[str, dict[str, int]] = {}
        self._used = Resources()

    def take(self, uid: str, requests: dict[str, int]) -> Refusal | None:
        """Hold the resources for a pod. Return the reason if they do not fit."""
        # The pod was already admitted; taking twice would count it twice.
        if uid in self._held:
            return None
        # Amounts are in thousandths, so one pod is 1000.
        wanted = {**requests, "pods": 1000}
        # Sorted, so that the reported resource does not depend on the order in the manifest.
        for name in sorted(wanted):
            capacity = self.allocatable[name]
            used = self._used[name]
            if wanted[name] and used + wanted[name] > capacity:
                # The message uses the units of a real kubelet.
                unit = 1000 if name not in ("cpu", "memory", "ephemeral-storage") else 1
                return Refusal(
                    resource=name,
                    requested=wanted[name] // unit,
                    used=used // unit,
                    capacity=capacity // unit,
                )
        self.hold(uid, wanted)
        return None

    def hold(self, uid: str, amounts: dict[str, int]) -> None:
        self._held[uid] = amounts
        self._used.add(amounts)

    def release(self, uid: str) -> None:
        # A pod that was rejected holds nothing, and its end must not reduce the use.
        amounts = self._held.pop(uid, {})
        self._used.add(amounts, times=-1)
