"""Tables that fit a terminal."""

from collections.abc import Sequence
from typing import Final

_GAP: Final = "   "
_COLOURS: Final = {
    "Completed": "\x1b[32m",
    "Running": "\x1b[36m",
    "Pending": "\x1b[33m",
    "Failed": "\x1b[31m",
    "Aborted": "\x1b[31m",
    "Terminated": "\x1b[31m",
}
_RESET: Final = "\x1b[0m"


def render(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, width: int, colour: bool = False
) -> str:
    """Render a table.

    Columns are as wide as their content; lines are cut at the terminal's width.
    """
    table = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = []
    for row in table:
        cells = [cell.ljust(widths[column]) for column, cell in enumerate(row)]
        # Cut before colouring, so that no escape sequence is cut in the middle.
        line = _GAP.join(cells).rstrip()[:width]
        lines.append(_coloured(line, row) if colour else line)
    return "\n".join(lines)


def _coloured(line: str, row: Sequence[str]) -> str:
    """Colour the cell that has a phase."""
    for cell in row:
        if cell in _COLOURS:
            # The line is coloured after cutting: escape codes have no width on the terminal.
            return line.replace(cell, f"{_COLOURS[cell]}{cell}{_RESET}", 1)
    return line
