"""Benches run another commit's services, whichever layout it has."""

import sys
from pathlib import Path

from bench.checkout import command_in, environment_in, python_path, services_of


def with_services(root: Path, *packages: str) -> Path:
    (root / "libs").mkdir()
    for package in packages:
        (root / "services" / package).mkdir(parents=True)
    return root


def test_services_of_the_layout_before_one_import_root(tmp_path: Path) -> None:
    source = with_services(tmp_path, "job-controller/vc_job_controller", "watcher/vc_watcher")
    assert services_of(source) == ["job-controller", "watcher"]
    assert command_in(source, "job-controller") == [sys.executable, "-m", "vc_job_controller"]


def test_services_of_the_layout_with_one_import_root(tmp_path: Path) -> None:
    source = with_services(tmp_path, "job-controller/vc/job_controller")
    assert command_in(source, "job-controller") == [sys.executable, "-m", "vc.job_controller"]


def test_the_checkout_comes_before_what_is_installed(tmp_path: Path) -> None:
    source = with_services(tmp_path, "scheduler/vc/scheduler", "watcher/vc/watcher")
    folders = ["libs", "services/scheduler", "services/watcher"]
    assert python_path(source).split(":") == [str(source / folder) for folder in folders]


def test_a_base_gets_the_mode_that_was_chosen_and_its_own_default(tmp_path: Path) -> None:
    (tmp_path / "services").mkdir()
    chosen = environment_in(tmp_path, {"PYROCLAST_COMPAT": "upstream"})
    default = environment_in(tmp_path, {"PYROCLAST_COMPAT": "lenient"})
    assert chosen["PYROCLAST_COMPAT"] == "upstream"
    assert default == {"PYTHONPATH": str(tmp_path / "libs")}
