"""Tables: Volcano's columns for pipes and scripts, aligned and coloured on a terminal."""

import os
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

GAP: Final = 3
STATES: Final = frozenset({"Phase", "State", "Status"})
NO_STATE: Final = "-"
"""Shown if no controller has set a state yet. A blank would shift the columns for scripts."""
_RESET: Final = "\x1b[0m"
_BOLD: Final = "\x1b[1m"
GREEN: Final = "\x1b[32m"
YELLOW: Final = "\x1b[33m"
RED: Final = "\x1b[31m"
CYAN: Final = "\x1b[36m"
COLOURS: Final = {
    "Completed": GREEN,
    "Succeeded": GREEN,
    "Succeed": GREEN,
    "Open": GREEN,
    "Running": CYAN,
    "Pending": YELLOW,
    "Inqueue": YELLOW,
    "Restarting": YELLOW,
    "Closing": YELLOW,
    "Aborting": YELLOW,
    "Closed": RED,
    "Failed": RED,
    "Error": RED,
    "Aborted": RED,
    "Terminated": RED,
    "Unknown": RED,
}


class Column(NamedTuple):
    """A column. `width` is that of Volcano; 0 means as wide as the content."""

    title: str
    width: int = 0


class Table:
    """Prints a header and rows. The first rows define the widths, so that later rows align."""

    def __init__(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        self.columns = columns
        self._terminal = is_colourful()
        self._widths = [self._width(index, rows) for index in range(len(columns))]

    def _width(self, index: int, rows: Sequence[Sequence[str]]) -> int:
        """Volcano's width, but at least one more than the longest cell."""
        column = self.columns[index]
        longest = max([len(column.title), *(len(row[index]) for row in rows)])
        # Scripts may rely on Volcano's widths; a terminal needs no more than the content.
        if self._terminal or not column.width:
            return longest + GAP
        return max(column.width, longest + 1)

    def header(self) -> str:
        """The line with the titles."""
        line = self._line([column.title for column in self.columns])
        return f"{_BOLD}{line}{_RESET}" if self._terminal else line

    def line(self, row: Sequence[str]) -> str:
        """The line of one row."""
        return self._line(row, coloured=self._terminal)

    def _line(self, row: Sequence[str], *, coloured: bool = False) -> str:
        cells = []
        for index, shown in enumerate(map(printable, row)):
            is_state = self.columns[index].title in STATES
            cell = NO_STATE if is_state and not shown else shown
            # rows of a watch may be longer
            padded = cell.ljust(max(self._widths[index], len(cell) + 1))
            cells.append(paint(padded, COLOURS.get(cell, "")) if coloured and is_state else padded)
        return "".join(cells).rstrip()


def is_colourful() -> bool:
    """Whether the output is a terminal and NO_COLOR is not set (https://no-color.org)."""
    # Escape codes would end up in files and pipes.
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def printable(text: str) -> str:
    """Replace control characters, so that objects of other users cannot control the terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def paint(text: str, colour: str) -> str:
    """The text in a colour. Unchanged if the colour is empty."""
    return f"{colour}{text}{_RESET}" if colour else text
