"""HyperNodes: members, selectors and tiers."""

import pytest

from tests.unit.admission.objects import (
    Case,
    ask,
    assert_answers,
    case_id,
)
from tests.unit.validation.kinds import KNOWN, hypernode, member

HYPERNODES = (
    Case(says="an exact name", object=hypernode(member({"exactMatch": {"name": "n1"}}))),
    Case(says="a pattern", object=hypernode(member({"regexMatch": {"pattern": "n-[0-9]+"}}))),
    Case(says="labels of nodes", object=hypernode(member({"labelMatch": {}}))),
    Case(says="members are needed", object=hypernode(), refused="at least one member"),
    Case(says="a broken pattern", object=hypernode(member({"regexMatch": {"pattern": "n-["}})),
         refused="is no regular expression"),
    Case(says="no selector", object=hypernode(member({})), refused="needs exactly one of"),
    Case(says="two selectors",
         object=hypernode(member({"exactMatch": {"name": "n"}, "regexMatch": {"pattern": "n"}})),
         refused="it has exactMatch and regexMatch"),
    Case(says="labels of hypernodes", object=hypernode(member({"labelMatch": {}}, "HyperNode")),
         refused="selects nodes only"),
    Case(says="an unknown type", object=hypernode(member({"exactMatch": {"name": "n"}}, "Rack")),
         refused="must be Node or HyperNode"),
    Case(says="a negative tier", object=hypernode(member({"labelMatch": {}}), tier=-1),
         refused="spec.tier"),
)  # fmt: skip


@pytest.mark.parametrize("case", HYPERNODES, ids=case_id)
def test_rule(case: Case) -> None:
    assert_answers(ask("/hypernodes/validate", case.object, KNOWN), case.refused)
