"""Arguments of plugins: what is read, what is ignored, what is a problem."""

import pytest

from tests.unit.job_controller.builders import job, task
from tests.unit.plugins.requests import answer
from vc.jobplugin.answers import Core
from vc.jobs.plugins.flags import parse
from vc.messages.job_plugins import Flag
from vc.messages.redaction import redact
from vc.model.compat import Compat
from vc.plugin_env.logic import EnvCore
from vc.plugin_mpi.logic import MpiCore
from vc.plugin_pytorch.logic import PytorchCore
from vc.plugin_ssh.service import SshCore
from vc.plugin_svc.logic import SvcCore
from vc.plugin_tensorflow.logic import TensorflowCore

FLAGS = (
    Flag(name="name", default="x"),
    Flag(name="on", switch=True),
    Flag(name="port", default="1", number=True, least=1, most=10),
)


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ([], {"name": "x", "on": "false", "port": "1"}),
        (["--name=y", "-on", "--port=2"], {"name": "y", "on": "true", "port": "2"}),
        (["-name", "y", "--on=false"], {"name": "y", "on": "false", "port": "1"}),
        (["--name=a=b"], {"name": "a=b", "on": "false", "port": "1"}),
    ],
    ids=["defaults", "one and two dashes", "a value of its own", "an equals sign in a value"],
)
def test_arguments(arguments: list[str], values: dict[str, str]) -> None:
    assert parse(arguments, FLAGS).values == values


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("--name", "--name needs a value"),
        ("--on=maybe", "--on=maybe: write true or false"),
        ("--port=99", "--port=99: write a number from 1 to 10"),
        ("--port=x", "--port=x: write a number"),
    ],
)
def test_a_wrong_argument_is_named(argument: str, said: str) -> None:
    assert said in parse([argument], FLAGS).problem
    upstream = parse(["--name=y", argument], FLAGS, compat=Compat.UPSTREAM)
    assert upstream.problem == ""
    assert said in upstream.ignored[0]
    defaults = {"name": "y", "on": "false", "port": "1"}
    assert upstream.values == defaults, "what cannot be used has its default"


@pytest.mark.parametrize("compat", list(Compat))
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nope=1"], ["argument '--nope' is not known and ignored; this plugin takes --name, --on, --port"]),
        (["--nope", "1", "--port=2"], ["'--nope' is not known", "argument that is no flag is not known"]),
        (["word"], ["argument that is no flag is not known and ignored"]),
        (["-----BEGIN PRIVATE KEY-----\nMIIE"], ["argument that is no flag is not known"]),
        (["--nope", "--nope"], ["'--nope' is not known"]),
    ],
)  # fmt: skip
def test_an_unknown_argument_is_ignored_and_named(
    arguments: list[str], said: list[str], compat: Compat
) -> None:
    """A job's arguments cannot be changed: to wait until they are would be to wait for ever."""
    parsed = parse(["--name=y", *arguments], FLAGS, compat=compat)
    assert parsed.problem == ""
    assert parsed.text("name") == "y"
    assert len(parsed.ignored) == len(said)
    for text, part in zip(parsed.ignored, said, strict=True):
        assert part in text
        assert "MIIE" not in text


CORES: list[Core] = [EnvCore(), SvcCore(), SshCore(), PytorchCore(), MpiCore(), TensorflowCore()]


@pytest.mark.parametrize("core", CORES, ids=[type(core).__name__ for core in CORES])
def test_every_plugin_answers_a_job_with_an_unknown_argument_and_warns(core: Core) -> None:
    tasks = [task("master", 1), task("worker", 2), task("head", 1)]
    of = job("Pending", tasks=tasks, plugins={"p": ["--no-root"]})
    decorated = answer(core, "--no-root", of=of)
    assert decorated.problem == ""
    assert decorated.decoration is not None
    (warning,) = decorated.warnings
    assert "'--no-root' is not known and ignored" in warning


def test_private_keys_are_redacted_however_they_are_written() -> None:
    written = ["--ssh-private-key=K", "-ssh-private-key", "K", "--ssh-port=2"]
    assert redact(written) == [
        "--ssh-private-key=<redacted>",
        "-ssh-private-key",
        "<redacted>",
        "--ssh-port=2",
    ]
