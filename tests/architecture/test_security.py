"""SECURITY.md says nothing that no test shows: every claim names tests that exist, every cell is filled."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
NAMED = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
MENTION = re.compile(r"\b([CL]\d+)\b")
ATTACKERS = (
    "tenant", "admin of another namespace", "Kafka writer", "Redis writer", "one compromised service",
    "network",
)  # fmt: skip
ASSETS = 6


def rows(heading: str) -> list[list[str]]:
    """Cells of the table under a heading, without its head."""
    section = PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@cache
def functions_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))


CLAIMS = {row[0]: row for row in rows("Claims")}
LIMITS = {row[0]: row for row in rows("Limits: not defended")}


def test_every_attacker_has_a_word_on_every_asset() -> None:
    table = rows("Attackers and what they reach")
    told = [re.sub(r"[*:].*", "", row[0].lstrip("*")) for row in table]
    assert tuple(told) == ATTACKERS
    for row in table:
        assert len(row) == 1 + ASSETS, row[0]
        assert all(MENTION.search(cell) for cell in row[1:]), (
            f"{row[0]}: a cell without a reference"
        )


def test_every_mark_is_listed_once_and_every_listed_one_is_used() -> None:
    table = [cell for row in rows("Attackers and what they reach") for cell in row]
    used = set(MENTION.findall(" ".join(table)))
    assert used == CLAIMS.keys() | LIMITS.keys()
    assert len(CLAIMS) == len(rows("Claims"))
    assert len(LIMITS) == len(rows("Limits: not defended"))
    for listed in (CLAIMS, LIMITS):
        assert [int(mark[1:]) for mark in listed] == list(range(1, 1 + len(listed))), "in order"


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_is_a_sentence_with_tests_that_exist(claim: str) -> None:
    _, sentence, shown_by = CLAIMS[claim]
    assert sentence.endswith(".")
    named = NAMED.findall(shown_by)
    assert [f"{path}::{name}" for path, name in named] == shown_by.split(", "), (
        "tests, and no words"
    )
    for path, name in named:
        assert (ROOT / path).is_file(), path
        assert name in functions_in(ROOT / path), f"{path}::{name}"


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_says_what_to_do(limit: str) -> None:
    assert all(text.endswith(".") for text in LIMITS[limit][1:])


def test_tests_that_are_named_elsewhere_exist_too() -> None:
    for path, name in NAMED.findall(PAGE):
        assert name in functions_in(ROOT / path), f"{path}::{name}"
