"""Whether a webhook applies to a write: its rules and selectors."""

from collections.abc import Mapping

import msgspec

from vc.model.api.selectors import LabelSelector, selector_matches
from vc.model.api.struct import JsonObject
from vc.simcluster.verbs.admission import AdmissionRequest

ANY = "*"


def rules_match(webhook: JsonObject, request: AdmissionRequest) -> bool:
    """Whether one of the rules matches the operation and the resource."""
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
    """Match a resource pattern: `jobs` is the object only, `jobs/*` its subresources, `*` objects,
    `*/*` all.
    """
    name, slash, below = pattern.partition("/")
    if name not in {ANY, plural}:
        return False
    # A rule for `jobs` must not see status writes, which controllers send all the time.
    if not slash:
        return not subresource
    return below in {ANY, subresource}


def object_matches(webhook: JsonObject, request: AdmissionRequest) -> bool:
    """Whether the old or the new object matches the objectSelector."""
    selector = _selector(webhook.get("objectSelector"))
    if selector is None:
        return True
    # Both states count: a webhook must also see that a label was removed.
    candidates = [o for o in (request.object, request.old_object) if o is not None]
    return any(selector_matches(selector, _labels(o)) for o in candidates)


def namespace_matches(webhook: JsonObject, labels: Mapping[str, str] | None) -> bool:
    """Whether the namespace matches the namespaceSelector.

    `labels` is None for objects outside of namespaces, which always match.
    """
    selector = _selector(webhook.get("namespaceSelector"))
    return selector is None or labels is None or selector_matches(selector, labels)


def _selector(raw: JsonObject | None) -> LabelSelector | None:
    """Parse a selector. An absent or empty selector matches everything."""
    return msgspec.convert(raw, LabelSelector) if raw else None


def _labels(obj: JsonObject) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}
