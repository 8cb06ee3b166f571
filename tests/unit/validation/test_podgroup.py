"""PodGroups: queue, topology and defaults."""

import pytest

from tests.unit.admission.objects import (
    Case,
    ask,
    assert_answers,
    case_id,
)
from tests.unit.validation.kinds import KNOWN, group

BOTH_TIERS = {"highestTierAllowed": 1, "highestTierName": "rack"}


PODGROUPS = (
    Case(says="a group is accepted", object=group(queue="default")),
    Case(says="an empty queue is accepted", object=group()),
    Case(says="a group's queue exists", object=group(queue="ghost"), refused="no such queue"),
    Case(says="a group's queue is open", object=group(queue="closed"), refused="is Closed"),
    Case(says="tiers exclude each other", object=group(networkTopology=BOTH_TIERS),
         refused="spec.networkTopology: highestTierAllowed and highestTierName"),
    Case(says="tiers of sub groups exclude each other",
         object=group(subGroupPolicy=[{"name": "s", "networkTopology": BOTH_TIERS}]),
         refused="spec.subGroupPolicy[0].networkTopology"),
)  # fmt: skip


def test_a_namespace_names_the_queue_of_its_groups() -> None:
    patch = ask("/podgroups/mutate", group(queue="default"), KNOWN, namespace="team").patch
    assert patch == [{"op": "replace", "path": "/spec/queue", "value": "team-queue"}]
    assert ask("/podgroups/mutate", group(queue="other"), KNOWN, namespace="team").patch == []
    assert ask("/podgroups/mutate", group(queue="default"), KNOWN, namespace="ml").patch == []


@pytest.mark.parametrize("case", PODGROUPS, ids=case_id)
def test_rule(case: Case) -> None:
    assert_answers(ask("/podgroups/validate", case.object, KNOWN), case.refused)
