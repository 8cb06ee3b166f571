"""Every command prints what the table says, on the embedded cluster and on a real kube-apiserver."""

import argparse
import json
from pathlib import Path

import yaml

from tests.integration.stack.running import eventually
from tests.integration.vcctl.commands import CASES, run_all
from tests.integration.vcctl.shell import Shell, becomes
from vc.cli.vcctl.parser import vcctl_parser


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


ANSWERS = (
    "job explain told", "job timeline told", "queue tree", "queue waiting default", "session list",
    "simulate --add-nodes 1", "usage", "version",
)  # fmt: skip


def told_alike(shell: Shell, line: str) -> bool:
    """Both forms have the same fields; the cluster goes on between the two questions."""
    as_json = json.loads(shell.good(f"vcctl {line} -o json").out)
    as_yaml = yaml.safe_load(shell.good(f"vcctl {line} -o yaml").out)
    assert as_json
    return bool(as_json.keys() == as_yaml.keys())


def test_every_answer_can_be_read_by_programs(shell: Shell) -> None:
    shell.good("vcctl job run -N told")
    becomes(shell, "told", "Running")
    for line in ANSWERS:
        eventually(lambda: told_alike(shell, line), line)  # noqa: B023 - called at once
    shell.good("vcctl job delete told")
