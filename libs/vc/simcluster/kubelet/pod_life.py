"""The life cycle of a simulated pod: pure functions that compute its next status.

Annotations define the behaviour: `sim.pyroclast.io/run-seconds` (absent: until deleted),
`/exit-code` (default 0), `/fail-attempts` (the first n attempts fail) and `/grace-seconds` (time
needed to terminate). All containers of a pod behave alike. Attempts are counted by the restartCount
in the status, so that a restarted kubelet continues where the previous one stopped.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.model.api.struct import JsonObject
from vc.simcluster.schema.pod_defaults import containers_of
from vc.simcluster.verbs.pod_verbs import set_condition

_PREFIX: Final = "sim.pyroclast.io/"
_TERMINATED_BY_SIGNAL: Final = 143
"""The exit code of a container that SIGTERM has ended: 128 + 15."""
_FAILURE: Final = 1
_SECONDS_MAX: Final = 10.0 * 365 * 86400


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """The behaviour that the annotations define. An unreadable annotation counts as absent."""

    run_seconds: float | None = None
    exit_code: int | None = None
    fail_attempts: int = 0
    grace_seconds: float = 0.0

    def code_of(self, attempt: int) -> int:
        """The exit code of an attempt, counted from 0."""
        if attempt < self.fail_attempts:
            # An exit code of 0 would be a success, so a failing attempt then ends with 1.
            return self.exit_code or _FAILURE
        # With fail-attempts, the attempts after the failing ones succeed.
        return 0 if self.fail_attempts else (self.exit_code or 0)


def read_behaviour(pod: JsonObject) -> Behaviour:
    annotations: Mapping[str, str] = pod["metadata"].get("annotations") or {}
    run = _seconds(annotations.get(_PREFIX + "run-seconds"))
    code = _seconds(annotations.get(_PREFIX + "exit-code"))
    return Behaviour(
        run_seconds=run,
        # An exit status has eight bits.
        exit_code=None if code is None else int(code) & 255,
        fail_attempts=int(_seconds(annotations.get(_PREFIX + "fail-attempts")) or 0),
        grace_seconds=_seconds(annotations.get(_PREFIX + "grace-seconds")) or 0.0,
    )


def _seconds(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    # Infinity becomes the bound, and NaN fails the comparison and counts as absent.
    return min(value, _SECONDS_MAX) if value >= 0 else None


def restarts(pod: JsonObject, code: int) -> bool:
    """Whether the kubelet restarts the containers after this exit code."""
    policy = pod["spec"].get("restartPolicy", "Always")
    return bool(policy == "Always" or (policy == "OnFailure" and code != 0))


def attempt_of(pod: JsonObject) -> int:
    """How often the containers were restarted."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return max((one.get("restartCount", 0) for one in statuses), default=0)


def running(pod: JsonObject, *, now: str, attempt: int = 0) -> None:
    """Set the status of a pod whose containers all run, in place."""
    status: JsonObject = pod.setdefault("status", {})
    status["phase"] = "Running"
    # The start time is that of the pod, so it survives restarts of its containers.
    status.setdefault("startTime", now)
    # The state before the last restart stays visible, as `kubectl describe` shows it.
    before = {one["name"]: one for one in status.get("containerStatuses") or []}
    status["containerStatuses"] = [
        _container(pod, c, attempt, {"running": {"startedAt": now}})
        | {"lastState": before.get(c["name"], {}).get("lastState", {})}
        for c in containers_of(pod["spec"], "containers")
    ]
    # Init containers are not simulated: they complete at the moment the pod starts.
    done = {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
    inits = containers_of(pod["spec"], "initContainers")
    if inits:
        status["initContainerStatuses"] = [
            _container(pod, c, 0, {"terminated": done}) | {"ready": True} for c in inits
        ]
    for kind in (
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ):
        set_condition(status, {"type": kind, "status": "True"}, now=now)


def _container(
    pod: JsonObject, container: JsonObject, attempt: int, state: JsonObject
) -> JsonObject:
    runs = "running" in state
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "containerID": f"sim://{pod['metadata']['uid']}/{container['name']}/{attempt}",
        "ready": runs,
        "started": runs,
        "restartCount": attempt,
        "state": state,
        "lastState": {},
    }


def _ended(pod: JsonObject, container: JsonObject, code: int, now: str) -> JsonObject:
    """The terminated state that follows a running one."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    known: JsonObject = next((s for s in statuses if s["name"] == container["name"]), {})
    began = ((known.get("state") or {}).get("running") or {}).get("startedAt", now)
    return {
        "exitCode": code,
        "reason": "Completed" if code == 0 else "Error",
        "startedAt": began,
        "finishedAt": now,
        "containerID": known.get("containerID", ""),
    }


def finished(pod: JsonObject, *, code: int, now: str) -> None:
    """Set the status of a pod whose containers have ended for good, in place."""
    attempt = attempt_of(pod)
    states = [
        (c, {"terminated": _ended(pod, c, code, now)})
        for c in containers_of(pod["spec"], "containers")
    ]
    status: JsonObject = pod.setdefault("status", {})
    status["phase"] = "Succeeded" if code == 0 else "Failed"
    before = {one["name"]: one for one in status.get("containerStatuses") or []}
    status["containerStatuses"] = [
        _container(pod, c, attempt, state)
        | {"lastState": before.get(c["name"], {}).get("lastState", {})}
        for c, state in states
    ]
    _not_ready(status, "PodCompleted" if code == 0 else "PodFailed", now)


def backing_off(pod: JsonObject, *, code: int, now: str) -> None:
    """Set the status of a pod whose containers have ended and will be restarted, in place."""
    attempt = attempt_of(pod)
    waiting = {
        "waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting container"}
    }
    containers = [
        _container(pod, c, attempt, waiting)
        | {"lastState": {"terminated": _ended(pod, c, code, now)}}
        for c in containers_of(pod["spec"], "containers")
    ]
    status: JsonObject = pod.setdefault("status", {})
    status["containerStatuses"] = containers
    _not_ready(status, "ContainersNotReady", now)


def terminated(pod: JsonObject, *, now: str) -> None:
    """Set the status of a running pod that was terminated, in place. Other pods stay unchanged."""
    # A pod that never ran has no exit code, and a finished one keeps its own.
    if (pod.get("status") or {}).get("phase") == "Running":
        finished(pod, code=_TERMINATED_BY_SIGNAL, now=now)


def rejected(pod: JsonObject, *, reason: str, message: str, now: str) -> None:
    """Set the status of a pod that the node rejected, in place."""
    status: JsonObject = pod.setdefault("status", {})
    status.update(phase="Failed", reason=reason, message=message)
    status.setdefault("startTime", now)


def lost(pod: JsonObject, *, now: str) -> None:
    """Set the status of a pod whose node is unreachable, in place."""
    # The phase stays: only the kubelet could report another one, and it is unreachable.
    status: JsonObject = pod.setdefault("status", {})
    set_condition(status, {"type": "Ready", "status": "False", "reason": "NodeNotReady"}, now=now)


def _not_ready(status: JsonObject, reason: str, now: str) -> None:
    for kind in ("Ready", "ContainersReady"):
        set_condition(status, {"type": kind, "status": "False", "reason": reason}, now=now)


def command_line(container: JsonObject) -> str:
    """The command that the container would run, for its log."""
    words = [*(container.get("command") or []), *(container.get("args") or [])]
    return (
        " ".join(str(word) for word in words) or f"the entry point of {container.get('image', '')}"
    )
