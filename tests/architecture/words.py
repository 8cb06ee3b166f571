"""Finds the words of docs/glossary.md, "Words not to use", in source and documents.

How a word is checked stands in the last column of its row:

- `everywhere`: in all names, strings, comments and docstrings of the source, and in the documents;
- `names`: in the names of modules, classes, functions, parameters and attributes, because the word has a
  plain use in sentences;
- `review`: by readers only, because the word has a plain use in names too.

Whatever stands between backticks in the third column is exempt, as a name or as a phrase.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

WORDS: Final = "## Words not to use"
CHECKS: Final = ("everywhere", "names", "review")

_QUOTED: Final = re.compile(r"`([^`]+)`")
_PARTS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True)
class Banned:
    """One row of the table."""

    words: tuple[str, ...]
    instead: str
    exempt: tuple[str, ...]
    check: str


@dataclass(frozen=True)
class Found:
    """A banned word and where it stands."""

    word: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.word!r} in {self.text[:80]!r}"


def table_rows(text: str) -> list[list[str]]:
    """The cells of all tables of a page, without headings and rules."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[0] not in ("term", "old")]


def banned_words(page: str) -> list[Banned]:
    """The rows of the table of a glossary page."""
    return [
        Banned(tuple(_QUOTED.findall(old)), use, tuple(_QUOTED.findall(fine)), check)
        for old, use, fine, check in table_rows(page.split(WORDS)[1])
    ]


def in_names(names: Iterable[tuple[str, str]], banned: Banned) -> Iterator[Found]:
    """Names, each with its place, that have a banned word between underscores or capitals."""
    wanted = {word.replace("_", " ") for word in banned.words}
    for name, where in names:
        if name.strip("_") in banned.exempt or name in banned.exempt:
            continue
        spaced = f" {' '.join(part.lower() for part in _PARTS.findall(name))} "
        for word in wanted:
            if f" {word} " in spaced:
                yield Found(word, where, name)


def in_texts(texts: Iterable[tuple[str, str]], banned: Banned) -> Iterator[Found]:
    """Sentences, each with its place, that have a banned word."""
    patterns = [
        (word, re.compile(rf"(?<![\w`-]){re.escape(word)}(?![\w-])", re.IGNORECASE))
        for word in banned.words
    ]
    for text, where in texts:
        if not any(word.lower() in text.lower() for word in banned.words):
            continue
        rest = text
        for phrase in banned.exempt:
            rest = rest.replace(phrase, "")
        for word, pattern in patterns:
            for hit in pattern.finditer(rest):
                yield Found(word, where, rest[max(0, hit.start() - 30) : hit.end() + 30])


@dataclass(frozen=True)
class Source:
    """What a module says: its own names, every name in it, and its strings and comments."""

    own_names: list[tuple[str, str]]
    """Of the module, its classes, functions, parameters and attributes."""
    all_names: list[tuple[str, str]]
    texts: list[tuple[str, str]]


def read_source(path: Path, shown: str) -> Source:
    """Read one module."""
    text = path.read_text()
    own, every, texts = [(path.stem, shown)], [(path.stem, shown)], []
    for node in ast.walk(ast.parse(text)):
        where = f"{shown}:{getattr(node, 'lineno', 0)}"
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                own.append((name, where))
            case ast.ClassDef(name=name):
                own.append((name, where))
                own.extend((field, where) for field in _fields(node))
            case ast.arg(arg=name):
                own.append((name, where))
            case ast.Attribute(attr=name, ctx=ast.Store()):
                own.append((name, where))
            case ast.Name(id=name, ctx=ast.Store()):
                every.append((name, where))
            case ast.Constant(value=str() as value):
                texts.append((value, where))
            case _:
                pass
    texts.extend(
        (token.string, f"{shown}:{token.start[0]}")
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    )
    return Source(own, own + every[1:], texts)


def _fields(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id
