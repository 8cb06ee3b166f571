"""Which cluster a command uses: flags, KUBECONFIG, ~/.kube/config, the pod's service account."""

from pathlib import Path

import pytest

from tests.unit.kubeconfig.files import write_config
from vc.cli.vcctl.api import access as chosen
from vc.cli.vcctl.api.access import find_access
from vc.cli.vcctl.api.errors import NoClusterError
from vc.kubeconfig.access import Access


@pytest.fixture(autouse=True)
def _clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_flags_come_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_config(tmp_path, user={"token": "t"})
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'absent'}:{file}")
    assert find_access(master="", kubeconfig="").token == "t"
    both = find_access(master="http://there", kubeconfig=str(file))
    assert (both.server, both.token) == ("http://there", "t")
    with pytest.raises(NoClusterError, match="No such file"):
        find_access(master="", kubeconfig=str(tmp_path / "absent"))


def test_the_file_in_the_home_folder_comes_last(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".kube"
    folder.mkdir(parents=True)
    write_config(folder, user={"token": "home"})
    assert find_access(master="", kubeconfig="").token == "home"


def test_a_pod_uses_its_service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("mounted\n")
    (tmp_path / "ca.crt").write_text("CA")
    monkeypatch.setattr(chosen, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    access = find_access(master="", kubeconfig="")
    assert access == Access(server="https://[fd00::1]:443", ca_pem="CA", token="mounted")


def test_without_any_configuration_the_error_lists_the_options() -> None:
    assert find_access(master="http://there", kubeconfig="") == Access(server="http://there")
    with pytest.raises(NoClusterError, match=r"-k or KUBECONFIG.*make up"):
        find_access(master="", kubeconfig="")


def test_an_error_of_the_kubeconfig_is_an_error_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("{}")
    with pytest.raises(NoClusterError, match="current-context: not set"):
        find_access(master="", kubeconfig=str(file))
