"""Reading kubeconfigs: merging files, selecting a context, and errors that say what to change."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.unit.kubeconfig.files import config, encoded, write_config, write_yaml
from vc.kubeconfig.access import Access, read_access
from vc.kubeconfig.reader import (
    KUBECONFIG_BYTES_MAX,
    KubeconfigError,
    kubeconfig_files,
    read_context,
)


def test_inline_data_files_and_token_files(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("KEY")
    (tmp_path / "token").write_text("secret\n")
    file = write_config(
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


def test_inline_data_takes_precedence_over_a_file(tmp_path: Path) -> None:
    cluster = {
        "certificate-authority": "does-not-exist",
        "certificate-authority-data": encoded("DATA"),
    }
    assert read_access([write_config(tmp_path, cluster=cluster)]).ca_pem == "DATA"


def test_server_name_proxy_and_password(tmp_path: Path) -> None:
    cluster = {"tls-server-name": "kubernetes", "proxy-url": "http://proxy:3128"}
    user = {"username": "me", "password": "p"}
    access = read_access([write_config(tmp_path, cluster=cluster, user=user)])
    assert (access.tls_server_name, access.proxy_url) == ("kubernetes", "http://proxy:3128")
    assert access.basic == "me:p"


def test_paths_are_relative_to_the_file_that_defines_the_entry(tmp_path: Path) -> None:
    """As in kubectl: each file of KUBECONFIG is the base of its own paths."""
    first, second = tmp_path / "one", tmp_path / "two"
    first.mkdir()
    second.mkdir()
    (first / "ca.pem").write_text("FIRST")
    (second / "token").write_text("SECOND")
    whole = config(cluster={"certificate-authority": "ca.pem"}, user={"tokenFile": "token"})
    users = {"users": whole.pop("users")}
    files = [write_yaml(first / "config", whole), write_yaml(second / "config", users)]
    access = read_access(files)
    assert (access.ca_pem, access.token) == ("FIRST", "SECOND")


def test_the_first_file_that_defines_something_decides(tmp_path: Path) -> None:
    second = config(server="https://second")
    second["current-context"] = "other"
    files = [
        write_yaml(tmp_path / "a", config(server="https://first")),
        write_yaml(tmp_path / "b", second),
    ]
    assert read_access(files).server == "https://first"


def test_a_context_other_than_the_current_one(tmp_path: Path) -> None:
    document = config()
    document["clusters"].append({"name": "d", "cluster": {"server": "https://there"}})
    document["contexts"].append({"name": "y", "context": {"cluster": "d", "namespace": "team"}})
    selected = read_context([write_yaml(tmp_path / "k", document)], context="y")
    assert selected.cluster["server"] == "https://there"
    assert (selected.namespace, selected.user) == ("team", {})


def test_the_document_of_a_context_is_a_kubeconfig_with_that_context_only(tmp_path: Path) -> None:
    document = config(user={"token": "t"})
    document["users"].append({"name": "other", "user": {"token": "not copied"}})
    selected = read_context([write_yaml(tmp_path / "k", document)])
    again = write_yaml(tmp_path / "derived", selected.document())
    assert read_context([again])._replace(source="") == selected._replace(source="")
    assert "not copied" not in again.read_text()


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A kubeconfig that cannot be used, and the message after the file's name."""

    id: str
    document: Any
    message: str


def _changed(**changes: Any) -> dict[str, Any]:
    return {**config(), **changes}


