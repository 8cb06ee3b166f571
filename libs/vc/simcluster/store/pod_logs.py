"""Log lines of simulated containers, written by the simulated nodes. All sizes are bounded."""

from collections import OrderedDict, deque
from typing import Final

LINES_MAX: Final = 200
"""Lines kept per container."""
LINE_LENGTH_MAX: Final = 4096
CONTAINERS_MAX: Final = 50_000
"""Bound over all pods. The containers that logged least recently are dropped first."""


class PodLogs:
    """Log lines by pod uid and container name."""

    def __init__(self) -> None:
        self._lines: OrderedDict[tuple[str, str], deque[str]] = OrderedDict()

    def write(self, uid: str, container: str, line: str) -> None:
        key = (uid, container)
        if key not in self._lines:
            self._lines[key] = deque(maxlen=LINES_MAX)
        self._lines[key].append(line[:LINE_LENGTH_MAX])
        # The order by last write makes the first entry the one to drop.
        self._lines.move_to_end(key)
        while len(self._lines) > CONTAINERS_MAX:
            self._lines.popitem(last=False)

    def read(self, uid: str, container: str, *, tail_lines: int | None = None) -> str:
        lines = list(self._lines.get((uid, container), ()))
        if tail_lines is not None:
            # A plain `lines[-0:]` would return all lines for a tail of 0.
            lines = lines[len(lines) - min(max(tail_lines, 0), len(lines)) :]
        return "".join(f"{line}\n" for line in lines)

    def forget(self, uid: str, containers: list[str]) -> None:
        for container in containers:
            self._lines.pop((uid, container), None)
