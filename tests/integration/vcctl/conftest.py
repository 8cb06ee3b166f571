"""An embedded stack that all tests of a module share."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.vcctl.shell import Shell

ROOT = Path(__file__).parents[3]
STOP_SECONDS_MAX = 20


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """`pyroclast up` on free ports, and a shell that knows its kubeconfig."""
    home = tmp_path_factory.mktemp("home")
    kept = {k: v for k, v in os.environ.items() if k not in {"KUBECONFIG", "REDIS_URL"}}
    ports = {"PYROCLAST_API_PORT": "0", "PYROCLAST_DASHBOARD_PORT": "0"}
    process = subprocess.Popen(
        [sys.executable, "-m", "vc_cli.pyroclast", "up"],
        cwd=ROOT,
        env={**kept, **ports, "PYROCLAST_HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("Ctrl-C"):
                break
        yield Shell(home / "kubeconfig")
        process.send_signal(signal.SIGINT)
        process.wait(timeout=STOP_SECONDS_MAX)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
