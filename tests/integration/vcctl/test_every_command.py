"""Every command prints what the table says, on the embedded cluster and on a real kube-apiserver."""

import argparse
from pathlib import Path

from tests.integration.vcctl.commands import CASES, run_all
from tests.integration.vcctl.shell import Shell
from vc_cli.ctl.parser import vcctl_parser


def leaves(parser: argparse.ArgumentParser) -> list[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return [leaf for child in action.choices.values() for leaf in leaves(child)]
    return [parser.prog]


def test_the_table_leaves_no_command_out() -> None:
    """A new command goes into the table, which both clusters are asked for below."""
    run = {" ".join(case.line.split()[:words]) for case in CASES for words in (2, 3)}
    assert [leaf for leaf in leaves(vcctl_parser()) if leaf not in run] == []
    assert {case.line.split()[0] for case in CASES} == {
        "vcctl", "vsub", "vjobs", "vqueues", "vsuspend", "vresume", "vcancel", "kubectl-vc",
    }  # fmt: skip


def test_every_command(shell: Shell, tmp_path: Path) -> None:
    run_all(shell, tmp_path)
