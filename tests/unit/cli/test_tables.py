"""The table printer: widths, cutting, colours and control characters."""

import pytest

from vc.cli.tables import (
    BOLD,
    CYAN,
    RED,
    RESET,
    Column,
    TextTable,
    paint,
    printable,
    render,
)

PLAIN = """\
JOB      PHASE       PODS
train    Running     4
tiny-a   Completed   1"""
ROWS = [("train", "Running", "4"), ("tiny-a", "Completed", "1")]


def test_columns_are_as_wide_as_their_longest_cell() -> None:
    assert render(("JOB", "PHASE", "PODS"), ROWS) == PLAIN


@pytest.mark.parametrize("width", [1, 10, 16, 40])
def test_lines_are_cut_at_the_width_of_the_terminal(width: int) -> None:
    text = render(("JOB", "PHASE", "PODS"), ROWS, width=width)
    assert [len(line) <= width for line in text.splitlines()] == [True, True, True]
    assert text.splitlines() == [line[:width].rstrip() for line in PLAIN.splitlines()]


def test_a_table_without_rows_is_its_header() -> None:
    assert render(("JOB", "PHASE"), []) == "JOB   PHASE"


def test_only_cells_of_state_columns_are_coloured() -> None:
    lines = render(("JOB", "PHASE"), [("Failed", "Running")], colour=True).splitlines()
    assert lines[0] == f"{BOLD}JOB      PHASE{RESET}"
    assert lines[1] == f"Failed   {CYAN}Running   {RESET}"


def test_a_coloured_line_is_cut_without_cutting_an_escape_code() -> None:
    line = render(("JOB", "PHASE"), [("a", "Running")], width=8, colour=True).splitlines()[1]
    # The cell is not a known state any more, so it has no colour.
    assert line == "a     Ru"


def test_a_whole_line_may_have_a_colour() -> None:
    table = TextTable([Column("A"), Column("B")], [("1", "2")], colour=True)
    assert table.line(("1", "2"), colour=RED) == f"{RED}1   2{RESET}"
    plain = TextTable([Column("A"), Column("B")], [("1", "2")], colour=False)
    assert plain.line(("1", "2"), colour=RED) == "1   2"


def test_a_state_that_is_not_set_yet_is_a_dash() -> None:
    table = TextTable([Column("Name"), Column("Phase"), Column("Pods")], [], colour=False)
    assert table.line(("a", "", "")).split() == ["a", "-"]


def test_a_later_row_may_be_longer_than_its_column() -> None:
    table = TextTable([Column("Name"), Column("Pods")], [("a", "1")], colour=False)
    assert table.line(("a-very-long-name", "1")) == "a-very-long-name 1"


def test_widths_of_volcano_hold_for_scripts_only() -> None:
    columns = [Column("Name", 12), Column("Pods")]
    assert TextTable(columns, [("a", "1")], colour=False).line(("a", "1")) == f"{'a':<12}1"
    assert TextTable(columns, [("a", "1")], colour=True).line(("a", "1")) == "a      1"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("plain", "plain"), ("a\x1b[2Jb", "a?[2Jb"), ("a\nb", "a?b"), ("grün", "grün")],
)
def test_control_characters_are_replaced(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert render(("NAME",), [(text,)]).splitlines() == ["NAME", shown]


def test_paint_without_a_colour_changes_nothing() -> None:
    assert paint("x", "") == "x"
