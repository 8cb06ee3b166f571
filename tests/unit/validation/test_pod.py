"""Pods that name our scheduler: budgets, gates and resource groups."""

import msgspec
import pytest

from tests.unit.admission.objects import (
    Case,
    ask,
    assert_answers,
    case_id,
    world,
)
from tests.unit.validation.kinds import KNOWN, pod
from vc.validation.resource_groups import ResourceGroupsError, parse_resource_groups

MIN, MAX = "volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"


PODS = (
    Case(says="a pod without budget is accepted", object=pod()),
    Case(says="a budget is a number", object=pod({MIN: "3"})),
    Case(says="a budget is a percentage", object=pod({MAX: "99%"})),
    Case(says="a budget of 0 is refused", object=pod({MIN: "0"}), refused="a positive number"),
    Case(says="a budget of 100% is refused", object=pod({MIN: "100%"}), refused="1% to 99%"),
    Case(says="a budget of words is refused", object=pod({MAX: "all"}), refused="a positive number"),
    Case(says="budgets exclude each other", object=pod({MIN: "1", MAX: "1"}),
         refused="exclude each other"),
    Case(says="pods of other schedulers are not checked",
         object=pod({MIN: "0"}, schedulerName="default-scheduler")),
    Case(says="an unreadable pod is left to the API server", object={"metadata": 7}),
)  # fmt: skip


GATE = "scheduling.volcano.sh/queue-allocation-gate"


def test_a_pod_may_ask_for_the_gate() -> None:
    patch = ask("/pods/mutate", pod({GATE: "true"}), KNOWN).patch
    assert patch == [{"op": "add", "path": "/spec/schedulingGates", "value": [{"name": GATE}]}]
    assert ask("/pods/mutate", pod({GATE: "true"}), world()).patch == []
    assert ask("/pods/mutate", pod(), KNOWN).patch == []


GROUPS = """
resourceGroups:
- resourceGroup: management
  object: {key: namespace, value: [mng]}
  schedulerName: volcano
  labels: {role: management}
  tolerations: [{key: a, operator: Exists}]
  affinity: '{"nodeAffinity": {}}'
- resourceGroup: gpu
  object: {key: annotation, value: ["team: vision"]}
  labels: {role: gpu}
- resourceGroup: named
  labels: {role: named}
"""


@pytest.mark.parametrize(
    ("namespace", "annotations", "role"),
    [
        ("mng", {}, "management"),
        ("ml", {"team": "vision"}, "gpu"),
        ("ml", {"volcano.sh/resource-group": "named"}, "named"),
        ("ml", {}, None),
    ],
)
def test_the_first_matching_resource_group_steers_a_pod(
    namespace: str, annotations: dict[str, str], role: str | None
) -> None:
    known = msgspec.structs.replace(KNOWN, resource_groups=parse_resource_groups(GROUPS))
    patch = ask("/pods/mutate", pod(annotations), known, namespace=namespace).patch
    added = {operation["path"]: operation["value"] for operation in patch}
    assert added.get("/spec/nodeSelector") == ({"role": role} if role else None)
    if namespace == "mng":
        assert added["/spec/tolerations"] == [{"key": "a", "operator": "Exists"}]
        assert added["/spec/affinity"] == {"nodeAffinity": {}}


@pytest.mark.parametrize(
    "text", ["resourceGroups: 7", ": :", "resourceGroups: [{affinity: '{'}]", "x" * 300_000]
)
def test_unreadable_resource_groups_say_why(text: str) -> None:
    with pytest.raises(ResourceGroupsError):
        parse_resource_groups(text)


@pytest.mark.parametrize("case", PODS, ids=case_id)
def test_rule(case: Case) -> None:
    assert_answers(ask("/pods/validate", case.object, KNOWN), case.refused)
