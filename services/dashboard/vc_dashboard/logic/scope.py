"""What one caller may see: all namespaces, or some; the names of the others are taken out of answers."""

import itertools
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from vc_dashboard.logic.picture import Picture

HIDDEN: Final = "(another namespace)"


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Made of the caller's rights."""

    everything: bool = False
    namespaces: frozenset[str] = frozenset()
    """Those that may be seen, when not everything may."""

    def sees(self, namespace: str) -> bool:
        return self.everything or namespace in self.namespaces


EVERYTHING: Final = Scope(everything=True)


def namespaces_of(picture: Picture) -> frozenset[str]:
    """Those that answers could name."""
    keys = itertools.chain(picture.jobs, picture.groups, picture.pods)
    return frozenset(key.partition("/")[0] for key in keys)


def restricted(picture: Picture, scope: Scope) -> Picture:
    """The jobs that may be seen; queues keep their totals."""
    if scope.everything:
        return picture
    jobs = {key: job for key, job in picture.jobs.items() if scope.sees(key.partition("/")[0])}
    return msgspec.structs.replace(picture, jobs=jobs)


def redacted(answer: Any, scope: Scope, namespaces: Iterable[str]) -> Any:
    """An answer as JSON without the names of what lies in namespaces that may not be seen."""
    hidden = frozenset(name for name in namespaces if not scope.sees(name))
    if not hidden:
        return answer
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
    foreign = value.get("namespace") in hidden
    return {
        named.sub(HIDDEN, key): (
            HIDDEN if foreign and key in {"namespace", "name", "job", "pod", "group"}
            else _redact(each, hidden, named)
        )
        for key, each in value.items()
    }  # fmt: skip
