"""Which pods the API server must send to admission, as CEL conditions that it evaluates itself.

A call adds a round trip to the creation of a pod, so none is made whose answer is known. A pod is
validated only if it has a field that the support table answers, or a budget. A pod is mutated only
if a resource group can match it or it requests the gate of the queue. Without either, the condition
is `false` and no call is made at all.
"""

import json
from collections.abc import Iterable
from typing import Final

from vc.model.api.keys import QUEUE_ALLOCATION_GATE, QUEUE_NAME_ANNOTATION
from vc.model.api.struct import JsonObject
from vc.model.support import ENTRIES
from vc.model.support.lookup import METADATA, POD
from vc.validation.resource_groups import RESOURCE_GROUP_ANNOTATION, ResourceGroup

STEERED: Final = "is-steered-or-gated"
"""Name of the condition that admission keeps up to date with its configuration."""

EXPRESSION_CHARACTERS_MAX: Final = 3500
"""Limit of the expression. Beyond it, every pod of our scheduler is sent."""


def _answered() -> JsonObject:
    """Condition for pods with a field of the support table or a budget."""
    special = [entry for entry in ENTRIES if entry.special]
    fields = [f"has(object.{entry.path})" for entry in special if entry.scope == POD]
    notes = "object.metadata.annotations"
    keys = [e.path for e in special if e.scope == METADATA and POD in e.on]
    keys.append(QUEUE_NAME_ANNOTATION)  # a queue may have an allow list
    noted = " || ".join(f"'{key}' in {notes}" for key in keys)
    expression = " || ".join([*fields, f"(has({notes}) && ({noted}))"])
    return {"name": "has-an-answer", "expression": expression}


ANSWER_CONDITION: Final = _answered()
"""Condition for validation. It saves one call for every other pod."""


def scheduler_condition(scheduler_names: Iterable[str]) -> JsonObject:
    """Condition for pods that name our scheduler."""
    listed = ", ".join(f"'{name}'" for name in scheduler_names)
    expression = f"has(object.spec.schedulerName) && object.spec.schedulerName in [{listed}]"
    return {"name": "names-our-scheduler", "expression": expression}


def others_condition(accounts: Iterable[str]) -> JsonObject:
    """Condition for PodGroups that are created, or changed by others than our services.

    Our own changes need no call. Without accounts nothing is restored,
    but changes are still validated.
    """
    listed = ", ".join(_literal(name) for name in accounts)
    expression = f"request.operation == 'CREATE' || !(request.userInfo.username in [{listed}])"
    return {"name": "not-a-change-of-ours", "expression": expression}


def steering_condition(groups: Iterable[ResourceGroup], *, gate: bool) -> JsonObject:
    """Condition for pods that would be changed, or might be."""
    alternatives = [_has(QUEUE_ALLOCATION_GATE, "true")] if gate else []
    for group in groups:
        alternatives += _alternatives(group)
    # Groups often share conditions, and the length of the expression is limited.
    distinct = list(dict.fromkeys(alternatives))
    expression = " || ".join(distinct) or "false"
    # A longer expression costs more than it saves. Sending every pod is always correct.
    if len(expression) > EXPRESSION_CHARACTERS_MAX:
        expression = "true"
    return {"name": STEERED, "expression": expression}


def _alternatives(group: ResourceGroup) -> list[str]:
    """Conditions to belong to a resource group, by the same rules as `pod.matching_group`."""
    key, values = group.object.key, group.object.value
    if key == "namespace":
        listed = ", ".join(_literal(value) for value in values)
        return [f"request.namespace in [{listed}]"] if values else []
    pairs = (value.partition(":") for value in values)
    found = [_has(name.strip(), value.strip()) for name, _, value in pairs if name]
    if key == "":
        return [
            *found,
            *(
                [_has(RESOURCE_GROUP_ANNOTATION, group.resource_group)]
                if group.resource_group
                else []
            ),
        ]
    return found if key == "annotation" else []


def _has(annotation: str, value: str) -> str:
    name = _literal(annotation)
    notes = "object.metadata.annotations"
    return f"(has({notes}) && {name} in {notes} && {notes}[{name}] == {_literal(value)})"


def _literal(text: str) -> str:
    """A CEL string literal. JSON uses the same escapes."""
    return json.dumps(text)
