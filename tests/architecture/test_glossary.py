"""docs/glossary.md can be read by a test: each term and each banned word once, with what to use instead."""

import re
from collections import Counter
from typing import Final

from tests.architecture.test_repository import ROOT

PAGE: Final = ROOT / "docs" / "glossary.md"
WORDS: Final = "## Words not to use"


def rows(text: str) -> list[list[str]]:
    """The cells of all tables, without headings."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[0] not in ("term", "old")]


def test_each_term_has_one_meaning() -> None:
    terms = rows(PAGE.read_text().split(WORDS)[0])
    assert all(len(row) == 3 and all(row) for row in terms)
    assert [term for term, count in Counter(row[0] for row in terms).items() if count > 1] == []


def test_each_banned_word_is_listed_once_with_its_replacement() -> None:
    banned = rows(PAGE.read_text().split(WORDS)[1])
    assert banned
    assert all(len(row) == 3 and all(row) for row in banned)
    words = [word for row in banned for word in re.findall(r"`([^`]+)`", row[0])]
    assert all("`" in row[0] for row in banned)
    assert [word for word, count in Counter(words).items() if count > 1] == []
