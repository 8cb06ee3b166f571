"""The commands for stacks of many processes fail in one line that says what to write."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
import yaml

from vc.cli.pyroclast import main
from vc.cli.pyroclast.simcluster import ProxiedService
from vc.runtime.hosting.listening import url_of

START_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 10.0


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main.main(arguments)
    assert caught.value.code == 1
    shown = capsys.readouterr().err
    assert "Traceback" not in shown
    assert len(shown.splitlines()) == 1
    return shown


def test_an_unknown_cluster_is_an_error_that_lists_the_known(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUSTER", "moon")
    assert "CLUSTER='moon': write embedded, kubernetes, given" in fails(capsys, "stack")


def test_an_unknown_service_is_an_error_that_lists_the_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "no service 'wacther'; there are watcher" in fails(capsys, "stack", "wacther")


def test_a_given_cluster_must_be_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUSTER", "given")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert "CLUSTER=given needs KUBECONFIG" in fails(capsys, "stack")


def test_a_busy_port_is_said_before_anything_is_started(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        monkeypatch.setenv("PYROCLAST_HOME", str(tmp_path))
        monkeypatch.setenv("PYROCLAST_API_PORT", str(port))
        said = fails(capsys, "stack")
        assert f"port {port} is in use by pid {os.getpid()} (" in said
        assert "); set PYROCLAST_API_PORT to another one, or to 0 for any" in said
    assert [path.name for path in tmp_path.iterdir()] == ["stack.lock"]


def test_an_address_that_is_not_this_machines_is_said_before_anything_is_started(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYROCLAST_HOME", str(tmp_path))
    monkeypatch.setenv("PYROCLAST_API_PORT", "0")
    monkeypatch.setenv("PYROCLAST_DASHBOARD_PORT", "0")
    monkeypatch.setenv("DASHBOARD_HOST", "203.0.113.7")
    assert "cannot listen on 203.0.113.7:0: Cannot assign" in fails(capsys, "stack")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("192.0.2.7", "http://192.0.2.7:80"),
        ("2001:db8::7", "http://[2001:db8::7]:80"),
        ("::", "http://[::1]:80"),
    ],
)
def test_where_this_machine_finds_the_dashboard(host: str, url: str) -> None:
    assert url_of(host, 80) == url


@pytest.mark.parametrize("command", ["status", "stack-down"])
def test_without_a_stack_the_commands_say_how_to_start_one(
    command: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("PYROCLAST_HOME", str(tmp_path))
    assert "`pyroclast stack` starts one" in fails(capsys, command)


@pytest.mark.parametrize(
    "text", ["", "a/b", "a/b:80", "b:80=http://x", "a/b:80=tcp://x"], ids=lambda t: t or "nothing"
)
def test_a_service_that_cannot_be_read_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="write namespace/name:port=http://host:port"):
        ProxiedService.parse(text)


def test_a_service_is_read() -> None:
    parsed = ProxiedService.parse("ns/dashboard:80=http://127.0.0.1:8080")
    assert (parsed.namespace, parsed.name, parsed.port) == ("ns", "dashboard", "80")
    assert parsed.base_url == "http://127.0.0.1:8080"


def test_the_embedded_cluster_runs_alone_in_a_process_and_ends_when_told(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    process = subprocess.Popen(
        [sys.executable, "-m", "vc.cli.pyroclast.main", "simcluster"]
        + ["--port", "0", "--kubeconfig", str(kubeconfig)],
        stdout=subprocess.DEVNULL,
    )
    try:
        for _ in range(int(START_SECONDS_MAX / 0.1)):
            if kubeconfig.exists():
                break
            time.sleep(0.1)
        server = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        with urllib.request.urlopen(f"{server}/readyz", timeout=5) as answer:
            assert answer.status == 200
        with urllib.request.urlopen(f"{server}/api/v1/nodes", timeout=5) as answer:
            assert len(json.load(answer)["items"]) == 8
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_SECONDS_MAX) == 0
