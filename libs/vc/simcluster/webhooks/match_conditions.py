"""The subset of CEL that match conditions of webhooks use.

It has fields, indices, `has()`, comparisons, `in`, `!`, `&&`, `||`, parentheses, literals and the
string methods startsWith, endsWith and contains. Anything else raises ConditionError, which counts
as a failure of the webhook: its failurePolicy decides, and the log names the expression.
"""

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from vc.model.api.struct import Json

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<number>-?\d+)|(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    r"""|(?P<word>[A-Za-z_]\w*)|(?P<sign>\|\||&&|==|!=|<=|>=|[<>!().,\[\]]))"""
)
_LENGTH_MAX: Final = 4096
_DEPTH_MAX: Final = 50
_CACHED_MAX: Final = 256
_CONSTANTS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None}
_COMPARISONS: Final[dict[str, Callable[[Json, Json], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda left, right: left in right,
}
_METHODS: Final[dict[str, Callable[[str, str], bool]]] = {
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": str.__contains__,
}

Variables = Mapping[str, Json]
Evaluate = Callable[[Variables], Json]


class ConditionError(ValueError):
    """An expression that is not supported or does not match the object."""


def holds(expression: str, variables: Variables) -> bool:
    """Whether the condition is true."""
    try:
        value = compile_condition(expression)(variables)
    except (TypeError, RecursionError) as error:
        raise ConditionError(f"{expression!r}: {error}") from None
    if not isinstance(value, bool):
        raise ConditionError(f"{expression!r} is not a condition: it gives {value!r}")
    return value


@lru_cache(maxsize=_CACHED_MAX)
def compile_condition(expression: str) -> Evaluate:
    """Parse an expression. The result is cached."""
    parser = _Parser(expression)
    compiled = parser.either()
    parser.expect("")
    return compiled


class _Parser:
    """A recursive descent parser with one method per level of precedence."""

    def __init__(self, expression: str) -> None:
        if len(expression) > _LENGTH_MAX:
            raise ConditionError(f"an expression may have {_LENGTH_MAX} characters")
        self._expression = expression
        self._tokens = self._split(expression.strip())
        self._at = 0
        self._depth = 0

    def _split(self, text: str) -> list[tuple[str, str]]:
        tokens: list[tuple[str, str]] = []
        end = 0
        while end < len(text):
            match = _TOKEN.match(text, end)
            if match is None:
                raise ConditionError(f"{self._expression!r}: cannot read {text[end : end + 20]!r}")
            tokens.append((match.lastgroup or "", match[match.lastgroup or 0]))
            end = match.end()
        return tokens

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise ConditionError(f"{self._expression!r} ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def expect(self, sign: str) -> None:
        """Consume the next token, which must be this one. An empty sign stands for the end."""
        if self._peek() != sign:
            raise ConditionError(
                f"{self._expression!r}: found {self._peek()!r} where {sign or 'the end'!r} belongs"
            )
        self._at += bool(sign)

    def either(self) -> Evaluate:
        # Every nested expression passes here, so this is where the depth is limited.
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise ConditionError(f"{self._expression!r} is nested too deeply")
        left = self._both()
        while self._peek() == "||":
            self.expect("||")
            left = _or(left, self._both())
        self._depth -= 1
        return left

    def _both(self) -> Evaluate:
        left = self._comparison()
        while self._peek() == "&&":
            self.expect("&&")
            left = _and(left, self._comparison())
        return left

    def _comparison(self) -> Evaluate:
        left = self._unary()
        if self._peek() in _COMPARISONS:
            compare = _COMPARISONS[self._take()[1]]
            right = self._unary()
            return lambda v: compare(left(v), right(v))
        return left

    def _unary(self) -> Evaluate:
        if self._peek() == "!":
            self.expect("!")
            inner = self._unary()
            return lambda v: not inner(v)
        return self._chain()

    def _chain(self) -> Evaluate:
        value = self._primary()
        while self._peek() in {".", "["}:
            if self._take()[1] == ".":
                value = self._member(value, self._take()[1])
            else:
                key = self.either()
                self.expect("]")
                value = _index(value, key)
        return value

    def _member(self, value: Evaluate, name: str) -> Evaluate:
        if self._peek() != "(":
            return _index(value, lambda _v: name)
        if name not in _METHODS:
            raise ConditionError(f"{self._expression!r}: method {name!r} is not supported")
        self.expect("(")
        argument, method = self.either(), _METHODS[name]
        self.expect(")")
        return lambda v: method(value(v), argument(v))

    def _primary(self) -> Evaluate:
        kind, word = self._take()
        if kind == "number":
            return lambda _v: int(word)
        if kind == "text":
            # Escapes are resolved once at compile time, not for each request.
            plain = re.sub(r"\\(.)", r"\1", word[1:-1])
            return lambda _v: plain
        if word == "(":
            inner = self.either()
            self.expect(")")
            return inner
        if word == "[":
            return self._list()
        if word == "has":
            return self._has()
        if word in _CONSTANTS:
            return lambda _v: _CONSTANTS[word]
        # Anything else is an operator in the wrong position.
        if kind != "word":
            raise ConditionError(f"{self._expression!r}: {word!r} is not expected here")
        return lambda v: _variable(v, word)

    def _list(self) -> Evaluate:
        elements: list[Evaluate] = []
        while self._peek() != "]":
            elements.append(self.either())
            if self._peek() == ",":
                self.expect(",")
        self.expect("]")
        return lambda v: [element(v) for element in elements]

    def _has(self) -> Evaluate:
        """`has(a.b)`: whether the field exists.

        Also false if a field on the path to it is missing.
        """
        self.expect("(")
        inner = self.either()
        self.expect(")")

        def present(variables: Variables) -> bool:
            try:
                inner(variables)
            except ConditionError:
                return False
            return True

        return present


def _or(left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda v: bool(left(v)) or bool(right(v))


def _and(left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda v: bool(left(v)) and bool(right(v))


def _variable(variables: Variables, name: str) -> Json:
    if name not in variables:
        raise ConditionError(f"undeclared reference to {name!r}")
    return variables[name]


def _index(value: Evaluate, key: Evaluate) -> Evaluate:
    def find(variables: Variables) -> Json:
        container, wanted = value(variables), key(variables)
        try:
            return container[wanted]
        except (KeyError, IndexError, TypeError):
            raise ConditionError(f"no such key: {wanted}") from None

    return find
