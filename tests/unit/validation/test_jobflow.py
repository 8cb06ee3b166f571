"""JobFlows: steps, targets and retain policies."""

import pytest

from tests.unit.admission.objects import (
    Case,
    ask,
    assert_answers,
    case_id,
)
from tests.unit.validation.kinds import KNOWN, flow

JOBFLOWS = (
    Case(says="a chain is accepted", object=flow({"name": "a"}, {"name": "b", "dependsOn": {
         "targets": ["a"]}})),
    Case(says="targets exist", object=flow({"name": "a", "dependsOn": {"targets": ["x"]}}),
         refused="flow 'a' waits for a flow that is not in this JobFlow"),
    Case(says="there is no circle", object=flow(
         {"name": "a", "dependsOn": {"targets": ["b"]}},
         {"name": "b", "dependsOn": {"targets": ["a"]}}), refused="in a circle: a → b → a"),
    Case(says="a name may be listed twice", object=flow({"name": "a"}, {"name": "a"})),
    Case(says="entries of one name are one step", object=flow(
         {"name": "a", "dependsOn": {"targets": ["b"]}}, {"name": "b"}, {"name": "a"})),
    Case(says="the targets of all entries of a name count", object=flow(
         {"name": "a", "dependsOn": {"targets": ["b"]}},
         {"name": "b", "dependsOn": {"targets": ["a"]}}, {"name": "a"}),
         refused="in a circle: a → b → a"),
    Case(says="an unknown target of the first entry counts", object=flow(
         {"name": "a", "dependsOn": {"targets": ["c"]}}, {"name": "a"}), refused='"c"'),
    Case(says="retain policies are known", object=flow({"name": "a"}, jobRetainPolicy="burn"),
         refused="retain or delete"),
)  # fmt: skip


def test_a_flow_that_lists_a_name_twice_is_warned() -> None:
    response = ask("/jobflows/validate", flow({"name": "a"}, {"name": "a"}), KNOWN)
    assert response.allowed
    said = "spec.flows[1].name: 'a' is listed before: both entries are one step"
    assert sum(warning.startswith(said) for warning in response.warnings) == 1
    once = ask("/jobflows/validate", flow({"name": "a"}, {"name": "b"}), KNOWN)
    assert not any("is listed before" in warning for warning in once.warnings)


@pytest.mark.parametrize("case", JOBFLOWS, ids=case_id)
def test_rule(case: Case) -> None:
    assert_answers(ask("/jobflows/validate", case.object, KNOWN), case.refused)
