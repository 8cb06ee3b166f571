"""YAML that somebody else wrote: bounded in bytes, in depth and in what its aliases stand for.

An alias is one object in memory, and everything below it again for whoever walks over the document:
nine lines of ten aliases each are a billion values. So what a document amounts to with all aliases written
out is counted before anything is made of it. Nesting is counted too, because readers recurse.
"""

from collections.abc import Iterator
from typing import Any, Final

import yaml

from vc_model.bounded import NUMBER_LENGTH_MAX
from vc_model.faults import describe

BYTES_MAX: Final = 4 * 1024 * 1024
DEPTH_MAX: Final = 100
VALUES_MAX: Final = 1_000_000
"""Of a document with its aliases written out, beyond what it has characters for."""


class YamlError(ValueError):
    """Not YAML, or more of it than anybody means; says which."""


def load(text: str | bytes, *, bytes_max: int = BYTES_MAX) -> Any:
    """The one document of a text; None for none."""
    documents = list(load_all(text, bytes_max=bytes_max))
    if len(documents) > 1:
        raise YamlError("more than one document")
    return documents[0] if documents else None


def load_all(text: str | bytes, *, bytes_max: int = BYTES_MAX) -> Iterator[Any]:
    """Each document of a text."""
    if len(text) > bytes_max:
        raise YamlError(f"{len(text)} bytes; {bytes_max} are read at the most")
    try:
        _check(text)
        yield from yaml.load_all(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise YamlError(describe(error)) from None
    except YamlError:
        raise
    except Exception as error:  # noqa: BLE001 - constructors of tags raise whatever they stumble over
        raise YamlError(f"cannot be read: {describe(error)[:200]}") from None


def _check(text: str | bytes) -> None:
    """One walk over the events, before any value is made."""
    counter = _Counter()
    for event in yaml.parse(text, Loader=_BASE):
        counter.take(event)


class _Counter:
    """How deep a text is nested, and how many values its aliases stand for."""

    def __init__(self) -> None:
        self._open: list[tuple[str, int]] = []
        """Anchors of the collections that we are in, each with the values in it so far."""
        self._sizes: dict[str, int] = {}
        """Values below an anchor, aliases written out."""

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self._sizes.clear()
            case yaml.AliasEvent():
                if any(anchor == event.anchor for anchor, _ in self._open):
                    raise YamlError(f"alias *{event.anchor} stands within what it stands for")
                self._add(self._sizes.get(event.anchor or "", 1))
            case yaml.ScalarEvent():
                self._add(1)
                self._end(event.anchor or "", 1)
            case yaml.CollectionStartEvent():
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
        if known + size > VALUES_MAX:
            raise YamlError(f"its aliases stand for more than {VALUES_MAX} values")
        self._open[-1] = (anchor, known + size)

    def _end(self, anchor: str, size: int) -> None:
        if anchor:
            self._sizes[anchor] = size


_BASE: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The fast one, where it was built."""


class _Loader(_BASE):  # type: ignore[misc]  # which of the two is known when it runs
    """A safe loader whose numbers are bounded."""


def _integer(loader: Any, node: yaml.ScalarNode) -> Any:
    """Hexadecimal and octal numbers of any length are made without a word, and cannot be printed."""
    if len(node.value) > NUMBER_LENGTH_MAX:
        raise YamlError(f"a number of {len(node.value)} characters")
    return loader.construct_yaml_int(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
