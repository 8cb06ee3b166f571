"""Built-in admission: the priority of pods from their PriorityClass, the cluster IP of Services."""

from typing import Final

from vc.cluster.errors import ForbiddenError
from vc.model.api.struct import JsonObject
from vc.simcluster.schema.builtin_resources import PODS, PRIORITY_CLASSES, SERVICES
from vc.simcluster.store.failures import forbidden
from vc.simcluster.store.resource import Resource
from vc.simcluster.store.store import Store

SYSTEM_PRIORITIES: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
_ADDRESS_COUNT: Final = 2**20 - 2
"""Number of addresses in 10.96.0.0/12. The first belongs to the API server."""


class BuiltinAdmission:
    """Changes new objects before webhooks see them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._addresses_given = 1

    def admit(self, resource: Resource, obj: JsonObject, *, name: str) -> None:
        """Change the object in place. ForbiddenError if the pod's PriorityClass does not exist."""
        if resource.storage == PODS.storage:
            self._give_priority(obj, name)
        elif resource.storage == SERVICES.storage:
            self._give_address(obj)

    def _give_priority(self, pod: JsonObject, name: str) -> None:
        spec = pod.get("spec")
        if not isinstance(spec, dict):
            return
        chosen = self._priority_class(spec, name)
        priority = chosen.get("value", 0) if chosen else 0
        # A user must not choose a priority that the class does not grant.
        if spec.get("priority") not in (None, priority):
            raise forbidden(
                PODS,
                name,
                f"the integer value of priority ({spec['priority']}) must not be provided in pod "
                "spec; priority admission controller computed "
                f"{priority} from the given PriorityClass name",
            )
        spec["priority"] = priority
        if chosen:
            spec["priorityClassName"] = chosen["metadata"]["name"]
        policy = chosen.get("preemptionPolicy") if chosen else None
        spec.setdefault("preemptionPolicy", policy or "PreemptLowerPriority")

    def _priority_class(self, spec: JsonObject, name: str) -> JsonObject | None:
        wanted = spec.get("priorityClassName")
        if wanted:
            record = self._store.find(PRIORITY_CLASSES, ("", str(wanted)))
            if record is None:
                raise _no_class(name, str(wanted))
            return record.object()
        defaults = [
            obj
            for record in self._store.table(PRIORITY_CLASSES).records.values()
            if (obj := record.object()).get("globalDefault")
        ]
        # If several classes are the global default, Kubernetes uses the one with the lowest value.
        return min(defaults, key=lambda obj: int(obj.get("value", 0)), default=None)

    def _give_address(self, service: JsonObject) -> None:
        spec = service.get("spec")
        if not isinstance(spec, dict) or spec.get("type") == "ExternalName":
            return
        if not spec.get("clusterIP"):
            self._addresses_given = self._addresses_given % _ADDRESS_COUNT + 1
            number = self._addresses_given
            spec["clusterIP"] = f"10.{96 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
        spec.setdefault("clusterIPs", [spec["clusterIP"]])


def _no_class(pod: str, wanted: str) -> ForbiddenError:
    return forbidden(PODS, pod, f"no PriorityClass with name {wanted} was found")
