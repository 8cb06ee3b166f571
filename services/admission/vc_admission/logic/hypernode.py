"""The HyperNode: members, each selected in exactly one way."""

import re
import warnings
from typing import Final

from vc_admission.logic.findings import Findings
from vc_admission.logic.names import check_subdomain
from vc_model.scheduling import HyperNode, HyperNodeMember
from vc_model.struct import Json

SELECTORS: Final = ("exactMatch", "regexMatch", "labelMatch")
MEMBER_TYPES: Final = ("Node", "HyperNode")
PATTERN_LENGTH_MAX: Final = 1024
MEMBERS_MAX: Final = 10_000


def check_hypernode(found: Findings, node: HyperNode) -> None:
    """A HyperNode that is created or changed."""
    if node.spec.tier < 0:
        found.refuse("spec.tier", "must be 0 or more; 1 is the closest", value=node.spec.tier)
    if not node.spec.members:
        found.refuse("spec.members", "needs at least one member", value=[])
    if len(node.spec.members) > MEMBERS_MAX:
        found.refuse("spec.members", f"more than {MEMBERS_MAX} members; use regexMatch")
        return
    for index, member in enumerate(node.spec.members):
        _check_member(found, f"spec.members[{index}]", member)


def _check_member(found: Findings, path: str, member: HyperNodeMember) -> None:
    if member.type not in MEMBER_TYPES:
        found.refuse(f"{path}.type", "must be Node or HyperNode", value=member.type)
    given = [name for name in SELECTORS if member.selector.get(name) is not None]
    if len(given) != 1:
        shown = " and ".join(given) or "none"
        found.refuse(
            f"{path}.selector", f"needs exactly one of {', '.join(SELECTORS)}; it has {shown}"
        )
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
    """Why a regular expression cannot be used; empty when it can."""
    if not pattern:
        return "is required; write a pattern like node-[0-9]+"
    if len(pattern) > PATTERN_LENGTH_MAX:
        return f"is longer than {PATTERN_LENGTH_MAX} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd but compiles is the author's business
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is no regular expression: {error}"
    return ""
