"""The lists of built-in kinds that are maps, and the members that identify their elements.

Strategic merge patch and server-side apply both use this table. It is keyed by the name of the
list, because in the served kinds the name determines the key; `ports` is decided by its elements.
All other lists are atomic and are replaced as a whole.
"""

from typing import Final

_BY_NAME: Final[dict[str, tuple[str, ...]]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "imagePullSecrets": ("name",),
    "hostAliases": ("ip",),
    "conditions": ("type",),
    "ownerReferences": ("uid",),
    "addresses": ("type",),
    "secrets": ("name",),
    "schedulingGates": ("name",),
    "resourceClaims": ("name",),
    "webhooks": ("name",),
    "matchConditions": ("name",),
}
_PORTS: Final = ("containerPort", "protocol")
_SERVICE_PORTS: Final = ("port", "protocol")
_SETS: Final = frozenset({"finalizers"})
"""Lists of plain values whose order does not matter."""


def merge_keys(path: tuple[str, ...], elements: list[object]) -> tuple[str, ...]:
    """The members that identify an element of the list at `path`. Empty if the list is atomic."""
    name = path[-1] if path else ""
    if not all(isinstance(element, dict) for element in elements):
        return ()
    if name == "ports":
        return (
            _SERVICE_PORTS if any("port" in e for e in elements if isinstance(e, dict)) else _PORTS
        )
    if name == "taints":
        return ("key", "effect")
    if name == "topologySpreadConstraints":
        return ("topologyKey", "whenUnsatisfiable")
    return _BY_NAME.get(name, ())


def is_set(path: tuple[str, ...]) -> bool:
    """Whether the list at `path` is a set of plain values."""
    return bool(path) and path[-1] in _SETS
