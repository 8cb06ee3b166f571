"""What an API server was asked, from its audit log: by user agent, verb and resource.

The log is read from where it ended when a shape began, line by line, so that its size does not matter.
Leases are left out, they cost the same whether there is work or not, and so is what this benchmark
asks. Watches count once, when they end or are cut.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from bench.cluster.results import Requests

OWN_SERVICE: Final = "bench-cluster"
OWN_AGENT: Final = f"pyroclast/{OWN_SERVICE}"
_READS: Final = frozenset({"get", "list", "watch"})
_LEASES: Final = "leases"
_COUNTED_STAGES: Final = frozenset({"ResponseComplete", "Panic"})
"""A request has up to three lines, one for each stage; these end it."""


class _Object(msgspec.Struct, frozen=True):
    resource: str = ""
    subresource: str = ""


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    stage: str = "ResponseComplete"
    verb: str = ""
    user_agent: str = ""
    object_ref: _Object | None = None


_decoder: Final = msgspec.json.Decoder(_Event)


class AuditLog:
    """A log that grows while we measure."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read_to = 0

    def begin(self) -> None:
        """Count from here. OSError when the file cannot be read."""
        with self._file.open("rb"):
            self._read_to = self._file.stat().st_size

    def requests(self, *, pods: int) -> Requests:
        """What came since."""
        if self._file.stat().st_size < self._read_to:
            self._read_to = 0  # rotated: what is left of it is in the new file
        with self._file.open("rb") as lines:
            lines.seek(self._read_to)
            return count(lines, pods=pods)


def count(lines: Iterable[bytes], *, pods: int) -> Requests:
    """Of the lines of a log. Lines that are no events, such as the last one half written, are not."""
    found: dict[str, Counter[str]] = {}
    for line in lines:
        try:
            event = _decoder.decode(line)
        except msgspec.MsgspecError:
            continue
        asked = event.object_ref
        if asked is None or asked.resource == _LEASES or event.stage not in _COUNTED_STAGES:
            continue
        agent = agent_of(event.user_agent)
        if agent != OWN_AGENT:
            resource = "/".join(filter(None, (asked.resource, asked.subresource)))
            found.setdefault(agent, Counter())[f"{event.verb} {resource}"] += 1
    writes = sum(
        number
        for sorts in found.values()
        for sort, number in sorts.items()
        if sort.partition(" ")[0] not in _READS
    )
    total = sum(sorts.total() for sorts in found.values())
    return Requests(
        by_agent={agent: dict(found[agent].most_common()) for agent in sorted(found)},
        total=total,
        per_pod=round(total / pods, 3),
        writes_per_pod=round(writes / pods, 3),
    )


def agent_of(user_agent: str) -> str:
    """Who it is, without version and machine: `kubectl/v1.35.0 (linux/amd64) …` is `kubectl`."""
    first = user_agent.partition(" ")[0]
    parts = [part for part in first.split("/") if part and not _is_version(part)]
    return "/".join(parts) or "unknown"


def _is_version(part: str) -> bool:
    return part.removeprefix("v")[:1].isdigit()
