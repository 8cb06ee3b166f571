"""Parses foreign YAML with bounds on its size, its depth and the expansion of its aliases.

An alias is one object in memory, but code that walks the document visits everything below it again:
nine lines of ten aliases each are a billion values. Therefore the number of values with all aliases
expanded is counted before any value is constructed. Nesting is limited too, because readers
recurse.
"""

from collections.abc import Iterator
from typing import Any, Final

import yaml

from vc.model.faults import describe
from vc.model.values.bounded import NUMBER_LENGTH_MAX

BYTES_MAX: Final = 4 * 1024 * 1024
DEPTH_MAX: Final = 100
VALUES_MAX: Final = 1_000_000
"""Limit of values in a document with its aliases expanded."""


class YamlError(ValueError):
    """Invalid YAML, or a document that exceeds a limit; the message says which."""


def load(text: str | bytes, *, bytes_max: int = BYTES_MAX) -> Any:
    """The only document of a text; None if there is none."""
    documents = list(load_all(text, bytes_max=bytes_max))
    if len(documents) > 1:
        raise YamlError("more than one document")
    return documents[0] if documents else None


def load_all(text: str | bytes, *, bytes_max: int = BYTES_MAX) -> Iterator[Any]:
    """All documents of a text."""
    if len(text) > bytes_max:
        raise YamlError(f"{len(text)} bytes; {bytes_max} are read at the most")
    try:
        # Before loading, because constructing the values is what must be bounded.
        _check(text)
        yield from yaml.load_all(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise YamlError(describe(error)) from None
    except YamlError:
        raise
    except Exception as error:  # noqa: BLE001 - constructors of tags raise whatever they stumble over
        raise YamlError(f"cannot be read: {describe(error)[:200]}") from None


def _check(text: str | bytes) -> None:
    """Checks the limits on the parse events, before any value is constructed."""
    counter = _Counter()
    for event in yaml.parse(text, Loader=_BASE):
        counter.take(event)


class _Counter:
    """Counts the nesting depth, and the values with aliases expanded."""

    def __init__(self) -> None:
        self._open: list[tuple[str, int]] = []
        """The anchors of the open collections, each with the number of values so far."""
        self._sizes: dict[str, int] = {}
        """The number of values below each anchor, with aliases expanded."""

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.DocumentStartEvent():
                # Anchors are valid only within one document.
                self._sizes.clear()
            case yaml.AliasEvent():
                # A recursive alias has no finite size, and readers would never end.
                if any(anchor == event.anchor for anchor, _ in self._open):
                    raise YamlError(f"alias *{event.anchor} stands within what it stands for")
                # An unknown anchor counts as one value; the loader reports it as an error.
                self._add(self._sizes.get(event.anchor or "", 1))
            case yaml.ScalarEvent():
                self._add(1)
                self._end(event.anchor or "", 1)
            case yaml.CollectionStartEvent():
                # Readers recurse, so depth is limited to protect their stack.
                if len(self._open) >= DEPTH_MAX:
                    raise YamlError(f"nested deeper than {DEPTH_MAX} levels")
                self._open.append((event.anchor or "", 1))
            case yaml.CollectionEndEvent():
                anchor, size = self._open.pop()
                self._add(size)
                self._end(anchor, size)

    def _add(self, size: int) -> None:
        if not self._open:
            return
        anchor, known = self._open[-1]
        # At every step, because each level of aliases multiplies the number.
        if known + size > VALUES_MAX:
            raise YamlError(f"its aliases stand for more than {VALUES_MAX} values")
        self._open[-1] = (anchor, known + size)

    def _end(self, anchor: str, size: int) -> None:
        if anchor:
            self._sizes[anchor] = size


_BASE: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The fast loader, if it is available."""


class _Loader(_BASE):  # type: ignore[misc]  # which of the two is known when it runs
    """A safe loader with bounded numbers."""


def _integer(loader: Any, node: yaml.ScalarNode) -> Any:
    """Rejects long integers: hexadecimal and octal numbers of any length would be accepted,
    and cannot be printed.
    """
    if len(node.value) > NUMBER_LENGTH_MAX:
        raise YamlError(f"a number of {len(node.value)} characters")
    return loader.construct_yaml_int(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
