"""No reason is made of an exception whose text may be empty: `vc.model.faults.describe` makes it.

`str(TimeoutError())` is empty, a TimeoutError is an OSError, and libraries raise errors without a message. So
a handler that catches one of these does not format what it caught by itself.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAY_BE_EMPTY = frozenset(
    {
        "BaseException", "CancelledError", "ClientError", "ConnectionError", "Exception",
        "IncompleteReadError", "KAFKA_FAULTS", "KafkaError", "OSError", "RedisError", "TimeoutError",
    }
)  # fmt: skip
"""And all that are named by an attribute: `aiohttp.ClientError`."""
SOURCES = sorted([*ROOT.glob("libs/vc/**/*.py"), *ROOT.glob("services/*/vc/**/*.py")])


def caught(handler: ast.ExceptHandler) -> set[str]:
    """The names of what it catches."""
    return {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(handler.type or ast.Constant(None))
        if isinstance(node, ast.Name | ast.Attribute)
    }


def formatted(handler: ast.ExceptHandler) -> Iterator[int]:
    """Lines that make a text of it: in an f-string, by str(), or as an argument of a log line."""
    for node in ast.walk(ast.Module(body=handler.body, type_ignores=[])):
        if isinstance(node, ast.FormattedValue) and _is(node.value, handler.name):
            yield node.lineno
        if isinstance(node, ast.Call) and any(_is(each, handler.name) for each in node.args):
            called = node.func
            is_log = isinstance(called, ast.Attribute) and called.attr in {
                "critical", "debug", "error", "info", "warning",
            }  # fmt: skip
            if is_log or (isinstance(called, ast.Name) and called.id == "str"):
                yield node.lineno


def _is(node: ast.AST, name: str | None) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def offences(source: str) -> list[int]:
    return [
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ExceptHandler) and node.name and caught(node) & MAY_BE_EMPTY
        for line in formatted(node)
    ]


def test_the_reason_of_a_fault_is_never_empty() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in SOURCES
        for line in offences(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "use vc.model.faults.describe"


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("print(f'away: {error}')", True),
        ("print(str(error))", True),
        ("log.warning('away: %s', error)", True),
        ("print(describe(error))", False),
        ("raise Away('x') from error", False),
    ],
)
@pytest.mark.parametrize("sort", ["TimeoutError", "(ValueError, OSError)", "aiohttp.ClientError"])
def test_the_rule_finds_what_it_is_about(body: str, wrong: bool, sort: str) -> None:
    assert bool(offences(f"try: ask()\nexcept {sort} as error:\n    {body}\n")) is wrong
