"""Finds what texts cite: sections of our documents, decisions, and other documents by file name.

A section is cited as `docs/protocol.md 6`, `docs/behaviour.md 5.3 and 5.7` or `docs/protocol.md 1 to 8`; a
decision as `ADR 0040` or `docs/adr/0033, 0034`. Links of Markdown (`file.md#anchor`) are read as well.
"""

import re
from collections.abc import Iterator
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
