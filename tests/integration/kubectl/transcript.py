"""Transcripts of a shell: commands with the output they must give, kept as data.

`$ command` runs a command. The lines after it are what it prints; those that start with `! ` are
its errors, and `? 1` is its exit code when it is not 0. `$& command` starts one that stays (a
watch); `$.` stops it and shows what it printed. `@embedded` or `@kubernetes` before a command keeps
it to that backend, so where the two differ both are written down. `#` starts a comment. Ages, uids, addresses and the like are replaced by their names on
both sides, so that the same file holds for the embedded cluster and for a real API server.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

_RULES: Final = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "<time>"),
    (re.compile(r"\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b"), "<address>"),
    (re.compile(r"(?i)(resource ?version:\s+)\"?\d+\"?"), r"\1<version>"),
    (re.compile(r"(?<![\w./-])\d+[smhd](\d+[smhd])?(?![\w./-])"), "<age>"),
    (re.compile(r" {2,}"), "  "),
)


def normalise(text: str) -> str:
    """The text without what differs from run to run."""
    lines = []
    for line in text.splitlines():
        for pattern, name in _RULES:
            line = pattern.sub(name, line)
        lines.append(line.rstrip())
    return "\n".join(lines).strip("\n")


class Step(msgspec.Struct, kw_only=True):
    """One command and what it must give."""

    command: str
    mode: str = "$"
    """`$`, `$&` or `$.`."""
    backend: str = ""
    """The only backend that runs it; empty for all."""
    before: list[str]
    """Comments and blank lines above it, kept when the file is written anew."""
    output: list[str]


def parse(text: str) -> list[Step]:
    """The steps of a transcript."""
    steps: list[Step] = []
    before: list[str] = []
    backend = ""
    for line in text.splitlines():
        if line.startswith("$"):
            mode, _, command = line.partition(" ")
            steps.append(
                Step(command=command, mode=mode, backend=backend, before=before, output=[])
            )
            before, backend = [], ""
        elif line.startswith("@"):
            backend = line[1:].strip()
        elif line.startswith("#") or not steps:
            before.append(line)
        else:
            steps[-1].output.append(line)
    return steps


def render(steps: list[Step]) -> str:
    """The text of the steps; the opposite of `parse`."""
    return "\n".join(_lines(steps)) + "\n"


def _lines(steps: list[Step]) -> Iterator[str]:
    for number, step in enumerate(steps):
        if number:
            yield ""
        yield from step.before
        if step.backend:
            yield f"@{step.backend}"
        yield f"{step.mode} {step.command}".rstrip()
        yield from step.output


def shown_output(*, out: str, err: str, code: int) -> list[str]:
    """What a command gave, in the form of a transcript; blank lines would end it, so none stay."""
    lines = [line for line in normalise(out).splitlines() if line]
    lines += [f"! {line}" for line in normalise(err).splitlines() if line]
    return lines + ([f"? {code}"] if code else [])
