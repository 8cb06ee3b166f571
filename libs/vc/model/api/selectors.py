"""Label selectors: the structured form of manifests and the text form of `-l`."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from vc.model.api.struct import ApiStruct
from vc.model.values.bounded import read_integer

_TERMS_MAX: Final = 100
_SET_TERM: Final = re.compile(r"\s*([^\s=!,()]+)\s+(in|notin)\s+\(([^)]*)\)\s*")
_PLAIN_TERM: Final = re.compile(r"\s*(!?)\s*([^\s=!,()]+)\s*(?:(==|=|!=)\s*([^\s=!,()]*))?\s*")


class SelectorError(ValueError):
    """An invalid selector; the message names the part."""


class LabelSelectorRequirement(ApiStruct, frozen=True, kw_only=True):
    """One condition on a label."""

    key: str
    operator: str
    values: list[str] = []


class LabelSelector(ApiStruct, frozen=True, kw_only=True):
    """All conditions must hold; an empty selector matches everything."""

    match_labels: dict[str, str] = {}
    match_expressions: list[LabelSelectorRequirement] = []


def requirement_matches(need: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    """Whether the labels satisfy one condition,
    including the numeric operators of node affinity.
    """
    value = labels.get(need.key)
    match need.operator:
        case "In":
            return value is not None and value in need.values
        case "NotIn":
            # As in Kubernetes, an object without the label satisfies NotIn.
            return value is None or value not in need.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(value, need)
        case unknown:
            raise SelectorError(f"operator {unknown!r}: use In, NotIn, Exists or DoesNotExist")


def _compares(value: str | None, need: LabelSelectorRequirement) -> bool:
    """`Gt` and `Lt` compare integers; other values do not match."""
    left, right = read_integer(value), read_integer(need.values[0] if need.values else None)
    # As in Kubernetes: a value that is no integer never matches.
    if left is None or right is None:
        return False
    return left > right if need.operator == "Gt" else left < right


def selector_matches(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether the labels satisfy the selector; None matches nothing."""
    if selector is None:
        return False
    return all(labels.get(k) == v for k, v in selector.match_labels.items()) and all(
        requirement_matches(need, labels) for need in selector.match_expressions
    )


def parse_selector(text: str) -> list[LabelSelectorRequirement]:
    """Requirements from the text form: `a=b,c!=d,e in (f,g),h,!i`."""
    needs: list[LabelSelectorRequirement] = []
    rest = text.strip()
    while rest:
        match = _SET_TERM.match(rest) or _PLAIN_TERM.match(rest)
        # The number of terms is limited, because tenants write selectors too.
        if match is None or len(needs) >= _TERMS_MAX or (rest[match.end() :][:1] not in ("", ",")):
            raise SelectorError(f"selector {text[:200]!r}: cannot read it from {rest[:40]!r} on")
        needs.append(_term(match.groups()))
        rest = rest[match.end() + 1 :]
    return needs


def _term(groups: Sequence[str | None]) -> LabelSelectorRequirement:
    """One matched term as a requirement."""
    if len(groups) == 3:
        key, word, values = groups
        listed = sorted({v.strip() for v in (values or "").split(",")})
        operator = "In" if word == "in" else "NotIn"
        return LabelSelectorRequirement(key=key or "", operator=operator, values=listed)
    negated, key, operator_text, value = groups
    if operator_text is None:
        return LabelSelectorRequirement(
            key=key or "", operator="DoesNotExist" if negated else "Exists"
        )
    if negated:
        raise SelectorError(f"selector '!{key}{operator_text}{value}': use either ! or a value")
    operator = "NotIn" if operator_text == "!=" else "In"
    return LabelSelectorRequirement(key=key or "", operator=operator, values=[value or ""])
