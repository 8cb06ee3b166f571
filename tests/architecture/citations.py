"""Finds what texts cite: sections of our documents, decisions, and other documents by file name.

A section is cited as `docs/protocol.md 6`, `docs/behaviour.md 5.3 and 5.7` or `docs/protocol.md 1 to 8`; a
decision as `ADR 0040` or `docs/adr/0033, 0034`. Links of Markdown (`file.md#anchor`) are read as well. Modules are
cited in backticks, by the end of their path (`cache/pods.py`) or by their import name (`vc.scheduling.cache.pods`).
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

_SECTION: Final = r"\d+(?:\.\d+)?"
_SECTIONS: Final = re.compile(
    rf"\b(docs/(?:protocol|behaviour)\.md) ({_SECTION}(?:(?:, | and | or | to ){_SECTION})*)(?![\d%])"
)
_RANGE: Final = re.compile(r"(\d+) to (\d+)")
_DECISIONS: Final = re.compile(
    r"(?:\bADRs? |\badr/)(\d{4}(?!\d)(?:(?:, | and ){1}\d{4}(?![\d-]))*)"
)
_FILE: Final = re.compile(r"(?<![\w/.<>*-])((?:\.\./)*[\w.][\w./-]*\.md)\b(?:#([\w-]+))?")
_OLD_FORM: Final = re.compile(
    rf"(?<![/\w.-])(?:[Pp]rotocol|[Bb]ehaviour(?:\.md)?|[Dd]esign(?:\.md)?|[Rr]eliability(?:\.md)?) {_SECTION}\b"
    r"|\b[Ss]ection \d+ of the (?:design|protocol|specification)\b"
)
_MODULE: Final = re.compile(r"`((?:[\w-]+/)*\w+\.py)(?:::\w+)?`")
_IMPORTED: Final = re.compile(r"`(vc(?:\.\w+)+)(?:\(\))?`")
_HEADING: Final = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_ANCHOR: Final = re.compile(r'<a id="([\w-]+)"></a>')
_NUMBERED: Final = re.compile(rf"^#{{1,6}} ({_SECTION})\.? ", re.MULTILINE)


class Cited(NamedTuple):
    """A section or an anchor of a document."""

    document: str
    place: str


def sections(text: str) -> set[str]:
    """The numbers of a document's headings: `## 6. Barrier` and `## 5.7 Plugins` have 6 and 5.7."""
    return set(_NUMBERED.findall(text))


def anchors(text: str) -> set[str]:
    """What a link may point at: GitHub's names of headings, and ids that are written out."""
    made = set(_ANCHOR.findall(text))
    for heading in _HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        made.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return made


def cited_sections(text: str) -> Iterator[Cited]:
    """Each section that is cited by its number; a range names its ends and all between."""
    for document, listed in _SECTIONS.findall(_joined(text)):
        for first, last in _RANGE.findall(listed):
            for number in range(int(first), int(last) + 1):
                yield Cited(document, str(number))
        for number in re.findall(_SECTION, listed):
            yield Cited(document, number)


def cited_decisions(text: str) -> Iterator[str]:
    """Numbers of ADRs."""
    for listed in _DECISIONS.findall(_joined(text)):
        yield from re.findall(r"\d{4}", listed)


def cited_files(text: str) -> Iterator[Cited]:
    """Documents that are named by a file name, with the anchor of a link or an empty one."""
    for document, anchor in _FILE.findall(text):
        yield Cited(document, anchor)


def cited_modules(text: str) -> list[str]:
    """Ends of paths of Python modules: `cache/pods.py`. Names with placeholders are not read."""
    return _MODULE.findall(text)


def cited_imports(text: str) -> list[str]:
    """Packages, modules and what they define, by import name: `vc.clock.VirtualLoop`."""
    return _IMPORTED.findall(text)


def is_module(cited: str, paths: Iterable[str]) -> bool:
    """Whether one of the paths ends with the cited one, at a folder."""
    return any(f"/{path}".endswith(f"/{cited}") for path in paths)


def is_importable(cited: str, roots: Iterable[Path]) -> bool:
    """Whether a package or module has this import name, or the module in front of it mentions the rest.

    Nothing is imported: the text of the module must have each further name as a word.
    """
    first, *names = cited.split(".")
    return any(_is_below(root / first, names) for root in roots)


def _is_below(folder: Path, names: list[str]) -> bool:
    for number, name in enumerate(names):
        if (folder / name).is_dir():
            folder /= name
            continue
        module = folder / f"{name}.py"
        rest = names[number + 1 :]
        if not module.is_file():
            module, rest = folder / "__init__.py", names[number:]
        text = module.read_text() if module.is_file() else ""
        return bool(text) and all(re.search(rf"\b{part}\b", text) for part in rest)
    return folder.is_dir()


def old_forms(text: str) -> list[str]:
    """Citations that do not say in which file the section is."""
    return _OLD_FORM.findall(_joined(text))


def resolve(document: str, *, cited_in: Path, root: Path) -> Path | None:
    """The file that is meant: beside the text, from the root or in docs; None when `root` has none."""
    for base in (cited_in.parent, root, root / "docs"):
        found = (base / document).resolve()
        if found.is_file() and found.is_relative_to(root.resolve()):
            return found
    return None


def _joined(text: str) -> str:
    """Citations may be broken over lines, also of comments."""
    return re.sub(r"\n[ \t]*(?:#+ )?", " ", text)
