"""The HyperNode: members, each selected in exactly one way."""

import re
import warnings
from typing import Final

from vc.model.api.scheduling import HyperNode, HyperNodeMember
from vc.model.api.struct import Json
from vc.validation.names import check_subdomain
from vc.validation.result import ValidationResult

SELECTORS: Final = ("exactMatch", "regexMatch", "labelMatch")
MEMBER_TYPES: Final = ("Node", "HyperNode")
PATTERN_LENGTH_MAX: Final = 1024
MEMBERS_MAX: Final = 10_000


def check_hypernode(found: ValidationResult, node: HyperNode) -> None:
    """Check a HyperNode that is created or changed."""
    if node.spec.tier < 0:
        found.refuse("spec.tier", "must be 0 or more; 1 is the closest", value=node.spec.tier)
    if not node.spec.members:
        found.refuse("spec.members", "needs at least one member", value=[])
    # Checked before the loop, because each member may cost the compilation of a pattern.
    if len(node.spec.members) > MEMBERS_MAX:
        found.refuse("spec.members", f"more than {MEMBERS_MAX} members; use regexMatch")
        return
    for index, member in enumerate(node.spec.members):
        _check_member(found, f"spec.members[{index}]", member)


def _check_member(found: ValidationResult, path: str, member: HyperNodeMember) -> None:
    if member.type not in MEMBER_TYPES:
        found.refuse(f"{path}.type", "must be Node or HyperNode", value=member.type)
    given = [name for name in SELECTORS if member.selector.get(name) is not None]
    if len(given) != 1:
        shown = " and ".join(given) or "none"
        found.refuse(
            f"{path}.selector", f"needs exactly one of {', '.join(SELECTORS)}; it has {shown}"
        )
    # HyperNodes are selected by name only.
    if "labelMatch" in given and member.type != "Node":
        found.refuse(f"{path}.selector.labelMatch", "selects nodes only; set type: Node")
    if "exactMatch" in given:
        name = _text(member.selector["exactMatch"], "name")
        check_subdomain(found, f"{path}.selector.exactMatch.name", name)
    if "regexMatch" in given:
        pattern = _text(member.selector["regexMatch"], "pattern")
        problem = pattern_problem(pattern)
        if problem:
            found.refuse(f"{path}.selector.regexMatch.pattern", problem, value=pattern)


def _text(selector: Json, field: str) -> str:
    value = selector.get(field) if isinstance(selector, dict) else None
    return value if isinstance(value, str) else ""


def pattern_problem(pattern: str) -> str:
    """Why a regular expression cannot be used, or empty if it can."""
    if not pattern:
        return "is required; write a pattern like node-[0-9]+"
    if len(pattern) > PATTERN_LENGTH_MAX:
        return f"is longer than {PATTERN_LENGTH_MAX} characters"
    try:
        with warnings.catch_warnings():
            # Warnings about a valid pattern do not concern admission.
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is no regular expression: {error}"
    return ""
