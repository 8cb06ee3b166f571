"""Somebody who types command lines into bash as they are written, with real kubectl and helm."""

import os
import subprocess
from pathlib import Path
from typing import Final

from tests.integration.kubectl.shell import find_kubectl
from tests.integration.vcctl.shell import BIN, Ran
from vc.cli.vcctl.parser_options import DASHBOARD_VARIABLE

SECONDS_MAX: Final = 60.0
_LEFT_OUT: Final = frozenset({"PYTHONUNBUFFERED", DASHBOARD_VARIABLE})


class Typist:
    """One folder to work in, one cluster."""

    def __init__(self, kubeconfig: Path, *, folder: Path, helm: str = "") -> None:
        self.folder = folder
        programs = folder / "programs"
        programs.mkdir(parents=True)
        (programs / "kubectl").symlink_to(find_kubectl())
        if helm:
            (programs / "helm").symlink_to(helm)
        self._environment = {
            **{key: value for key, value in os.environ.items() if key not in _LEFT_OUT},
            "PATH": f"{programs}:{BIN}:{os.environ['PATH']}",
            "HOME": str(folder),
            "KUBECONFIG": str(kubeconfig),
        }

    def type(self, line: str) -> Ran:
        """What comes of it; a pipe that breaks counts as broken."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def good(self, line: str) -> str:
        """What a command that works prints."""
        ran = self.type(line)
        assert ran.code == 0, f"{line}:\n{ran.out}{ran.err}"
        return ran.out
