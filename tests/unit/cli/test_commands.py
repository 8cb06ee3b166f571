"""The command line teaches, and fails in one line."""

import subprocess
import sys

import pytest

from vc.cli.pyroclast import main
from vc.cli.tables import render


def test_help_names_every_command_and_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main.main(["--help"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    for word in (
        "demo",
        "up",
        "run",
        "stack",
        "stack-down",
        "status",
        "PYROCLAST_API_PORT",
        "KAFKA_BOOTSTRAP_SERVERS",
    ):
        assert word in shown


def test_an_unknown_service_is_an_error_that_lists_the_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as caught:
        main.main(["run", "wacther"])
    assert caught.value.code == 1
    shown = capsys.readouterr().err
    assert "'wacther'" in shown
    assert "watcher" in shown
    assert "Traceback" not in shown


def test_a_port_that_is_none_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYROCLAST_API_PORT", "high")
    with pytest.raises(SystemExit):
        main.main(["up"])
    assert "PYROCLAST_API_PORT='high' is not a port" in capsys.readouterr().err


def test_vcctl_imports_nothing_heavy() -> None:
    code = (
        "import sys, vc.cli.vcctl.main;"
        "print([m for m in ('asyncio', 'aiohttp', 'numpy', 'kubernetes_asyncio', 'msgspec')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_table_fits_the_width_it_is_given() -> None:
    text = render(("JOB", "PHASE"), [("a" * 100, "Completed")], width=40, colour=False)
    assert all(len(line) <= 40 for line in text.splitlines())
