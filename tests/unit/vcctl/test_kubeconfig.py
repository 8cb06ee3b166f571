"""Which cluster, and as whom."""

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from vc.cli.vcctl.api.errors import NoClusterError
from vc.cli.vcctl.api.kubeconfig import Access, find_access, read_access


def write(folder: Path, *, cluster: dict[str, Any], user: dict[str, Any]) -> Path:
    file = folder / "config"
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "https://here:6443", **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file.write_text(yaml.safe_dump(config))
    return file


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_data_and_files_and_tokens(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("KEY")
    (tmp_path / "token").write_text("secret\n")
    file = write(
        tmp_path,
        cluster={"certificate-authority-data": encoded("CA"), "insecure-skip-tls-verify": True},
        user={
            "client-certificate-data": encoded("CERT"),
            "client-key": "key.pem",
            "tokenFile": "token",
        },
    )
    assert read_access([file]) == Access(
        server="https://here:6443", ca_pem="CA", cert_pem="CERT", key_pem="KEY", token="secret",
        verify=False,
    )  # fmt: skip


def test_a_program_may_give_the_credentials(tmp_path: Path) -> None:
    program = (
        "import json, os; info = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
        "print(json.dumps({'kind': info['kind'], 'status': {'token': os.environ['WHO']}}))"
    )
    plugin = {
        "command": sys.executable,
        "args": ["-c", program],
        "env": [{"name": "WHO", "value": "me"}],
    }
    file = write(tmp_path, cluster={}, user={"exec": plugin})
    assert read_access([file]).token == "me"


@pytest.mark.parametrize(
    ("plugin", "says"),
    [
        ({"command": "no-such-program", "installHint": "get it"}, "get it"),
        ({"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}, "exit code 3"),
        ({"command": sys.executable, "args": ["-c", "print('hi')"]}, "not an ExecCredential"),
        ({"command": sys.executable, "args": ["-c", "print('{}')"]}, "gave no credentials"),
    ],
)
def test_a_program_that_fails_is_said(tmp_path: Path, plugin: dict[str, Any], says: str) -> None:
    file = write(tmp_path, cluster={}, user={"exec": plugin})
    with pytest.raises(NoClusterError, match=says):
        read_access([file])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not YAML"),
        ("just words", "not a kubeconfig"),
        ("{}", "no current-context"),
        (json.dumps({"current-context": "x"}), "no context 'x'"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(NoClusterError, match=says) as caught:
        read_access([file])
    assert str(file) in str(caught.value)


def test_flags_come_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, cluster={}, user={"token": "t"})
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'absent'}:{file}")
    assert find_access(master="", kubeconfig="").token == "t"
    both = find_access(master="http://there", kubeconfig=str(file))
    assert (both.server, both.token) == ("http://there", "t")
    with pytest.raises(NoClusterError, match="No such file"):
        find_access(master="", kubeconfig=str(tmp_path / "absent"))


def test_without_anything_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_access(master="http://there", kubeconfig="") == Access(server="http://there")
    with pytest.raises(NoClusterError, match=r"-k or KUBECONFIG.*make up"):
        find_access(master="", kubeconfig="")


def test_the_servers_name_and_the_way_to_it_are_read(tmp_path: Path) -> None:
    cluster = {"tls-server-name": "kubernetes", "proxy-url": "http://proxy:3128"}
    access = read_access([write(tmp_path, cluster=cluster, user={})])
    assert (access.tls_server_name, access.proxy_url) == ("kubernetes", "http://proxy:3128")
