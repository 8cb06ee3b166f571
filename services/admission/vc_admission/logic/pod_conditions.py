"""Which pods the API server has to ask us about, as conditions that it works out itself.

A question costs a pod's creation a round trip, so none is asked whose answer is known: a pod is
validated only where it has a field that the table of support answers, or a budget, and a pod is mutated only if a resource group can match it or it
asks for the queue's gate. Without either, the condition is `false` and nobody asks at all.
"""

import json
from collections.abc import Iterable
from typing import Final

from vc_admission.logic.resource_groups import ResourceGroup
from vc_model.keys import QUEUE_ALLOCATION_GATE, QUEUE_NAME_ANNOTATION
from vc_model.struct import JsonObject
from vc_model.support import ENTRIES
from vc_model.support.asking import METADATA, POD

RESOURCE_GROUP: Final = "volcano.sh/resource-group"
STEERED: Final = "is-steered-or-gated"
"""Name of the condition that admission keeps in step with its configuration."""

EXPRESSION_CHARACTERS_MAX: Final = 3500
"""Longer ones are not worth working out: then every pod of ours is asked about."""


def _answered() -> JsonObject:
    """Pods of which the table of support has something to say; budgets are validated, too."""
    special = [entry for entry in ENTRIES if entry.special]
    fields = [f"has(object.{entry.path})" for entry in special if entry.scope == POD]
    notes = "object.metadata.annotations"
    keys = [e.path for e in special if e.scope == METADATA and POD in e.on]
    keys.append(QUEUE_NAME_ANNOTATION)  # a queue may have an allow list
    noted = " || ".join(f"'{key}' in {notes}" for key in keys)
    expression = " || ".join([*fields, f"(has({notes}) && ({noted}))"])
    return {"name": "has-an-answer", "expression": expression}


ANSWER_CONDITION: Final = _answered()
"""What is validated of a pod; the API server asks once less about every other one."""


def scheduler_condition(scheduler_names: Iterable[str]) -> JsonObject:
    """Only pods that name our scheduler."""
    listed = ", ".join(f"'{name}'" for name in scheduler_names)
    expression = f"has(object.spec.schedulerName) && object.spec.schedulerName in [{listed}]"
    return {"name": "names-our-scheduler", "expression": expression}


def others_condition(accounts: Iterable[str]) -> JsonObject:
    """Pod groups that are made, or that others than our services change: our own changes cost no question.
    Without accounts nothing is restored, so changes are judged all the same."""
    listed = ", ".join(_literal(name) for name in accounts)
    expression = f"request.operation == 'CREATE' || !(request.userInfo.username in [{listed}])"
    return {"name": "not-a-change-of-ours", "expression": expression}


def steering_condition(groups: Iterable[ResourceGroup], *, gate: bool) -> JsonObject:
    """Only pods that would be changed, or might be."""
    alternatives = [_has(QUEUE_ALLOCATION_GATE, "true")] if gate else []
    for group in groups:
        alternatives += _alternatives(group)
    distinct = list(dict.fromkeys(alternatives))
    expression = " || ".join(distinct) or "false"
    if len(expression) > EXPRESSION_CHARACTERS_MAX:
        expression = "true"
    return {"name": STEERED, "expression": expression}


def _alternatives(group: ResourceGroup) -> list[str]:
    """Ways to belong to a group; the same rules as `pod.matching_group`."""
    key, values = group.object.key, group.object.value
    if key == "namespace":
        listed = ", ".join(_literal(value) for value in values)
        return [f"request.namespace in [{listed}]"] if values else []
    pairs = (value.partition(":") for value in values)
    found = [_has(name.strip(), value.strip()) for name, _, value in pairs if name]
    if key == "":
        return [
            *found,
            *([_has(RESOURCE_GROUP, group.resource_group)] if group.resource_group else []),
        ]
    return found if key == "annotation" else []


def _has(annotation: str, value: str) -> str:
    name = _literal(annotation)
    notes = "object.metadata.annotations"
    return f"(has({notes}) && {name} in {notes} && {notes}[{name}] == {_literal(value)})"


def _literal(text: str) -> str:
    """JSON's escapes are CEL's."""
    return json.dumps(text)
