"""A page of Markdown whose console blocks are run: commands after `$ `, and what they print.

A block is fenced as `console`, followed by tags. Commands are run by bash one after another, with the
variables that `export` and assignments of the page leave behind. Ages, times, addresses and ids are
masked on both sides before they are compared.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

from tests.integration.kubectl.transcript import normalise

_FENCE: Final = re.compile(r"^```console ?(?P<tags>.*)\n(?P<body>(?:.*\n)*?)```$", re.MULTILINE)
_MASKS: Final = (
    (re.compile(r"\b[0-9a-f]{32}\b"), "<trace>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "<date>"),
    (re.compile(r"http://[\w.]+:\d+"), "<url>"),
    (re.compile(r"(\$PWD)?[./]\S*kubeconfig"), "<kubeconfig>"),
)
PROMPT: Final = "$ "


class Command(NamedTuple):
    """One command of a block, and what the page says it prints."""

    line: str
    shown: str


class Block(NamedTuple):
    """A console block of the page."""

    tags: frozenset[str]
    """`any-order`: of processes that do not wait for one another; other tags are the test's."""
    commands: list[Command]

    def same(self, shown: str, printed: str) -> bool:
        """Whether they say the same."""
        return self.lines(shown) == self.lines(printed)

    def lines(self, text: str) -> list[str]:
        """Masked, as they are compared."""
        lines = masked(text).splitlines()
        return sorted(lines) if "any-order" in self.tags else lines


def blocks(text: str) -> list[Block]:
    """All of them, in order."""
    return [
        Block(frozenset(found["tags"].split()), _commands(found["body"]))
        for found in _FENCE.finditer(text)
    ]


def _commands(body: str) -> list[Command]:
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)
    assert parts[0].strip() == "", f"output before the first command: {parts[0]!r}"
    commands = []
    for part in parts[1:]:
        line, _, shown = part.partition("\n")
        commands.append(Command(line, shown.strip("\n")))
    return commands


def masked(text: str) -> str:
    """Without what differs from run to run."""
    for pattern, name in _MASKS:
        text = pattern.sub(name, text)
    return normalise(text)


def written(text: str, results: list[list[str]]) -> str:
    """The page with what its commands have printed."""
    left = iter(results)

    def block(found: re.Match[str]) -> str:
        outputs = next(left)
        commands = _commands(found["body"])
        parts = [
            f"{PROMPT}{command.line}\n" + (f"{output}\n" if output else "")
            for command, output in zip(commands, outputs, strict=True)
        ]
        between = "\n" if any(outputs[:-1]) else ""
        tags = f" {found['tags']}" if found["tags"] else ""
        return f"```console{tags}\n{between.join(parts)}```"

    return _FENCE.sub(block, text)


def read(path: Path) -> tuple[str, list[Block]]:
    """The page and its blocks."""
    text = path.read_text(encoding="utf-8")
    return text, blocks(text)
