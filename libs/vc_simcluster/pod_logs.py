"""What containers "wrote": a few lines each, made by the simulated nodes, bounded on all sides."""

from collections import OrderedDict, deque
from typing import Final

LINES_MAX: Final = 200
"""Per container."""
LINE_LENGTH_MAX: Final = 4096
CONTAINERS_MAX: Final = 50_000
"""Of all pods; the ones that wrote least recently are forgotten first."""


class PodLogs:
    """Lines by pod uid and container name."""

    def __init__(self) -> None:
        self._lines: OrderedDict[tuple[str, str], deque[str]] = OrderedDict()

    def write(self, uid: str, container: str, line: str) -> None:
        key = (uid, container)
        if key not in self._lines:
            self._lines[key] = deque(maxlen=LINES_MAX)
        self._lines[key].append(line[:LINE_LENGTH_MAX])
        self._lines.move_to_end(key)
        while len(self._lines) > CONTAINERS_MAX:
            self._lines.popitem(last=False)

    def read(self, uid: str, container: str, *, tail_lines: int | None = None) -> str:
        lines = list(self._lines.get((uid, container), ()))
        if tail_lines is not None:
            lines = lines[len(lines) - min(max(tail_lines, 0), len(lines)) :]
        return "".join(f"{line}\n" for line in lines)

    def forget(self, uid: str, containers: list[str]) -> None:
        for container in containers:
            self._lines.pop((uid, container), None)
