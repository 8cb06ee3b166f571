"""The global log flags and `help` of Volcano's vcctl: taken, checked, and never silently ignored."""

import argparse

import pytest

from tests.unit.vcctl.server import Answer, Asked, answer, serving
from tests.unit.vcctl.test_parser import leaves
from vc.cli.vcctl import slurm
from vc.cli.vcctl.main import main
from vc.cli.vcctl.parser import vcctl_parser

FLAGS = {"-v", "--v", "--vmodule", "--log-flush-frequency"}


def nothing(asked: Asked) -> Answer:
    return answer({"items": [], "metadata": {}})


def left_with(*words: str) -> object:
    with pytest.raises(SystemExit) as left:
        main(words)
    return left.value.code


@pytest.mark.parametrize(
    "parser",
    [
        *leaves(vcctl_parser()),
        slurm.vsub_parser(),
        slurm.vjobs_parser(),
        slurm.vqueues_parser(),
    ],
    ids=lambda parser: str(parser.prog),
)
def test_every_command_takes_the_log_flags(parser: argparse.ArgumentParser) -> None:
    assert {word for action in parser._actions for word in action.option_strings} >= FLAGS


@pytest.mark.parametrize("words", [["-v", "3"], ["-v=3"], ["--v", "1"], ["--v=10"]], ids=" ".join)
@pytest.mark.parametrize("before", [True, False], ids=["before the command", "after it"])
def test_a_level_shows_the_requests_and_no_token(
    words: list[str], before: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(nothing) as (url, _):
        command = ["queue", "list", "-s", url]
        assert left_with(*([*words, *command] if before else [*command, *words])) == 0
    shown = capsys.readouterr().err
    path = "/apis/scheduling.volcano.sh/v1beta1/queues?limit=500"
    assert f"GET {url}{path}: 200\n" in shown
    assert "Bearer" not in shown


@pytest.mark.parametrize("words", [[], ["-v", "0"]], ids=["nothing", "-v 0"])
def test_without_a_level_nothing_is_shown(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(nothing) as (url, _):
        assert left_with("queue", "list", "-s", url, *words) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--vmodule", "client=3,job*=1"], "--vmodule has no effect"),
        (["--log-flush-frequency", "5s"], "--log-flush-frequency has no effect"),
        (["--log-flush-frequency=1m30s"], "--log-flush-frequency has no effect"),
    ],
)
def test_what_has_no_effect_says_so_in_one_line(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(nothing) as (url, _):
        assert left_with("job", "list", "-s", url, *words) == 0
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"vcctl: warning: {says}: ")


@pytest.mark.parametrize(
    "words",
    [["-v", "loud"], ["-v=-1"], ["--vmodule", "client"], ["--log-flush-frequency", "soon"]],
    ids=" ".join,
)
def test_a_value_that_cannot_be_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert left_with("job", "list", *words) == 2
    assert "usage: " in capsys.readouterr().err


@pytest.mark.parametrize("topic", [[], ["job"], ["job", "run"], ["queue", "operate"], ["help"]])
def test_help_is_that_of_the_command(topic: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert left_with("help", *topic) == 0
    helped = capsys.readouterr().out
    assert left_with(*topic, "--help") == 0
    assert helped == capsys.readouterr().out
    assert helped.startswith("usage: vcctl")


@pytest.mark.parametrize("topic", [["jobs"], ["job", "fly"], ["job", "run", "now"]])
def test_help_about_what_does_not_exist_is_refused(
    topic: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert left_with("help", *topic) == 2
    assert f"there is no command {' '.join(topic)!r}" in capsys.readouterr().err
