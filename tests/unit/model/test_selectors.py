"""Selectors, structured and as text."""

import msgspec
import pytest

from vc.model.api.selectors import (
    LabelSelector,
    LabelSelectorRequirement,
    SelectorError,
    parse_selector,
    requirement_matches,
    selector_matches,
)

LABELS = {"app": "web", "tier": "5", "empty": ""}


class Case(msgspec.Struct, frozen=True):
    """One condition on LABELS."""

    id: str
    key: str
    operator: str
    values: list[str]
    matches: bool


CASES = [
    Case("In with the value", "app", "In", ["db", "web"], True),
    Case("In without it", "app", "In", ["db"], False),
    Case("In on a missing label", "none", "In", [""], False),
    Case("In on an empty label", "empty", "In", [""], True),
    Case("NotIn with the value", "app", "NotIn", ["web"], False),
    Case("NotIn without it", "app", "NotIn", ["db"], True),
    Case("NotIn on a missing label", "none", "NotIn", ["db"], True),
    Case("Exists", "empty", "Exists", [], True),
    Case("Exists on a missing label", "none", "Exists", [], False),
    Case("DoesNotExist", "none", "DoesNotExist", [], True),
    Case("DoesNotExist on a label", "app", "DoesNotExist", [], False),
    Case("Gt", "tier", "Gt", ["4"], True),
    Case("Gt is strict", "tier", "Gt", ["5"], False),
    Case("Lt", "tier", "Lt", ["10"], True),
    Case("Gt on a word", "app", "Gt", ["1"], False),
    Case("Gt on a missing label", "none", "Gt", ["1"], False),
    Case("Lt without a value", "tier", "Lt", [], False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_conditions(case: Case) -> None:
    need = LabelSelectorRequirement(key=case.key, operator=case.operator, values=case.values)
    assert requirement_matches(need, LABELS) is case.matches


def test_an_unknown_operator_is_named() -> None:
    with pytest.raises(SelectorError, match="operator 'Near'"):
        requirement_matches(LabelSelectorRequirement(key="a", operator="Near"), LABELS)


def test_all_conditions_must_hold() -> None:
    exists = LabelSelectorRequirement(key="tier", operator="Exists")
    missing = LabelSelectorRequirement(key="none", operator="Exists")
    assert selector_matches(LabelSelector(match_labels={"app": "web"}), LABELS)
    assert not selector_matches(LabelSelector(match_labels={"app": "db"}), LABELS)
    both = LabelSelector(match_labels={"app": "web"}, match_expressions=[exists])
    assert selector_matches(both, LABELS)
    assert not selector_matches(LabelSelector(match_expressions=[exists, missing]), LABELS)


def test_an_empty_selector_matches_everything_and_none_matches_nothing() -> None:
    assert selector_matches(LabelSelector(), {})
    assert not selector_matches(None, LABELS)


class TextCase(msgspec.Struct, frozen=True):
    """A text and its conditions as (key, operator, values)."""

    id: str
    needs: list[tuple[str, str, list[str]]]


TEXTS = [
    TextCase("", []),
    TextCase("a=b", [("a", "In", ["b"])]),
    TextCase("a==b", [("a", "In", ["b"])]),
    TextCase("a=", [("a", "In", [""])]),
    TextCase("a!=b", [("a", "NotIn", ["b"])]),
    TextCase("a", [("a", "Exists", [])]),
    TextCase("!a", [("a", "DoesNotExist", [])]),
    TextCase("a in (c, b)", [("a", "In", ["b", "c"])]),
    TextCase("a notin (b)", [("a", "NotIn", ["b"])]),
    TextCase("volcano.sh/job-name=train", [("volcano.sh/job-name", "In", ["train"])]),
    TextCase(
        " a = b , c!=d,e in (f,g),h,!i ",
        [
            ("a", "In", ["b"]),
            ("c", "NotIn", ["d"]),
            ("e", "In", ["f", "g"]),
            ("h", "Exists", []),
            ("i", "DoesNotExist", []),
        ],
    ),
]


@pytest.mark.parametrize("case", TEXTS, ids=lambda case: case.id or "no text")
def test_texts(case: TextCase) -> None:
    parsed = [(need.key, need.operator, need.values) for need in parse_selector(case.id)]
    assert parsed == case.needs


@pytest.mark.parametrize(
    "text", [",a", "a b", "a in (b", "a in b", "=b", "a=b=c", "!a=b", "a>1(", "()"]
)
def test_no_selectors(text: str) -> None:
    with pytest.raises(SelectorError):
        parse_selector(text)


def test_a_selector_without_end_is_refused() -> None:
    with pytest.raises(SelectorError):
        parse_selector(",".join("a" for _ in range(200)))
