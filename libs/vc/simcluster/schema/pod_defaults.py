"""Defaults of pods: requests from limits, grace period, quality of service class."""

from typing import Final

from vc.model.api.struct import Json, JsonObject
from vc.model.values.quantity import QuantityError, parse_resources

GRACE_SECONDS_DEFAULT: Final = 30
_QOS_RESOURCES: Final = ("cpu", "memory")


def containers_of(spec: JsonObject, *names: str) -> list[JsonObject]:
    """The containers of the named lists (`containers`, `initContainers`).

    Invalid entries are skipped.
    """
    found: list[JsonObject] = []
    for name in names or ("containers",):
        listed = spec.get(name)
        if isinstance(listed, list):
            found += [one for one in listed if isinstance(one, dict)]
    return found


def default_pod(pod: JsonObject) -> None:
    """Set all defaults of a pod in place."""
    spec = pod.setdefault("spec", {})
    if not isinstance(spec, dict):
        return
    default_pod_spec(spec)
    # The deprecated spelling is kept equal, as the API server does for old clients.
    spec.setdefault("serviceAccountName", spec.get("serviceAccount", "default"))
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    spec.setdefault("enableServiceLinks", True)
    status = pod.setdefault("status", {})
    if isinstance(status, dict):
        status.setdefault("phase", "Pending")
        # Fixed at creation, because the resources of a pod cannot change later.
        status.setdefault("qosClass", quality_of_service(spec))


def default_pod_spec(spec: JsonObject) -> None:
    """Set the defaults that pods and pod templates share, in place."""
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
        # An image without a tag means `latest`; a colon before the last slash belongs to a port.
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
            # Kubernetes uses the limit as the request of a resource that has no request.
            for name, amount in limits.items():
                requests.setdefault(name, amount)


def quality_of_service(spec: JsonObject) -> str:
    """The QoS class.

    Guaranteed: every container has CPU and memory limits equal to its requests.
    """
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
        return {}  # validation reports the fault
    # A zero counts as absent in the QoS rules of Kubernetes.
    return {name: amount for name, amount in parsed.items() if amount}
