"""The kubeconfig file."""

import stat
from pathlib import Path

import pytest
import yaml

from vc.simcluster.http.kubeconfig import write_kubeconfig


def test_it_is_written_for_its_owner_and_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "kubeconfig"
    write_kubeconfig(path, "http://127.0.0.1:1")
    write_kubeconfig(path, "http://127.0.0.1:2", namespace="team-a")
    found = yaml.safe_load(path.read_text())
    assert found["clusters"][0]["cluster"]["server"] == "http://127.0.0.1:2"
    assert found["contexts"][0]["context"]["namespace"] == "team-a"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["kubeconfig"]


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_kubeconfig(path, "http://127.0.0.1:1")
    assert list(tmp_path.iterdir()) == [path]
