"""The wheel: one import name, without the real servers for tests, and its programs start from it alone."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(ROOT)], check=True, timeout=110)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def run(unpacked: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In an isolated interpreter that finds our code only in the unpacked wheel."""
    program = (
        "import runpy, sys; root, module, *rest = sys.argv[1:]\n"
        "sys.path.insert(0, root); sys.argv = [module, *rest]\n"
        "import vc; vc.__path__ = [root + '/vc']\n"
        "runpy.run_module(module, run_name='__main__')\n"
    )
    command = [sys.executable, "-I", "-c", program, str(unpacked), module, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_wheel_claims_one_import_name(wheel: Path) -> None:
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"vc"}


def test_the_wheel_has_no_servers_for_tests_and_all_that_it_reads(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.startswith("vc/parts/")]
    assert "vc/scheduling/cycle.py" in names
    assert "vc/cli/pyroclast/service_rights.yaml" in names
    assert [name for name in names if name.startswith("vc/simcluster/crds/")]


@pytest.mark.parametrize(
    ("module", "arguments", "shown"),
    [
        ("vc.cli.pyroclast.main", ("--help",), "pyroclast"),
        ("vc.cli.vcctl.main", ("version",), "vcctl "),
        ("vc.scheduler.__main__", ("--version",), "vc-scheduler"),
        ("vc.cli.pyroclast.main", ("acls", "redis"), "user "),
    ],
)
def test_programs_start_from_the_wheel(
    unpacked: Path, module: str, arguments: tuple[str, ...], shown: str
) -> None:
    ran = run(unpacked, module, *arguments)
    assert ran.returncode == 0, ran.stderr
    assert shown in ran.stdout


def test_the_stack_says_that_it_needs_a_checkout(unpacked: Path) -> None:
    ran = run(unpacked, "vc.cli.pyroclast.main", "stack")
    assert ran.returncode != 0
    assert "needs a checkout" in ran.stderr or "need a checkout" in ran.stderr
    assert "Traceback" not in ran.stderr
