"""ResourceQuotas whose scope is a priority class. They permit the class within their limits."""

from collections.abc import Iterable
from typing import Final

from vc.model.api.kubernetes import ResourceQuota
from vc.model.api.struct import JsonObject

_SCOPE: Final = "PriorityClass"
_POD_COUNTS: Final = ("pods", "count/pods")


def by_namespace(quotas: Iterable[ResourceQuota]) -> dict[str, tuple[ResourceQuota, ...]]:
    """Quotas by namespace, only those with a priority class as scope."""
    found: dict[str, tuple[ResourceQuota, ...]] = {}
    for quota in quotas:
        if _terms(quota):
            namespace = quota.metadata.namespace
            found[namespace] = (*found.get(namespace, ()), quota)
    return found


def _terms(quota: ResourceQuota) -> list[JsonObject]:
    selector = quota.spec.scope_selector
    terms = selector.get("matchExpressions") if isinstance(selector, dict) else None
    # A selector of a wrong type is reported by the API server, and is ignored here.
    if not isinstance(terms, list):
        return []
    return [t for t in terms if isinstance(t, dict) and t.get("scopeName") == _SCOPE]


def is_of_class(quota: ResourceQuota, name: str) -> bool:
    """Whether pods of this class count against the quota."""
    return all(_matches(term, name) for term in _terms(quota))


def _matches(term: JsonObject, name: str) -> bool:
    values = term.get("values")
    listed = values if isinstance(values, list) else []
    match term.get("operator"):
        case "In":
            return name in listed
        case "NotIn":
            return name not in listed
        case "Exists":
            return True
    return False


def leaves_none(quota: ResourceQuota) -> bool:
    """Whether the quota allows no pods at all."""
    return any(str(quota.spec.hard.get(key, "")) == "0" for key in _POD_COUNTS)
