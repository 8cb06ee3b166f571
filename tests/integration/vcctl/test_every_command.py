"""Every command prints what the table says, on the embedded stack."""

import argparse
from pathlib import Path
from typing import Final

from tests.integration.vcctl.commands import CASES, run_all
from tests.integration.vcctl.shell import Shell
from vc_cli.ctl.parser import vcctl_parser

TOLD_ELSEWHERE: Final = frozenset(
    {"vcctl simulate", "vcctl usage", "vcctl queue tree", "vcctl queue delete"}
)
"""Commands whose answers need a dashboard or a state of their own: they have tests of their own."""
SESSIONS: Final = "vcctl session"


def leaves(parser: argparse.ArgumentParser) -> list[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return [leaf for child in action.choices.values() for leaf in leaves(child)]
    return [parser.prog]


def test_the_table_leaves_no_command_out() -> None:
    run = {" ".join(case.line.split()[:words]) for case in CASES for words in (2, 3)}
    left = [leaf for leaf in leaves(vcctl_parser()) if leaf not in run | TOLD_ELSEWHERE]
    assert [leaf for leaf in left if not leaf.startswith(SESSIONS)] == []
    assert {case.line.split()[0] for case in CASES} == {
        "vcctl", "vsub", "vjobs", "vqueues", "vsuspend", "vresume", "vcancel", "kubectl-vc",
    }  # fmt: skip


def test_every_command_on_the_embedded_stack(shell: Shell, tmp_path: Path) -> None:
    run_all(shell, tmp_path)