BROKEN = (
    Broken(id="a list", document=[], message="not a kubeconfig, which has clusters, users and contexts; name another file"),
    Broken(
        id="no current context",
        document=_changed(**{"current-context": ""}),
        message="current-context: not set; choose one with `kubectl config use-context NAME`",
    ),
    Broken(
        id="a current context that does not exist",
        document=_changed(**{"current-context": "y"}),
        message="current-context: there is no context 'y'; use one of x",
    ),
    Broken(
        id="no contexts at all",
        document={"current-context": "y"},
        message="current-context: there is no context 'y'; there is no context at all",
    ),
    Broken(
        id="a cluster that does not exist",
        document=_changed(clusters=[{"name": "d", "cluster": {}}, {"name": "e", "cluster": {}}]),
        message="contexts[x].context.cluster: there is no cluster 'c'; use one of d, e",
    ),
    Broken(
        id="a user that does not exist",
        document=_changed(users=None),
        message="contexts[x].context.user: there is no user 'u'; there is no user at all",
    ),
    Broken(
        id="a cluster without a server",
        document=_changed(clusters=[{"name": "c", "cluster": {}}]),
        message="clusters[c].cluster.server: not set; write the URL of the API server, such as https://host:6443",
    ),
    Broken(
        id="a server that is a number",
        document=_changed(clusters=[{"name": "c", "cluster": {"server": 6443}}]),
        message="clusters[c].cluster.server: not a string; put it in quotes",
    ),
    Broken(
        id="contexts that are no list",
        document=_changed(contexts={"x": {}}),
        message="contexts: not a list; write entries with `name` and `context`",
    ),
    Broken(
        id="a user that is no object",
        document=_changed(users=[{"name": "u", "user": "token"}]),
        message="users[u].user: not an object; write its fields",
    ),
    Broken(
        id="data that is not base64",
        document=config(user={"client-key-data": "%%%"}),
        message="users[u].user.client-key-data: not base64 of PEM text; encode the PEM file with `base64 -w0`, or name the file in client-key",
    ),
)  # fmt: skip


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.id)
def test_an_error_names_the_file_the_field_and_the_fix(tmp_path: Path, case: Broken) -> None:
    file = tmp_path / "config"
    file.write_text(json.dumps(case.document))
    with pytest.raises(KubeconfigError) as caught:
        read_access([file])
    assert str(caught.value) == f"{file}: {case.message}"


def test_invalid_yaml_is_reported_with_its_position(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("clusters:\n  - {")
    with pytest.raises(KubeconfigError, match=r"config: not YAML: .*line 3.*; correct the file"):
        read_access([file])


def test_a_file_that_an_entry_names_is_reported_with_the_field(tmp_path: Path) -> None:
    file = write_config(tmp_path, user={"client-certificate": "absent.pem"})
    with pytest.raises(KubeconfigError) as caught:
        read_access([file])
    assert str(caught.value) == (
        f"{tmp_path}/absent.pem: No such file or directory; "
        "name a readable file in users[u].user.client-certificate"
    )


def test_files_that_are_too_large_or_binary_are_refused(tmp_path: Path) -> None:
    large, binary = tmp_path / "large", tmp_path / "binary"
    large.write_bytes(b" " * (KUBECONFIG_BYTES_MAX + 1))
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(KubeconfigError, match="large: larger than"):
        read_access([large])
    with pytest.raises(KubeconfigError, match="binary: not UTF-8"):
        read_access([binary])


def test_missing_files_of_a_list_are_skipped_unless_all_are_missing(tmp_path: Path) -> None:
    present = write_config(tmp_path)
    absent = tmp_path / "absent"
    assert kubeconfig_files(f"{absent}:{present}") == [present]
    assert kubeconfig_files(f"{absent}:{absent}2") == [absent]
    assert kubeconfig_files("") == []


def test_an_empty_file_is_a_kubeconfig_without_entries(tmp_path: Path) -> None:
    """kubectl creates such files; the next file of KUBECONFIG supplies the entries."""
    empty = tmp_path / "empty"
    empty.touch()
    assert read_access([empty, write_config(tmp_path)]).server == "https://here:6443"


def test_the_reader_loads_neither_kubernetes_asyncio_nor_asyncio() -> None:
    """vcctl starts with it. PyYAML is loaded by the first file only."""
    script = (
        "import sys, vc.kubeconfig.access;"
        "print([m for m in ('asyncio', 'kubernetes_asyncio', 'msgspec', 'yaml') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
