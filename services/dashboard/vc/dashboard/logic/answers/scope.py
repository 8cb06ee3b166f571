"""What one caller may see: all namespaces or some. Names of others are removed from answers."""

import itertools
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from vc.dashboard.logic.cluster_index import ClusterIndex

HIDDEN: Final = "(another namespace)"


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Made of the caller's rights."""

    everything: bool = False
    namespaces: frozenset[str] = frozenset()
    """Those that may be seen, when not everything may."""

    def sees(self, namespace: str) -> bool:
        return self.everything or namespace in self.namespaces


EVERYTHING: Final = Scope(everything=True)


def namespaces_of(cluster_index: ClusterIndex) -> frozenset[str]:
    """Namespaces that answers could name."""
    keys = itertools.chain(cluster_index.jobs, cluster_index.groups, cluster_index.pods)
    return frozenset(key.partition("/")[0] for key in keys)


def restricted(cluster_index: ClusterIndex, scope: Scope) -> ClusterIndex:
    """The index with only the visible jobs. Queues keep their totals."""
    if scope.everything:
        return cluster_index
    jobs = {
        key: job for key, job in cluster_index.jobs.items() if scope.sees(key.partition("/")[0])
    }
    return msgspec.structs.replace(cluster_index, jobs=jobs)


def redacted(answer: Any, scope: Scope, namespaces: Iterable[str]) -> Any:
    """An answer as JSON without names of objects in namespaces that are not visible."""
    hidden = frozenset(name for name in namespaces if not scope.sees(name))
    if not hidden:
        return answer
    # Longer names first, so that a name is not matched by a shorter one that begins it.
    listed = "|".join(sorted(map(re.escape, hidden), key=len, reverse=True))
    named = re.compile(rf"(?<![A-Za-z0-9.-])(?:{listed})/[A-Za-z0-9.-]*[A-Za-z0-9]")
    return _redact(msgspec.to_builtins(answer), hidden, named)


def _redact(value: Any, hidden: frozenset[str], named: "re.Pattern[str]") -> Any:
    if isinstance(value, str):
        return named.sub(HIDDEN, value)
    if isinstance(value, list):
        return [_redact(each, hidden, named) for each in value]
    if not isinstance(value, dict):
        return value
    # A row names its namespace apart, so its other names are hidden by field.
    foreign = value.get("namespace") in hidden
    return {
        named.sub(HIDDEN, key): (
            HIDDEN if foreign and key in {"namespace", "name", "job", "pod", "group"}
            else _redact(each, hidden, named)
        )
        for key, each in value.items()
    }  # fmt: skip
