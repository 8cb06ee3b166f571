"""The command line of every service: help, version, check, and what is refused."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from vc.bus.kafka import KafkaConfig
from vc.cli.pyroclast import main
from vc.cli.pyroclast.services import SERVICES, program_of
from vc.cli.vcctl import slurm
from vc.cli.vcctl.main import main as vcctl
from vc.model.variables import AnyVariable
from vc.runtime.hosting.variables import KAFKA_TOPIC_PREFIX, KAFKA_VARIABLES, SHARED_VARIABLES
from vc.runtime.program import Program, run_program
from vc.runtime.program.command_line import help_of

ROOT = Path(__file__).parents[3]

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
users: [{{name: u, user: {{token: very-secret}}}}]
current-context: c
"""


class Recorded(Mapping[str, str]):
    """An environment that remembers what was asked of it."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Without what this machine says to services."""
    for service in SERVICES:
        for variable in (*program_of(service).variables, *SHARED_VARIABLES):
            monkeypatch.delenv(variable.name, raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    return monkeypatch


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A server that nobody may come to."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.fixture
def valid(clean: pytest.MonkeyPatch, tmp_path: Path, listening: socket.socket) -> None:
    """An environment that every service could start in."""
    port = listening.getsockname()[1]
    (tmp_path / "kubeconfig").write_text(KUBECONFIG.format(port=port))
    clean.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    clean.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{port}")
    clean.setenv("KAFKA_SASL_PASSWORD", "very-secret")
    clean.setenv("REDIS_URL", f"redis://:very-secret@127.0.0.1:{port}/0")


def left_with(program: Program, *arguments: str) -> int:
    """The exit code."""
    with pytest.raises(SystemExit) as left:
        run_program(program, arguments)
    return int(left.value.code or 0)


@pytest.mark.parametrize("service", SERVICES)
def test_help_names_every_variable_with_its_default_and_its_meaning(
    service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = program_of(service)
    assert program.service == service
    assert left_with(program, "--help") == 0
    told = capsys.readouterr().out
    assert told == help_of(program)
    assert told.startswith(f"usage: vc-{service} ")
    plain = " ".join(told.split())
    assert program.purpose in plain
    for variable in (*program.variables, *SHARED_VARIABLES):
        default = f" ({variable.shown})" if variable.shown else ""
        assert variable.meaning
        assert f" {variable.name}{default} {variable.meaning}" in plain


@pytest.mark.parametrize("service", SERVICES)
def test_the_variables_that_are_declared_are_those_that_are_read(service: str) -> None:
    program, env = program_of(service), Recorded()
    program.read(env)
    shared = {variable.name for variable in SHARED_VARIABLES}
    assert env.asked - shared == {variable.name for variable in program.variables}


def test_the_variables_of_kafka_are_those_that_its_configuration_reads() -> None:
    read = {f"KAFKA_{field.upper()}" for field in KafkaConfig.__struct_fields__}
    assert {variable.name for variable in KAFKA_VARIABLES} == read | {KAFKA_TOPIC_PREFIX.name}


def _environment_of_readme(service: str) -> str:
    text = (ROOT / "services" / service / "README.md").read_text()
    return "Environment:" + text.split("\nEnvironment:")[1].split("\n\n")[0]


@pytest.mark.parametrize("service", SERVICES)
def test_the_readme_names_the_same_variables_and_defaults(service: str) -> None:
    told = _environment_of_readme(service)
    own = {variable.name: variable.shown for variable in program_of(service).variables}
    found = re.findall(r"`([A-Z_]+)`(?:\s\(([^,;)]*))?", told)
    assert sorted(name for name, _ in found) == sorted(own)
    for name, default in found:
        assert default == own[name], f"{name} has the default {own[name]!r}"


@pytest.mark.parametrize("service", SERVICES)
def test_the_version_is_the_installed_one(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert left_with(program_of(service), "--version") == 0
    assert capsys.readouterr().out == f"vc-{service} {version('pyroclast')}\n"


@pytest.mark.parametrize("arguments", [["--no-such"], ["start"], ["--chec"], ["--check", "now"]])
@pytest.mark.parametrize("service", SERVICES)
def test_unknown_arguments_are_refused_with_a_usage_line(
    service: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert left_with(program_of(service), *arguments) == 2
    said = capsys.readouterr()
    assert not said.out
    assert said.err.startswith(f"usage: vc-{service} [-h] [--version] [--check]\n")
    assert "unrecognized arguments" in said.err


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.usefixtures("valid")
def test_check_shows_what_it_would_use_and_neither_connects_nor_shows_secrets(
    service: str, listening: socket.socket, capsys: pytest.CaptureFixture[str]
) -> None:
    program = program_of(service)
    assert left_with(program, "--check") == 0
    said = capsys.readouterr()
    assert "the configuration is valid" in said.out
    assert "very-secret" not in said.out + said.err
    for variable in (*program.variables, *SHARED_VARIABLES):
        assert f"  {variable.name} " in said.out
    with pytest.raises(BlockingIOError):
        listening.accept()


def _wrong(variable: AnyVariable) -> str | None:
    """A text that the variable does not take; None where every text is good."""
    for text in ("\x01no", "1e999"):
        try:
            variable.read({variable.name: text})
        except ValueError:
            return text
    return None


@pytest.mark.parametrize("service", SERVICES)
def test_every_bad_value_is_named_with_its_fix_at_once_and_nothing_starts(
    service: str, valid: None, clean: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = program_of(service)
    bad = {
        variable.name: wrong
        for variable in (*program.variables, *SHARED_VARIABLES)
        if (wrong := _wrong(variable)) is not None
    }
    assert {"HEALTH_PORT", "LOG_LEVEL", "LOG_FORMAT", "KAFKA_SECURITY_PROTOCOL"} <= set(bad)
    for name, text in bad.items():
        clean.setenv(name, text)
    for arguments in (["--check"], []):
        assert left_with(program, *arguments) == 1
        said = capsys.readouterr()
        assert not said.out
        assert "Traceback" not in said.err
        for name, text in bad.items():
            assert f"vc-{service}: {name}={text!r}: write " in said.err


@pytest.mark.parametrize("service", SERVICES)
def test_a_misspelt_variable_is_named(
    service: str, valid: None, clean: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = program_of(service)
    clean.setenv(f"{program.prefix}NO_SUCH_THING", "1")
    assert left_with(program, "--check") == 0
    assert f"warning: {program.prefix}NO_SUCH_THING is set" in capsys.readouterr().err


def test_a_misspelt_variable_comes_with_the_one_that_was_meant(
    valid: None, clean: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clean.setenv("SCHEDULER_THREDS", "false")
    assert left_with(program_of("scheduler"), "--check") == 0
    assert "did you mean SCHEDULER_THREADS?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("service", "env", "says"),
    [
        ("scheduler", {"SCHEDULER_CONF": "/no/such.conf"}, "SCHEDULER_CONF='/no/such.conf'"),
        ("scheduler", {"SCHEDULER_CONF": "{bad}"}, "tiers: must be a list"),
        ("admission", {"ADMISSION_TLS_CERT_FILE": "{bad}"}, "go together"),
        (
            "admission",
            {"ADMISSION_TLS_CERT_FILE": "{bad}", "ADMISSION_TLS_KEY_FILE": "{bad}"},
            "not a PEM certificate",
        ),
        ("admission", {"ADMISSION_CA_FILE": "{bad}"}, "no PEM certificates"),
        ("watcher", {"KUBECONFIG": "/no/such"}, "KUBECONFIG='/no/such': there is no such file"),
        ("watcher", {"KUBECONFIG": "{bad}"}, "is not a kubeconfig"),
        ("watcher", {"KUBECONFIG": ""}, "KUBECONFIG is not set"),
        ("watcher", {"REDIS_URL": "localhost:6379"}, "write redis://host:port/db"),
        ("watcher", {"OTEL_EXPORTER_OTLP_ENDPOINT": "here:4318"}, "write http://host:port"),
        ("watcher", {"KAFKA_SSL_CAFILE": "/no/such"}, "KAFKA_SSL_CAFILE='/no/such'"),
        (
            "watcher",
            {"KAFKA_SSL_CAFILE": "{bad}", "KAFKA_SECURITY_PROTOCOL": "SSL"},
            "Kafka's settings",
        ),
    ],
    ids=lambda part: "-".join(part) if isinstance(part, dict) else "",
)
def test_check_looks_into_the_files_and_addresses(
    service: str,
    env: dict[str, str],
    says: str,
    valid: None,
    clean: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad = tmp_path / "bad"
    bad.write_text('actions: "enqueue, dance"\n')
    for name, text in env.items():
        clean.setenv(name, text.format(bad=bad))
    assert left_with(program_of(service), "--check") == 1
    said = capsys.readouterr()
    assert says in said.err
    assert "Traceback" not in said.err


def test_help_imports_no_client_library() -> None:
    """Help must be there at once."""
    script = (
        "import importlib, json, sys\n"
        f"for package in {list(SERVICES.values())!r}:\n"
        "    main = importlib.import_module(f'{package}.__main__')\n"
        "    from vc.runtime.program.command_line import help_of\n"
        "    help_of(main.PROGRAM)\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    heavy = {"aiokafka", "kubernetes_asyncio", "aiohttp", "redis", "numpy", "opentelemetry"}
    assert not heavy & set(json.loads(ran.stdout))


def test_several_services_in_one_process_are_checked_before_they_start(
    valid: None, clean: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clean.setenv("WATCHER_PAGE_SIZE", "none")
    clean.setenv("SCHEDULER_THREADS", "perhaps")
    with pytest.raises(SystemExit) as left:
        main.main(["run", "watcher", "scheduler"])
    assert left.value.code == 1
    said = capsys.readouterr().err
    assert "pyroclast: WATCHER_PAGE_SIZE='none': write a number from 1 to 10000" in said
    assert "pyroclast: SCHEDULER_THREADS='perhaps': write true or false" in said


OTHERS = {
    **{f"pyroclast {c}": (main.main, [c]) for c in ("demo", "up", "stack", "status")},
    "pyroclast stack-down": (main.main, ["stack-down"]),
    "pyroclast simcluster": (main.main, ["simcluster"]),
    "pyroclast run": (main.main, ["run", "watcher"]),
    "vcctl": (vcctl, ["job", "list"]),
    "vsub": (slurm.vsub, []),
    "vjobs": (slurm.vjobs, []),
    "vqueues": (slurm.vqueues, []),
    "vcancel": (slurm.vcancel, ["x"]),
    "vsuspend": (slurm.vsuspend, ["x"]),
    "vresume": (slurm.vresume, ["x"]),
}


@pytest.mark.parametrize("command", OTHERS)
def test_the_other_commands_refuse_unknown_arguments_too(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main, arguments = OTHERS[command]
    with pytest.raises(SystemExit) as left:
        main([*arguments, "--no-such-flag"])
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("usage: ")
    assert "--no-such-flag" in said
