"""Writing kubeconfigs: one context, private, replaced atomically."""

import base64
import stat
from pathlib import Path

import pytest
import yaml

from vc.kubeconfig.access import Access, read_access
from vc.kubeconfig.writer import kubeconfig_document, write_kubeconfig


def test_the_file_is_private_and_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "kubeconfig"
    write_kubeconfig(path, "http://127.0.0.1:1")
    write_kubeconfig(path, "http://127.0.0.1:2", namespace="team-a")
    found = yaml.safe_load(path.read_text())
    assert found["clusters"][0]["cluster"]["server"] == "http://127.0.0.1:2"
    assert found["contexts"][0]["context"]["namespace"] == "team-a"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["kubeconfig"]


def test_a_failed_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_kubeconfig(path, "http://127.0.0.1:1")
    assert list(tmp_path.iterdir()) == [path]


def test_address_authority_and_token_are_read_back(tmp_path: Path) -> None:
    path = write_kubeconfig(
        tmp_path / "k", "https://127.0.0.1:1", ca_pem=b"PEM", user_name="admin", token="secret"
    )
    assert read_access([path]) == Access(server="https://127.0.0.1:1", ca_pem="PEM", token="secret")


def test_a_user_without_credentials_has_an_empty_entry() -> None:
    document = kubeconfig_document("http://here", ca_pem=b"PEM")
    assert document["users"] == [{"name": "pyroclast", "user": {}}]
    authority = document["clusters"][0]["cluster"]["certificate-authority-data"]
    assert base64.b64decode(authority) == b"PEM"
