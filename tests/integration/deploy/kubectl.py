"""Real kubectl, as somebody of a cluster."""

import subprocess
from pathlib import Path

from tests.integration.kubectl.shell import find_kubectl

SECONDS_MAX = 60.0


class Kubectl:
    """One kubeconfig."""

    def __init__(self, kubeconfig: Path, *, folder: Path) -> None:
        self.kubeconfig = kubeconfig
        self._program = find_kubectl()
        self._env = {"HOME": str(folder), "KUBECONFIG": str(kubeconfig)}

    def run(self, *arguments: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self._program, *arguments],
            input=given,
            env=self._env,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )

    def ok(self, *arguments: str, given: str = "") -> str:
        """What it prints; a refusal fails the test."""
        done = self.run(*arguments, given=given)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout
