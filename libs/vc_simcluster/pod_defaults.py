"""Pods as the API server completes them: requests from limits, grace period, quality of service."""

from typing import Final

from vc_model.quantity import QuantityError, parse_resources
from vc_model.struct import Json, JsonObject

GRACE_SECONDS_DEFAULT: Final = 30
_QOS_RESOURCES: Final = ("cpu", "memory")


def containers_of(spec: JsonObject, *names: str) -> list[JsonObject]:
    """The containers of the named lists (`containers`, `initContainers`), whatever was written."""
    found: list[JsonObject] = []
    for name in names or ("containers",):
        listed = spec.get(name)
        if isinstance(listed, list):
            found += [one for one in listed if isinstance(one, dict)]
    return found


def default_pod(pod: JsonObject) -> None:
    """Everything a pod gets without asking, in place."""
    spec = pod.setdefault("spec", {})
    if not isinstance(spec, dict):
        return
    default_pod_spec(spec)
    spec.setdefault("serviceAccountName", spec.get("serviceAccount", "default"))
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    spec.setdefault("enableServiceLinks", True)
    status = pod.setdefault("status", {})
    if isinstance(status, dict):
        status.setdefault("phase", "Pending")
        status.setdefault("qosClass", quality_of_service(spec))


def default_pod_spec(spec: JsonObject) -> None:
    """The defaults that pod templates get, too."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("terminationGracePeriodSeconds", GRACE_SECONDS_DEFAULT)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    for container in containers_of(spec, "containers", "initContainers"):
        _default_container(container)


def _default_container(container: JsonObject) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    image = container.get("image")
    if isinstance(image, str):
        latest = image.endswith(":latest") or ":" not in image.rpartition("/")[2]
        container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    for port in container.get("ports") or ():
        if isinstance(port, dict):
            port.setdefault("protocol", "TCP")
    resources = container.setdefault("resources", {})
    limits = resources.get("limits") if isinstance(resources, dict) else None
    if isinstance(limits, dict) and limits:
        requests = resources.setdefault("requests", {})
        if isinstance(requests, dict):
            for name, amount in limits.items():
                requests.setdefault(name, amount)


def quality_of_service(spec: JsonObject) -> str:
    """Guaranteed when every container's CPU and memory limits equal its requests."""
    containers = containers_of(spec, "containers", "initContainers")
    seen = [(_amounts(c, "requests"), _amounts(c, "limits")) for c in containers]
    if not any(requests or limits for requests, limits in seen):
        return "BestEffort"
    for requests, limits in seen:
        if any(name not in limits or requests.get(name) != limits[name] for name in _QOS_RESOURCES):
            return "Burstable"
    return "Guaranteed"


def _amounts(container: JsonObject, which: str) -> dict[str, int]:
    resources: Json = container.get("resources")
    listed = resources.get(which) if isinstance(resources, dict) else None
    if not isinstance(listed, dict):
        return {}
    try:
        parsed = parse_resources({name: listed[name] for name in _QOS_RESOURCES if name in listed})
    except (QuantityError, AttributeError, TypeError):
        return {}  # validation says what is wrong with it
    return {name: amount for name, amount in parsed.items() if amount}
