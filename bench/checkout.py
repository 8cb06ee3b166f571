"""Another commit's services: which there are, and how they are started from its source.

Releases before 0.1.0 had one top-level package per service (`services/scheduler/vc_scheduler`). Later ones
have one import root (`services/scheduler/vc/scheduler`, docs/adr/0045). Both can be measured against one another.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.cluster.setting import MeasureError


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """The source of a commit in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="pyroclast-base-") as folder:
        source = Path(folder) / "source"
        _git("worktree", "add", "--detach", str(source), commit)
        try:
            yield source
        finally:
            _git("worktree", "remove", "--force", str(source))


def services_of(source: Path) -> list[str]:
    """The services of a checkout, in the order of their names."""
    return sorted(folder.name for folder in (source / "services").iterdir() if folder.is_dir())


def command_in(source: Path, service: str) -> list[str]:
    """The command that runs a service of a checkout, with this interpreter."""
    package = service.replace("-", "_")
    before_one_root = source / "services" / service / f"vc_{package}"
    module = f"vc_{package}" if before_one_root.is_dir() else f"vc.{package}"
    return [sys.executable, "-m", module]


def environment_in(source: Path, given: Mapping[str, str]) -> dict[str, str]:
    """The environment of a service of a checkout, made from that of this release's service."""
    env = {**given, "PYTHONPATH": python_path(source)}
    # The default mode is `seeds` in releases before 0.1.0, which refuse `lenient`.
    if env.get("PYROCLAST_COMPAT") == "lenient":
        del env["PYROCLAST_COMPAT"]
    return env


def python_path(source: Path) -> str:
    """The checkout's libraries and services; they come before what is installed."""
    folders = [source / "libs", *sorted((source / "services").iterdir())]
    return os.pathsep.join(str(folder) for folder in folders)


def _git(*words: str) -> None:
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise MeasureError(f"git {words[0]}: {done.stderr.strip()}")
