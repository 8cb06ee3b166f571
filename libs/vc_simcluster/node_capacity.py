"""What a node has and what its pods take; a kubelet refuses what does not fit.

A scheduler that over-commits is found out here, as it would be on a real node.
"""

import msgspec

from vc_model.quantity import QuantityError, parse_resources
from vc_model.struct import JsonObject
from vc_simcluster.pod_defaults import containers_of


def pod_requests(spec: JsonObject) -> dict[str, int]:
    """What a pod takes: all containers together, or its hungriest init container if that is more."""
    total: dict[str, int] = {}
    for container in containers_of(spec, "containers"):
        _add(total, _requests(container))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in containers_of(spec, "initContainers"):
        asked = _requests(container)
        if container.get("restartPolicy") == "Always":
            _add(sidecars, asked)
            asked = {}
        for name in asked.keys() | sidecars.keys():
            peak[name] = max(peak.get(name, 0), asked.get(name, 0) + sidecars.get(name, 0))
    _add(total, sidecars)
    for name, amount in peak.items():
        total[name] = max(total.get(name, 0), amount)
    _add(total, _parsed(spec.get("overhead")))
    return total


def _requests(container: JsonObject) -> dict[str, int]:
    return _parsed((container.get("resources") or {}).get("requests"))


def _parsed(amounts: JsonObject | None) -> dict[str, int]:
    try:
        return parse_resources(amounts)
    except QuantityError:
        return {}


def _add(total: dict[str, int], amounts: dict[str, int]) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a pod does not fit."""

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
    """One node's allocatable amounts and who holds them."""

    def __init__(self, allocatable: JsonObject) -> None:
        self.allocatable = _parsed(allocatable)
        self._held: dict[str, dict[str, int]] = {}
        self._used: dict[str, int] = {}

    def take(self, uid: str, requests: dict[str, int]) -> Refusal | None:
        """Hold the amounts for a pod, or say why not."""
        if uid in self._held:
            return None
        wanted = {**requests, "pods": 1000}
        for name in sorted(wanted):
            capacity = self.allocatable.get(name, 0)
            used = self._used.get(name, 0)
            if wanted[name] and used + wanted[name] > capacity:
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
        _add(self._used, amounts)

    def release(self, uid: str) -> None:
        amounts = self._held.pop(uid, {})
        _add(self._used, {name: -amount for name, amount in amounts.items()})
