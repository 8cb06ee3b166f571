"""Wanted nodes of a reason: a node made like that accepts the pod; where none can, none is named."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.scheduling.objects import node, pod
from vc.messages.sessions import Where
from vc.model.api.struct import JsonObject
from vc.scheduling.cache.nodes import NodeTableBuilder
from vc.scheduling.model.shapes import Shape, Shapes
from vc.scheduling.placement.wanted_nodes import wanted_nodes
from vc.scheduling.session.node_masks import affine

KEYS = ("a", "b", "c")
VALUES = ("1", "2", "5", "")


@st.composite
def needs(draw: st.DrawFn) -> JsonObject:
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]))
    values: list[str] = []
    if operator in ("In", "NotIn"):
        values = draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=2, unique=True))
    elif operator in ("Gt", "Lt"):
        values = [draw(st.sampled_from(VALUES[:3]))]
    return {"key": draw(st.sampled_from(KEYS)), "operator": operator, "values": values}


TERMS = st.lists(st.lists(needs(), min_size=1, max_size=2), max_size=3)
SELECTORS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=2)


def shape_of(selector: dict[str, str], terms: list[list[JsonObject]]) -> Shape:
    required = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    written = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    affinity: JsonObject | None = {"nodeAffinity": written} if terms else None
    return Shapes().of(pod("p", selector=selector, affinity=affinity).spec)


def passes(shape: Shape, labels: dict[str, str]) -> bool:
    nodes = NodeTableBuilder()
    nodes.put(node("n", labels=labels))
    return bool(affine(shape.constraints, nodes.table().static)[0])


@settings(deadline=None)  # the machine may be busy
@given(SELECTORS, TERMS)
def test_a_node_like_that_is_let_through(
    selector: dict[str, str], terms: list[list[JsonObject]]
) -> None:
    shape = shape_of(selector, terms)
    where = wanted_nodes(shape, NodeTableBuilder().table().static, taints=False)
    if where is not None:
        assert where == Where(labels=where.labels)
        assert passes(shape, where.labels)


@settings(deadline=None)  # the machine may be busy
@given(
    SELECTORS, TERMS, st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["0", *VALUES, "9"]))
)
def test_where_a_node_can_be_one_is_named(
    selector: dict[str, str], terms: list[list[JsonObject]], labels: dict[str, str]
) -> None:
    """Two conditions on one label may be met together by a value that neither names first."""
    shape = shape_of(selector, terms)
    if passes(shape, labels):
        assert wanted_nodes(shape, NodeTableBuilder().table().static, taints=False) is not None
