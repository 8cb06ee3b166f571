"""The command line: every command leads somewhere, and `-n` means what the documents say."""

import argparse

import pytest

from vc.cli.vcctl import slurm
from vc.cli.vcctl.api import resources
from vc.cli.vcctl.api.errors import UsageError
from vc.cli.vcctl.entry import command_of
from vc.cli.vcctl.parser import vcctl_parser
from vc.cli.vcctl.parser_options import target_of
from vc.model.api import keys, kinds


def leaves(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return [leaf for child in action.choices.values() for leaf in leaves(child)]
    return [parser]


def test_every_command_leads_to_a_function() -> None:
    parsers = leaves(vcctl_parser())
    assert len(parsers) > 20
    for parser in parsers:
        assert callable(command_of(parser.get_default("command"))), parser.prog


def test_every_slurm_like_tool_leads_to_a_function() -> None:
    for parser in (slurm.vsub_parser(), slurm.vjobs_parser(), slurm.vqueues_parser()):
        assert callable(command_of(parser.get_default("command")))


TARGETS = [
    ("-n alone is the name", ["-n", "my-job"], ("default", "my-job")),
    ("a word is the name", ["my-job"], ("default", "my-job")),
    ("-N names, -n is the namespace", ["-N", "my-job", "-n", "ml"], ("ml", "my-job")),
    ("a word names, -n is the namespace", ["my-job", "-n", "ml"], ("ml", "my-job")),
    ("the order does not matter", ["-n", "ml", "my-job"], ("ml", "my-job")),
    ("letters may stick together", ["-nml", "-Nmy-job"], ("ml", "my-job")),
    ("-n alone, stuck together", ["-nmy-job"], ("default", "my-job")),
    ("the long form is a namespace", ["--namespace", "ml", "--name", "my-job"], ("ml", "my-job")),
]


@pytest.mark.parametrize("command", ["view", "suspend", "resume", "delete", "explain", "timeline"])
@pytest.mark.parametrize(
    ("words", "expected"), [case[1:] for case in TARGETS], ids=[case[0] for case in TARGETS]
)
def test_which_job_is_meant(command: str, words: list[str], expected: tuple[str, str]) -> None:
    target = target_of(vcctl_parser().parse_args(["job", command, *words]), "job")
    assert target[:2] == expected


@pytest.mark.parametrize("words", [[], ["--namespace", "ml"]])
def test_no_name_is_a_question_back(words: list[str]) -> None:
    with pytest.raises(UsageError, match="which job"):
        target_of(vcctl_parser().parse_args(["job", "view", *words]), "job")


def test_the_table_of_resources_is_the_models() -> None:
    known = {
        (kind.api_version, kind.kind): kind
        for kind in vars(kinds).values()
        if isinstance(kind, kinds.Kind)
    }
    for resource in resources.ALL:
        kind = known[resource.api_version, resource.kind]
        assert (resource.plural, resource.namespaced) == (kind.plural, kind.namespaced)
        assert resource.path("ns", "x") == kind.path("ns", "x")
    for name in ("JOB_NAME", "JOB_TYPE", "QUEUE_NAME", "TASK_SPEC", "DEFAULT_QUEUE"):
        assert getattr(resources, name) == getattr(keys, name)


@pytest.mark.parametrize("parser", leaves(vcctl_parser()), ids=lambda parser: str(parser.prog))
def test_every_command_takes_the_global_flags(parser: argparse.ArgumentParser) -> None:
    known = {word for action in parser._actions for word in action.option_strings}
    assert {"-s", "--master", "-k", "--kubeconfig"} <= known
