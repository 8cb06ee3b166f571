"""Credential plugins of a kubeconfig (client.authentication.k8s.io)."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.kubeconfig.files import write_config
from vc.kubeconfig.access import read_access
from vc.kubeconfig.reader import KubeconfigError, read_context


def test_a_plugin_gets_its_input_and_returns_a_token(tmp_path: Path) -> None:
    program = (
        "import json, os; info = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
        "print(json.dumps({'kind': info['kind'], 'status': {'token': os.environ['WHO']}}))"
    )
    plugin = {
        "command": sys.executable,
        "args": ["-c", program],
        "env": [{"name": "WHO", "value": "me"}],
    }
    file = write_config(tmp_path, user={"exec": plugin})
    assert read_access([file]).token == "me"


def test_a_plugin_may_return_a_client_certificate(tmp_path: Path) -> None:
    program = 'print(\'{"status":{"clientCertificateData":"CERT","clientKeyData":"KEY"}}\')'
    plugin = {"command": sys.executable, "args": ["-c", program]}
    access = read_access([write_config(tmp_path, user={"exec": plugin})])
    assert (access.cert_pem, access.key_pem, access.token) == ("CERT", "KEY", "")


def test_a_plugin_is_not_run_if_the_kubeconfig_has_a_token(tmp_path: Path) -> None:
    user = {"token": "own", "exec": {"command": "no-such-program"}}
    assert read_access([write_config(tmp_path, user=user)]).token == "own"


@pytest.mark.parametrize(
    ("command", "is_relative_to_the_file"),
    [("bin/login", True), ("./login", True), ("login", False), ("/opt/login", False)],
)
def test_a_command_with_a_separator_is_relative_to_the_file(
    tmp_path: Path, command: str, is_relative_to_the_file: bool
) -> None:
    file = write_config(tmp_path, user={"exec": {"command": command}})
    found = read_context([file]).user["exec"]["command"]
    assert found == (str(tmp_path / command) if is_relative_to_the_file else command)


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        ({"command": "no-such-program", "installHint": "get it"}, "No such file.*; get it"),
        ({"command": "no-such-program"}, "is it installed"),
        ({"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}, "exit code 3"),
        ({"command": sys.executable, "args": ["-c", "print('hi')"]}, "not an ExecCredential"),
        ({"command": sys.executable, "args": ["-c", "print('[]')"]}, "not an ExecCredential"),
        ({"command": sys.executable, "args": ["-c", "print('{}')"]}, "returned no credentials"),
    ],
)
def test_a_failing_plugin_is_named_with_its_field(
    tmp_path: Path, plugin: dict[str, Any], message: str
) -> None:
    file = write_config(tmp_path, user={"exec": plugin})
    with pytest.raises(KubeconfigError, match=message) as caught:
        read_access([file])
    assert str(caught.value).startswith(f"{file}: users[u].user.exec: credentials plugin ")
