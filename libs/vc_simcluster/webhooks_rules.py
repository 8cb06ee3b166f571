"""Whether a webhook wants to hear of a write: its rules and selectors."""

from collections.abc import Mapping

import msgspec

from vc_model.selectors import LabelSelector, selector_matches
from vc_model.struct import JsonObject
from vc_simcluster.admission import AdmissionRequest

ANY = "*"


def rules_match(webhook: JsonObject, request: AdmissionRequest) -> bool:
    """Whether one of the rules names the operation and the resource."""
    return any(_rule_matches(rule, request) for rule in webhook.get("rules") or [])


def _rule_matches(rule: JsonObject, request: AdmissionRequest) -> bool:
    resource = request.resource
    scope = "Namespaced" if resource.namespaced else "Cluster"
    return (
        _has(rule.get("operations"), request.operation)
        and _has(rule.get("apiGroups"), resource.group)
        and _has(rule.get("apiVersions"), resource.version)
        and rule.get("scope", ANY) in {ANY, scope}
        and any(
            _resource_matches(one, resource.plural, request.subresource)
            for one in rule.get("resources") or []
        )
    )


def _has(values: list[str] | None, wanted: str) -> bool:
    return any(value in {ANY, wanted} for value in values or [])


def _resource_matches(pattern: str, plural: str, subresource: str) -> bool:
    """`jobs` means the object only, `jobs/*` its subresources, `*` objects, `*/*` everything."""
    name, slash, below = pattern.partition("/")
    if name not in {ANY, plural}:
        return False
    if not slash:
        return not subresource
    return below in {ANY, subresource}


def object_matches(webhook: JsonObject, request: AdmissionRequest) -> bool:
    """Whether the object as it is, or as it would be, has the labels of the objectSelector."""
    selector = _selector(webhook.get("objectSelector"))
    if selector is None:
        return True
    candidates = [o for o in (request.object, request.old_object) if o is not None]
    return any(selector_matches(selector, _labels(o)) for o in candidates)


def namespace_matches(webhook: JsonObject, labels: Mapping[str, str] | None) -> bool:
    """The same for the namespace; `labels` is None for objects that are in none."""
    selector = _selector(webhook.get("namespaceSelector"))
    return selector is None or labels is None or selector_matches(selector, labels)


def _selector(raw: JsonObject | None) -> LabelSelector | None:
    """An absent or empty selector asks for nothing."""
    return msgspec.convert(raw, LabelSelector) if raw else None


def _labels(obj: JsonObject) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}
