"""The verbs that only pods have: binding, eviction, logs."""

from typing import Final

from vc.clock import Clock
from vc.cluster.errors import ConflictError, ServerError, TooManyRequestsError
from vc.model.api.struct import Json, JsonObject
from vc.model.values.times import format_time
from vc.simcluster.controllers.disruption import Disruption
from vc.simcluster.controllers.lifecycle import Lifecycle
from vc.simcluster.schema.builtin_resources import PODS
from vc.simcluster.schema.pod_defaults import containers_of
from vc.simcluster.schema.updates import check_uid
from vc.simcluster.store.failures import bad_request, invalid, not_found, required
from vc.simcluster.store.pod_logs import PodLogs
from vc.simcluster.store.store import Record, Store
from vc.simcluster.verbs.namespaces import Namespaces

_EVICTION_RETRY_SECONDS: Final = 10.0


class PodVerbs:
    """Binding, eviction and logs over the store."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        lifecycle: Lifecycle,
        disruption: Disruption,
        namespaces: Namespaces,
    ) -> None:
        self._namespaces = namespaces
        self._store = store
        self._clock = clock
        self._lifecycle = lifecycle
        self._disruption = disruption
        self.logs = PodLogs()

    def _pod(self, namespace: str, name: str) -> Record:
        record = self._store.find(PODS, (namespace, name))
        if record is None:
            raise not_found(PODS, name)
        return record

    def bind(self, *, namespace: str, name: str, binding: JsonObject) -> None:
        """Bind the pod to a node, once.

        As on a real server, the node need not exist. A binding counts as new content, so a
        terminating namespace rejects it.
        """
        # The binding subresource is a create request, and Kubernetes checks the namespace for
        # those.
        self._namespaces.check_open(PODS, name=name, namespace=namespace)
        target: Json = binding.get("target")
        node = target.get("name") if isinstance(target, dict) else None
        if not node or not isinstance(node, str):
            raise invalid(PODS, name, [required("target.name")])
        meta: Json = binding.get("metadata") or {}
        pod = self._pod(namespace, name).object()
        # The uid protects against binding a new pod that reuses the name of the one scheduled.
        check_uid(PODS, pod["metadata"], uid=meta.get("uid") or "")
        _check_bindable(pod, name)
        pod["spec"]["nodeName"] = node
        # A binding may carry annotations and labels; the API server merges them into the pod.
        for kind in ("annotations", "labels"):
            if meta.get(kind):
                pod["metadata"][kind] = {**(pod["metadata"].get(kind) or {}), **meta[kind]}
        now = format_time(self._clock.now())
        status = pod.setdefault("status", {})
        # Like the API server, the binding itself sets the condition; the scheduler need not.
        set_condition(status, {"type": "PodScheduled", "status": "True"}, now=now)
        self._lifecycle.write(PODS, pod)

    def evict(self, *, namespace: str, name: str, eviction: JsonObject) -> None:
        """Delete the pod if all disruption budgets that cover it allow one more disruption."""
        # An eviction is a deletion with one more check, with grace period and preconditions.
        record = self._pod(namespace, name)
        options: Json = eviction.get("deleteOptions") or {}
        if not isinstance(options, dict):
            raise bad_request("deleteOptions is not an object")
        if not self._may_go(record):
            # As in the eviction API, a running pod with several budgets cannot be evicted.
            budgets = self._disruption.budgets_of(record)
            if len(budgets) > 1:
                raise ServerError(
                    "This pod has more than one PodDisruptionBudget, which the eviction "
                    "subresource does not support."
                )
            for budget in budgets:
                _check_budget(budget)
        self._lifecycle.delete(PODS, record, options)

    @staticmethod
    def _may_go(record: Record) -> bool:
        """Whether the pod may be evicted without a budget: it does not run, or it ends anyway."""
        idle = not record.fields["spec.nodeName"] or record.fields["status.phase"] == "Pending"
        return idle or record.deleting or record.fields["status.phase"] in ("Succeeded", "Failed")

    def read_logs(
        self, *, namespace: str, name: str, container: str, tail_lines: int | None
    ) -> str:
        pod = self._pod(namespace, name).object()
        names = [c.get("name", "") for c in containers_of(pod["spec"], "containers")]
        inits = [c.get("name", "") for c in containers_of(pod["spec"], "initContainers")]
        if not container and len(names) > 1:
            listed = " ".join(names)
            raise bad_request(
                f"a container name must be specified for pod {name}, choose one of: [{listed}]"
            )
        chosen = container or names[0]
        if chosen not in names + inits:
            raise bad_request(f"container {chosen} is not valid for pod {name}")
        # Without container statuses no container has started, so there is no log yet.
        statuses = (pod.get("status") or {}).get("containerStatuses")
        if not statuses:
            raise bad_request(
                f'container "{chosen}" in pod "{name}" is waiting to start: ContainerCreating'
            )
        return self.logs.read(pod["metadata"]["uid"], chosen, tail_lines=tail_lines)


def _check_bindable(pod: JsonObject, name: str) -> None:
    meta, spec = pod["metadata"], pod["spec"]
    why = ""
    # The order of the checks is that of the API server, because only the first reason is reported.
    if "deletionTimestamp" in meta:
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        raise ConflictError(f'Operation cannot be fulfilled on pods/binding "{name}": {why}')


def _check_budget(budget: JsonObject) -> None:
    # The status was computed for this request, so two evictions in a row cannot share one slot.
    if budget["status"]["disruptionsAllowed"] > 0:
        return
    name = budget["metadata"]["name"]
    status = budget["status"]
    cause = {
        "reason": "DisruptionBudget",
        "message": f"The disruption budget {name} needs {status['desiredHealthy']} healthy pods "
        f"and has {status['currentHealthy']} currently",
    }
    raise TooManyRequestsError(
        "Cannot evict pod as it would violate the pod's disruption budget.",
        retry_after_seconds=_EVICTION_RETRY_SECONDS,
        details={"causes": [cause]},
    )


def set_condition(status: JsonObject, condition: JsonObject, *, now: str) -> None:
    """Set a condition by type.

    The transition time changes only if the condition's status changes.
    """
    conditions: list[JsonObject] = status.setdefault("conditions", [])
    for index, known in enumerate(conditions):
        if known.get("type") == condition["type"]:
            # Readers compute durations from the transition time, so a repeated status keeps it.
            same = known.get("status") == condition["status"]
            since = known.get("lastTransitionTime", now) if same else now
            conditions[index] = {**condition, "lastTransitionTime": since}
            return
    conditions.append({**condition, "lastTransitionTime": now})
