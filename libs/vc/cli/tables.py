"""The table printer of all commands: Volcano's columns for scripts, aligned and coloured on a
terminal.
"""

import os
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

GAP: Final = 3
STATES: Final = frozenset({"phase", "state", "status"})
"""Titles, in lower case, of columns whose cells are coloured by `COLOURS`."""
NO_STATE: Final = "-"
"""Shown if no controller has set a state yet. A blank would shift the columns for scripts."""
RESET: Final = "\x1b[0m"
BOLD: Final = "\x1b[1m"
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


class TextTable:
    """Prints a header and rows. The first rows define the widths, so that later rows align."""

    def __init__(
        self,
        columns: Sequence[Column],
        rows: Sequence[Sequence[str]],
        *,
        line_width: int = 0,
        colour: bool | None = None,
    ) -> None:
        """With `line_width` lines are cut there. By default the output decides about colour."""
        self.columns = columns
        self._colour = is_colourful() if colour is None else colour
        self._line_width = line_width
        self._widths = [self._width(index, rows) for index in range(len(columns))]

    def _width(self, index: int, rows: Sequence[Sequence[str]]) -> int:
        """Volcano's width, but at least one more than the longest cell."""
        column = self.columns[index]
        longest = max([len(column.title), *(len(row[index]) for row in rows)])
        # Scripts may rely on Volcano's widths; a terminal needs no more than the content.
        if self._colour or not column.width:
            return longest + GAP
        # At least one blank between two cells, so that scripts can split the line.
        return max(column.width, longest + 1)

    def header(self) -> str:
        """The line with the titles."""
        line = "".join(self._padded([column.title for column in self.columns])).rstrip()
        return paint(line, BOLD if self._colour else "")

    def line(self, row: Sequence[str], *, colour: str = "") -> str:
        """The line of one row. With `colour` the whole line has it, where colours are shown."""
        cells = self._padded([self._cell(index, text) for index, text in enumerate(row)])
        if not self._colour:
            return "".join(cells).rstrip()
        if colour:
            return paint("".join(cells).rstrip(), colour)
        # Only cells are painted, after padding and cutting: escape codes have no width on the
        # terminal, and one that is cut in the middle would colour the rest of the screen.
        return "".join(self._painted(index, cell) for index, cell in enumerate(cells)).rstrip()

    def _cell(self, index: int, text: str) -> str:
        shown = printable(text)
        return NO_STATE if not shown and self._is_state(index) else shown

    def _is_state(self, index: int) -> bool:
        return self.columns[index].title.lower() in STATES

    def _painted(self, index: int, cell: str) -> str:
        return paint(cell, COLOURS.get(cell.rstrip(), "")) if self._is_state(index) else cell

    def _padded(self, cells: Sequence[str]) -> list[str]:
        """The cells, padded to their columns, up to the width of a line."""
        # A row of a watch may have longer cells than the rows that defined the widths.
        padded = [
            cell.ljust(max(self._widths[index], len(cell) + 1)) for index, cell in enumerate(cells)
        ]
        if not self._line_width:
            return padded
        left, cut = self._line_width, []
        for cell in padded:
            cut.append(cell[:left])
            left -= len(cut[-1])
        return cut


def render(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, width: int = 0, colour: bool = False
) -> str:
    """A whole table as text. With `width`, lines are cut at the terminal's width."""
    table = TextTable([Column(title) for title in header], rows, line_width=width, colour=colour)
    return "\n".join([table.header(), *(table.line(row) for row in rows)])


def is_colourful() -> bool:
    """Whether the output is a terminal and NO_COLOR is not set (https://no-color.org)."""
    # Escape codes would end up in files and pipes.
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def printable(text: str) -> str:
    """Replace control characters, so that objects of other users cannot control the terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def paint(text: str, colour: str) -> str:
    """The text in a colour. Unchanged if the colour is empty."""
    return f"{colour}{text}{RESET}" if colour else text
