"""docs/glossary.md has one meaning per term, and the words it bans are used nowhere."""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.test_repository import ROOT
from tests.architecture.words import (
    CHECKS,
    WORDS,
    Banned,
    Found,
    Source,
    banned_words,
    in_names,
    in_texts,
    read_source,
    table_rows,
)

PAGE: Final = ROOT / "docs" / "glossary.md"
SOURCE_FOLDERS: Final = ("libs", "services", "bench")
DOCUMENTS: Final = ("*.md", "docs/*.md", "docs/adr/*.md", "services/*/README.md", "libs/**/*.md")
TEXT_FILES: Final = ("deploy/**/*.md", "deploy/**/*.yaml", "deploy/**/*.txt", "Makefile")
NOT_CHECKED: Final = ("CHANGELOG.md", "docs/glossary.md")
"""The first quotes what releases said; the second lists the words."""


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def banned() -> list[Banned]:
    return banned_words(PAGE.read_text())


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    return [
        read_source(path, shown(path))
        for folder in SOURCE_FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]


def documents() -> list[tuple[str, str]]:
    """The lines of all documents, each with its place."""
    paths = {path for pattern in (*DOCUMENTS, *TEXT_FILES) for path in ROOT.glob(pattern)}
    return [
        (line, f"{shown(path)}:{number}")
        for path in sorted(paths)
        if shown(path) not in NOT_CHECKED
        for number, line in enumerate(path.read_text().splitlines(), 1)
    ]


def told(found: list[Found]) -> str:
    return "\n".join(map(str, found))


def test_each_term_has_one_meaning() -> None:
    terms = table_rows(PAGE.read_text().split(WORDS)[0])
    assert all(len(row) == 3 and all(row) for row in terms)
    assert [term for term, count in Counter(row[0] for row in terms).items() if count > 1] == []


def test_each_banned_word_is_listed_once_with_its_replacement(banned: list[Banned]) -> None:
    assert banned
    assert all(row.words and row.instead and row.check in CHECKS for row in banned)
    words = Counter(word for row in banned for word in row.words)
    assert [word for word, count in words.items() if count > 1] == []


def test_no_name_has_a_banned_word(banned: list[Banned], sources: list[Source]) -> None:
    found = [
        hit
        for row in banned
        if row.check != "review"
        for source in sources
        for hit in in_names(
            source.all_names if row.check == "everywhere" else source.own_names, row
        )
    ]
    assert not found, told(found)


def test_no_sentence_of_the_source_has_a_banned_word(
    banned: list[Banned], sources: list[Source]
) -> None:
    checked = [row for row in banned if row.check == "everywhere"]
    found = [hit for row in checked for source in sources for hit in in_texts(source.texts, row)]
    assert not found, told(found)


def test_no_document_has_a_banned_word(banned: list[Banned]) -> None:
    lines = documents()
    assert len(lines) > 1000
    checked = [row for row in banned if row.check == "everywhere"]
    found = [hit for row in checked for hit in in_texts(lines, row)]
    assert not found, told(found)


def test_test_modules_have_no_banned_word_in_their_names(banned: list[Banned]) -> None:
    modules = [(path.stem, shown(path)) for path in sorted((ROOT / "tests").rglob("*.py"))]
    found = [hit for row in banned if row.check != "review" for hit in in_names(modules, row)]
    assert not found, told(found)


ROW: Final = Banned(("let in", "lets_in"), "enqueue", ("let in by name",), "everywhere")


@pytest.mark.parametrize(
    ("name", "hits"), [("lets_in", 1), ("_lets_in_now", 1), ("LetsIn", 1), ("let_income", 0)]
)
def test_names_are_split_at_underscores_and_capitals(name: str, hits: int) -> None:
    assert len(list(in_names([(name, "x.py:1")], ROW))) == hits


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("jobs are let in here", 1),
        ("Let in, then bound", 1),
        ("the outlet inside", 0),
        ("let in by name", 0),
    ],
)
def test_sentences_are_searched_for_whole_words(text: str, hits: int) -> None:
    assert len(list(in_texts([(text, "x.py:1")], ROW))) == hits


def test_a_module_shows_its_names_strings_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        'class Row:\n    task: str = ""\n\n\ndef go(at: int) -> str:\n    x = "said"  # why\n    return x\n'
    )
    source = read_source(path, "module.py")
    assert {name for name, _ in source.own_names} == {"module", "Row", "task", "go", "at"}
    assert {"x", "go"} <= {name for name, _ in source.all_names}
    assert {"said", "# why"} <= {text for text, _ in source.texts}
