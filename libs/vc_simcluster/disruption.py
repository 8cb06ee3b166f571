"""PodDisruptionBudgets: how many pods may go now, kept in their status and asked at eviction."""

from collections.abc import Iterator
from functools import partial

import msgspec

from vc_model.selectors import LabelSelector, SelectorError, selector_matches
from vc_model.struct import Json, JsonObject
from vc_simcluster.builtin_resources import BUDGETS, PODS
from vc_simcluster.housekeeping import Housekeeping
from vc_simcluster.lifecycle import Lifecycle
from vc_simcluster.store import Change, Record, Store, Table


class Disruption:
    """Counts healthy pods per budget whenever one of either changes."""

    def __init__(self, store: Store, lifecycle: Lifecycle, housekeeping: Housekeeping) -> None:
        self._store = store
        self._lifecycle = lifecycle
        self._housekeeping = housekeeping
        self._dirty: set[str] = set()

    def observe(self, table: Table, change: Change) -> None:
        if table.resource.storage not in (PODS.storage, BUDGETS.storage):
            return
        namespace = change.record.namespace
        if namespace in self._dirty or not self._store.table(BUDGETS).records:
            return
        self._dirty.add(namespace)
        self._housekeeping.add(partial(self._count, namespace))

    def budgets_of(self, pod: Record) -> list[JsonObject]:
        """The budgets that cover a pod, with their status as of now."""
        covering = []
        for record in self._budgets(pod.namespace):
            budget = record.object()
            if _covers(budget, pod):
                covering.append(budget | {"status": self._status(budget)})
        return covering

    def _budgets(self, namespace: str) -> Iterator[Record]:
        table = self._store.table(BUDGETS)
        return (table.records[key] for key in table.keys if key[0] == namespace)

    def _count(self, namespace: str) -> None:
        self._dirty.discard(namespace)
        for record in list(self._budgets(namespace)):
            budget = record.object()
            status = self._status(budget)
            if status != budget.get("status"):
                self._lifecycle.edit(BUDGETS, record.key, partial(_set_status, status=status))

    def _status(self, budget: JsonObject) -> JsonObject:
        table = self._store.table(PODS)
        namespace = budget["metadata"]["namespace"]
        pods = [
            record
            for key, record in table.records.items()
            if key[0] == namespace and _covers(budget, record)
        ]
        pods = [pod for pod in pods if pod.fields["status.phase"] not in ("Succeeded", "Failed")]
        healthy = sum(_is_healthy(pod) for pod in pods)
        desired = desired_healthy(budget.get("spec") or {}, len(pods))
        return {
            "observedGeneration": budget["metadata"].get("generation", 1),
            "expectedPods": len(pods),
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "disruptionsAllowed": max(0, healthy - desired),
        }


def desired_healthy(spec: JsonObject, expected: int) -> int:
    """How many must stay; percentages round up, as the disruption controller does."""
    if spec.get("maxUnavailable") is not None:
        return max(0, expected - _amount(spec["maxUnavailable"], expected))
    if spec.get("minAvailable") is not None:
        return _amount(spec["minAvailable"], expected)
    return max(0, expected - 1)


def _amount(value: Json, expected: int) -> int:
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdigit():
        return -(-int(value[:-1]) * expected // 100)
    return int(value) if isinstance(value, int) else 0


def _covers(budget: JsonObject, pod: Record) -> bool:
    written = (budget.get("spec") or {}).get("selector")
    try:
        selector = msgspec.convert(written, LabelSelector | None)
        return selector_matches(selector, pod.labels)
    except (msgspec.ValidationError, SelectorError):
        return False  # a selector nobody can read protects nobody


def _is_healthy(pod: Record) -> bool:
    if pod.deleting or pod.fields["status.phase"] != "Running":
        return False
    conditions = (pod.object().get("status") or {}).get("conditions") or []
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def _set_status(obj: JsonObject, *, status: JsonObject) -> None:
    obj["status"] = status
