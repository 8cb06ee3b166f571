"""PodDisruptionBudgets: the allowed disruptions, kept in the status and checked at eviction."""

from collections.abc import Iterator
from functools import partial

import msgspec

from vc.model.api.selectors import LabelSelector, SelectorError, selector_matches
from vc.model.api.struct import Json, JsonObject
from vc.simcluster.controllers.lifecycle import Lifecycle
from vc.simcluster.schema.builtin_resources import BUDGETS, PODS
from vc.simcluster.store.background import BackgroundSteps
from vc.simcluster.store.store import Change, Record, Store, Table


class Disruption:
    """Counts the healthy pods of each budget whenever a pod or a budget changes."""

    def __init__(self, store: Store, lifecycle: Lifecycle, background: BackgroundSteps) -> None:
        self._store = store
        self._lifecycle = lifecycle
        self._background = background
        self._dirty: set[str] = set()

    def observe(self, table: Table, change: Change) -> None:
        if table.resource.storage not in (PODS.storage, BUDGETS.storage):
            return
        namespace = change.record.namespace
        # One pending count per namespace is enough: it sees all changes made until it runs.
        # Clusters without budgets, the common case, skip the count for every write of a pod.
        if namespace in self._dirty or not self._store.table(BUDGETS).records:
            return
        self._dirty.add(namespace)
        self._background.add(partial(self._count, namespace))

    def budgets_of(self, pod: Record) -> list[JsonObject]:
        """The budgets that cover a pod, with a status computed now."""
        covering = []
        for record in self._budgets(pod.namespace):
            budget = record.object()
            if _covers(budget, pod):
                # The stored status may lag behind by one background step; an eviction needs the
                # current one.
                covering.append(budget | {"status": self._status(budget)})
        return covering

    def _budgets(self, namespace: str) -> Iterator[Record]:
        table = self._store.table(BUDGETS)
        return (table.records[key] for key in table.keys if key[0] == namespace)

    def _count(self, namespace: str) -> None:
        # Removed first: a change from now on is not part of this count and needs another one.
        self._dirty.discard(namespace)
        for record in list(self._budgets(namespace)):
            budget = record.object()
            status = self._status(budget)
            # An unchanged status is not written, because the write would trigger another count.
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
        # Finished pods do not count as expected pods, as in the disruption controller.
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
    """The number of pods that must stay healthy.

    Percentages are rounded up, as in the disruption controller.
    """
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
        return False  # an unreadable selector protects no pod


def _is_healthy(pod: Record) -> bool:
    # A terminating pod is about to end, so it must not keep a budget satisfied.
    if pod.deleting or pod.fields["status.phase"] != "Running":
        return False
    conditions = (pod.object().get("status") or {}).get("conditions") or []
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def _set_status(obj: JsonObject, *, status: JsonObject) -> None:
    obj["status"] = status
