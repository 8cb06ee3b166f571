"""The table row of a pod: READY, STATUS and RESTARTS of `kubectl get pods`.

STATUS is not the phase but the most specific state: why the pod waits, how it ended, or that it is
terminating. The rules are those of Kubernetes.
"""

from typing import Final

from vc.model.api.struct import Json, JsonObject
from vc.model.values.ages import age, human_duration
from vc.model.values.times import parse_time
from vc.simcluster.printing.columns import AGE, NAME, Printer, column

_NONE: Final = "<none>"
_NODE_LOST: Final = "NodeLost"


def pod_cells(pod: JsonObject, now: float) -> list[Json]:
    """The cells in the order of `POD.columns`."""
    metadata, spec, status = pod["metadata"], pod.get("spec", {}), pod.get("status", {})
    containers = status.get("containerStatuses") or []
    ready = sum(1 for c in containers if c.get("ready"))
    return [
        metadata.get("name", ""),
        f"{ready}/{len(spec.get('containers') or [])}",
        pod_status(pod),
        _restarts(containers + (status.get("initContainerStatuses") or []), now),
        age(metadata.get("creationTimestamp"), now=now),
        _address(status),
        spec.get("nodeName") or _NONE,
        status.get("nominatedNodeName") or _NONE,
        _gates(spec, status),
    ]


def pod_status(pod: JsonObject) -> str:
    """The value of the STATUS column."""
    status = pod.get("status", {})
    # The reason of a kubelet, such as OutOfcpu, says more than the phase Failed.
    shown = status.get("reason") or status.get("phase") or "Unknown"
    if any(
        c.get("type") == "PodScheduled" and c.get("reason") == "SchedulingGated"
        for c in status.get("conditions") or []
    ):
        shown = "SchedulingGated"
    blocked = _initialising(pod)
    # A failing init container explains the state better than the containers that wait for it.
    shown = blocked or _from_containers(status, shown)
    if pod["metadata"].get("deletionTimestamp"):
        # An unreachable kubelet cannot confirm the end, so Terminating would say too much.
        shown = "Unknown" if status.get("reason") == _NODE_LOST else _terminating(status)
    return shown


def _terminating(status: JsonObject) -> str:
    """A deleted pod is Terminating until it has ended. After that, its end is shown."""
    phase = status.get("phase", "")
    return (
        "Terminating" if phase not in {"Succeeded", "Failed"} else _from_containers(status, phase)
    )


def _initialising(pod: JsonObject) -> str:
    """The state of the init container for which the pod waits. Empty if there is none."""
    wanted = len(pod.get("spec", {}).get("initContainers") or [])
    for index, container in enumerate(pod.get("status", {}).get("initContainerStatuses") or []):
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting")
        # The first init container that has not succeeded is the one for which the pod waits.
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if ended is not None:
            return f"Init:{_ending(ended)}"
        # PodInitializing is the normal state of a waiting container, so the progress is shown.
        if waiting and waiting.get("reason") not in {None, "", "PodInitializing"}:
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{wanted}"
    return ""


def _from_containers(status: JsonObject, shown: str) -> str:
    """The state by the first container that waits or has ended.

    If a container has completed and another one runs, the pod still counts as running.
    """
    is_running = False
    # In reverse order, so that the first container decides, as in kubectl.
    for container in reversed(status.get("containerStatuses") or []):
        state = container.get("state") or {}
        waiting, ended = state.get("waiting"), state.get("terminated")
        if waiting and waiting.get("reason"):
            shown = waiting["reason"]
        elif ended is not None:
            shown = _ending(ended)
        elif container.get("ready") and state.get("running"):
            is_running = True
    # A completed container must not hide that others still run.
    if shown == "Completed" and is_running:
        return "Running" if _is_ready(status) else "NotReady"
    return shown


def _ending(ended: JsonObject) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _is_ready(status: JsonObject) -> bool:
    return any(
        c.get("type") == "Ready" and c.get("status") == "True"
        for c in status.get("conditions") or []
    )


def _restarts(containers: list[JsonObject], now: float) -> str:
    """The number of restarts, and the time since the last one."""
    count = sum(c.get("restartCount", 0) for c in containers)
    ends = [
        parse_time(((c.get("lastState") or {}).get("terminated") or {}).get("finishedAt"))
        for c in containers
    ]
    known = [end for end in ends if end is not None]
    return f"{count} ({human_duration(now - max(known))} ago)" if count and known else str(count)


def _address(status: JsonObject) -> str:
    addresses = status.get("podIPs") or []
    return (addresses[0].get("ip") if addresses else status.get("podIP")) or _NONE


def _gates(spec: JsonObject, status: JsonObject) -> str:
    """How many readiness gates are true."""
    gates = [g.get("conditionType") for g in spec.get("readinessGates") or []]
    if not gates:
        return _NONE
    true = {c.get("type") for c in status.get("conditions") or [] if c.get("status") == "True"}
    return f"{sum(1 for g in gates if g in true)}/{len(gates)}"


POD: Final = Printer(
    columns=(
        NAME,
        column("Ready"),
        column("Status"),
        column("Restarts"),
        AGE,
        column("IP", wide=True),
        column("Node", wide=True),
        column("Nominated Node", wide=True),
        column("Readiness Gates", wide=True),
    ),
    cells=pod_cells,
)
