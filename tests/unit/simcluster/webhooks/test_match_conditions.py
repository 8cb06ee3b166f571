"""The part of CEL that match conditions use."""

import pytest

from vc.simcluster.webhooks.match_conditions import ConditionError, holds

_VARIABLES = {
    "object": {
        "metadata": {"name": "j", "labels": {"a-b": "c"}},
        "spec": {"schedulerName": "volcano", "replicas": 3},
    },
    "oldObject": None,
    "request": {"operation": "CREATE"},
}


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.schedulerName == 'volcano'",
        'object.spec.schedulerName in ["x", "volcano"]',
        "has(object.spec.schedulerName) && object.spec.replicas >= 3",
        "!has(object.spec.queue)",
        "!(has(object.spec.queue) && object.spec.queue == 'q')",
        "object.metadata.labels['a-b'] == 'c'",
        "'a-b' in object.metadata.labels",
        "oldObject == null || oldObject.spec.x == 1",
        "request.operation == 'CREATE' && object.metadata.name.startsWith('j')",
        "true && !false",
        "object.metadata.name == 'it\\'s' || object.spec.replicas != -1",
    ],
)
def test_a_true_condition_holds(expression: str) -> None:
    assert holds(expression, _VARIABLES)


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.schedulerName != 'volcano'",
        "object.spec.schedulerName in []",
        "false || object.spec.replicas < 3",
    ],
)
def test_a_false_condition_does_not(expression: str) -> None:
    assert not holds(expression, _VARIABLES)


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.queue == 'q'",
        "object.spec.tasks.exists(t, t.name == 'x')",
        "object.spec.schedulerName",
        "object.spec.replicas < 'x'",
        "someone.spec == 1",
        "object.spec ==",
        "object # 3",
        "(" * 60 + "true" + ")" * 60,
        "x" * 5000,
        "",
    ],
)
def test_what_cannot_be_decided_is_an_error(expression: str) -> None:
    with pytest.raises(ConditionError):
        holds(expression, _VARIABLES)
