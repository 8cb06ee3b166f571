"""Renders `docs/support-matrix.md` from the table."""

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from vc.model.support.answers import Answer, Entry
from vc.model.support.table import ENTRIES

_HEAD: Final = """\
# What is supported

Written by `python -m vc.model.support` from the table in `libs/vc/model/support`; a test compares the two,
and another walks the CRD schemas, the annotations and the configuration for a field that is not here.

Nothing is accepted and ignored. Every field, label, annotation and configuration key has one of four answers:

| answer | what happens |
|---|---|
| effect | it does what is written here |
| condition | the object waits. The PodGroup's condition `Unschedulable` has reason `Unsupported` and names the field; `vcctl job explain` shows it; admission returns a warning |
| refused | admission refuses the object, or the scheduler the configuration, with a sentence |
| warning | accepted without effect; admission returns a warning, or for a configuration the scheduler writes a log line and an Event on the ConfigMap |

Fields of pod templates that are not listed under Pod are passed to the pods. One that Kubernetes does not know
(`resorces`), there or in a claim or selector, gives a warning with its path and the nearest field that is known.
"""


def document() -> str:
    """The whole page as Markdown."""
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for scope, entries in groupby(ENTRIES, key=lambda entry: entry.scope):
        yield f"## {scope}\n"
        yield "| what | value | answer | |"
        yield "|---|---|---|---|"
        for entry in entries:
            yield from _rows(entry)
        yield ""


def _rows(entry: Entry) -> Iterator[str]:
    name = f"`{entry.path}`" if entry.path else "the whole object"
    if entry.path.startswith("any other"):
        name = entry.path
    below = " and below" if entry.below and entry.path else ""
    for case in entry.cases:
        answer = case.answer.value if case.answer is Answer.EFFECT else f"**{case.answer.value}**"
        yield f"| {name}{below} | {case.when} | {answer} | {case.text} |"
        name, below = "", ""
