"""Access to a queue: the allow list in its annotations.

Without a list every namespace may use the queue, as Volcano's manifests expect. With a list, a
namespace that is neither listed nor selected may not. An invalid selector allows no namespace,
because the list was meant to restrict access.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.model.api.keys import ALLOWED_NAMESPACE_SELECTOR, ALLOWED_NAMESPACES, HONOR_NON_PREEMPTABLE
from vc.model.api.selectors import (
    LabelSelectorRequirement,
    SelectorError,
    parse_selector,
    requirement_matches,
)

LISTED_MAX: Final = 10_000


class AllowList(msgspec.Struct, frozen=True, kw_only=True):
    """The namespaces that may use a queue."""

    names: frozenset[str] = frozenset()
    selector: tuple[LabelSelectorRequirement, ...] | None = None
    problem: str = ""
    """Why the selector is invalid; an invalid selector selects nothing."""

    def admits(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether the namespace with these labels may use the queue."""
        if namespace in self.names:
            return True
        return self.selector is not None and all(
            requirement_matches(need, labels) for need in self.selector
        )


def allow_list(annotations: Mapping[str, str]) -> AllowList | None:
    """The allow list of a queue; None if every namespace may use it."""
    if ALLOWED_NAMESPACES not in annotations and ALLOWED_NAMESPACE_SELECTOR not in annotations:
        return None
    # The bound limits the work on foreign text, safely: names beyond it only lose access.
    listed = annotations.get(ALLOWED_NAMESPACES, "").split(",")[:LISTED_MAX]
    names = frozenset(name.strip() for name in listed if name.strip())
    written = annotations.get(ALLOWED_NAMESPACE_SELECTOR, "").strip()
    if not written:
        return AllowList(names=names)
    try:
        return AllowList(names=names, selector=tuple(parse_selector(written)))
    # The names in the list stay valid; only the selector selects nothing.
    except SelectorError as error:
        return AllowList(names=names, problem=f"{ALLOWED_NAMESPACE_SELECTOR}: {error}")


def honors_non_preemptable(annotations: Mapping[str, str]) -> bool:
    """Whether pods of the queue may exempt themselves from eviction;
    true unless the annotation is `false`.
    """
    return annotations.get(HONOR_NON_PREEMPTABLE, "").lower() != "false"
