"""State of a session is changed only by the methods of the class that owns it (docs/adr/0047).

`session.refused[key] = …`, `session.decided.binds.setdefault(…)` or `self._session.now = …` in another
module is an error. So is an attribute assignment on any object whose class is not in the same module.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ENGINE = Path(__file__).parents[2] / "libs/vc/scheduling"
PACKAGES = ("actions", "closing", "eviction", "placement", "reservations", "session")
SESSIONS = frozenset({"session", "_session"})
MUTATORS = frozenset(
    {
        "__setitem__", "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop",
        "popitem", "popleft", "remove", "setdefault", "sort", "update",
    }
)  # fmt: skip
ATTRIBUTES_MAX = 20


def modules() -> list[Path]:
    return sorted(ENGINE.rglob("*.py"))


def reaches_session(node: ast.expr) -> bool:
    """Whether an attribute chain goes through a session, with at least one attribute after it."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        inner = node.func if isinstance(node, ast.Call) else node.value
        if isinstance(node, ast.Attribute):
            if isinstance(inner, ast.Name) and inner.id in SESSIONS:
                return True
            if isinstance(inner, ast.Attribute) and inner.attr in SESSIONS:
                return True
        node = inner
    return False


def written(node: ast.AST) -> Iterator[ast.expr]:
    """The places that a statement or call changes."""
    if isinstance(node, ast.Assign | ast.Delete):
        yield from node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        yield node.target
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in MUTATORS
        and isinstance(node.func.value, ast.Attribute | ast.Subscript)
    ):
        yield node.func.value


def places(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from places(element)
    else:
        yield target


def own_attributes(tree: ast.AST) -> set[str]:
    """Names that classes of this module assign to self or declare."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            found |= attributes_of(node)
    return found


def attributes_of(owner: ast.ClassDef) -> set[str]:
    found = {
        statement.target.id
        for statement in owner.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }
    for node in ast.walk(owner):
        for target in written(node):
            for place in places(target):
                if isinstance(place, ast.Attribute) and isinstance(place.value, ast.Name):
                    found |= {place.attr} if place.value.id == "self" else set()
    return found


def violations(source: str) -> list[str]:
    tree = ast.parse(source)
    own = own_attributes(tree)
    found: list[str] = []
    for node in ast.walk(tree):
        for place in (place for target in written(node) for place in places(target)):
            foreign = (
                isinstance(place, ast.Attribute)
                and not isinstance(node, ast.Call)
                and not (isinstance(place.value, ast.Name) and place.value.id == "self")
                and place.attr not in own
            )
            if reaches_session(place) or foreign:
                found.append(f"line {node.lineno}: {ast.unparse(place)}")  # type: ignore[attr-defined]
    return found


def test_no_module_changes_the_state_of_a_session_from_outside() -> None:
    found = {
        str(path.relative_to(ENGINE)): lines
        for path in modules()
        if (lines := violations(path.read_text()))
        and (path.parent == ENGINE or path.relative_to(ENGINE).parts[0] in (*PACKAGES, "plugins"))
    }
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        "session.now = 1",
        "session.refused['a'] = 1",
        "session.decided.binds.setdefault('a', []).append(1)",
        "self._session.accounts.changed.append('a')",
        "session.moves += 1",
        "del session.refused['a']",
        "session.cached(Cache).known['a'] = 1",
        "other.attribute = 1",
    ],
)
def test_a_change_from_outside_is_found(source: str) -> None:
    assert violations(source)


@pytest.mark.parametrize(
    "source",
    [
        "session.refuse(group, reason)",
        "session.accounts.count_placed('a', {}, None)",
        "class A:\n    def __init__(self):\n        self.x = []\n    def more(self):\n        self.x.append(1)",
        "found = session.refused['a']\nfound_too = dict(session.refused)",
    ],
)
def test_reading_and_calling_methods_is_allowed(source: str) -> None:
    assert not violations(source)


def test_no_class_of_the_engine_has_more_than_twenty_attributes() -> None:
    """Rows and other structs of the model mirror API objects; they are not state of a session."""
    large = {
        node.name: len(attributes_of(node))
        for path in modules()
        if path.relative_to(ENGINE).parts[0] in PACKAGES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and len(attributes_of(node)) > ATTRIBUTES_MAX
    }
    assert not large
