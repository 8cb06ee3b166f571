"""A stack in a home folder of its own, used as a person would: by commands, kubeconfig and pids.

`RunningStack` is `pyroclast stack`, a process for every service, each with users of its own at Kafka and Redis
and the generated ACLs enforced (`PYROCLAST_ACLS=on`); `RunningUp` is `pyroclast up`, all of
them in one, in memory. Both are asked over HTTP with what their kubeconfig holds.
"""

import json
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vc.cli.pyroclast.stack import stack_file
from vc.cli.pyroclast.stack.stack_file import StackFile
from vc.clock import LoopClock
from vc.kubeconfig.access import read_access
from vc.model.api.keys import SIM_RUN_SECONDS
from vc.parts import require_or_skip_reason
from vc.parts.kwok_stages import DELAY_ANNOTATION

COMMAND_SECONDS_MAX = 200.0
WAIT_SECONDS_MAX = 60.0
POLL_SECONDS = 0.2
REQUEST_SECONDS_MAX = 10.0
STOP_SECONDS_MAX = 20.0
GIVEN = ("KAFKA_BOOTSTRAP_SERVERS", "REDIS_URL", "OTEL_EXPORTER_OTLP_ENDPOINT", "CLUSTER")
"""A stack under test starts its own servers."""

_clock = LoopClock()


def require(*parts: str) -> None:
    """Go on when all parts can be started now, else skip with the reason."""
    for part in parts:
        reason = require_or_skip_reason(part, own=True)
        if reason:
            pytest.skip(reason)


def eventually(
    holds: Callable[[], bool], what: str, *, seconds_max: float = WAIT_SECONDS_MAX
) -> float:
    """Wait until it holds; the seconds it took."""
    started = _clock.monotonic()
    while not holds():
        if _clock.monotonic() - started > seconds_max:
            pytest.fail(f"not within {seconds_max:.0f} s: {what}")
        time.sleep(POLL_SECONDS)
    return _clock.monotonic() - started


def environment(home: Path, **env: str) -> dict[str, str]:
    """Of a stack in that home, whatever servers this shell was given."""
    return {
        **{key: value for key, value in os.environ.items() if key not in GIVEN},
        "PYROCLAST_HOME": str(home),
        "PYROCLAST_API_PORT": "0",
        "PYROCLAST_DASHBOARD_PORT": "0",
        "PYROCLAST_METRICS_PORT": "0",
        **env,
    }


def api_request(kubeconfig: Path, method: str, path: str, body: object = None) -> dict[str, Any]:
    """Ask an API server as the user of a kubeconfig; HTTPError when it refuses."""
    access = read_access([kubeconfig])
    asked = urllib.request.Request(
        access.server + path,
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
        headers={
            "Content-Type": "application/json",
            "Authorization": f"Bearer {access.token or 'none'}",
        },
    )
    trust = ssl.create_default_context(cadata=access.ca_pem) if access.ca_pem else None
    with urllib.request.urlopen(asked, timeout=REQUEST_SECONDS_MAX, context=trust) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


class RunningUp:
    """`pyroclast up`: every service in one process, bus and cache in memory, the embedded cluster."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._process: subprocess.Popen[str] | None = None

    def up(self) -> None:
        """Until it says that it can be left with Ctrl-C."""
        process = self._process = subprocess.Popen(
            [sys.executable, "-m", "vc.cli.pyroclast.main", "up"],
            env=environment(self._home),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("Ctrl-C"):
                return
        pytest.fail(f"it ended with {process.wait()} before it was up")

    def request(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        return api_request(self._home / "kubeconfig", method, path, body)

    def down(self) -> None:
        """As with Ctrl-C; it ends in order."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(timeout=STOP_SECONDS_MAX) == 0
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


class RunningStack:
    """The stack of one home folder."""

    def __init__(self, home: Path, **env: str) -> None:
        self.home = home
        self._env = environment(home, PYROCLAST_ACLS="on", **env)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`pyroclast …` to its end."""
        return subprocess.run(
            [sys.executable, "-m", "vc.cli.pyroclast.main", *arguments],
            env=self._env,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )

    def up(self, *services: str) -> None:
        done = self.run("stack", "--detach", *services)
        if done.returncode:
            self.run("stack-down")
            pytest.fail(f"the stack did not come up:\n{done.stdout}\n{done.stderr}")

    def down(self) -> None:
        """It leaves no process."""
        file = self.file
        done = self.run("stack-down")
        assert done.returncode == 0, done.stdout
        assert file.running() == []

    @property
    def file(self) -> StackFile:
        return stack_file.read(self.home)

    def status(self) -> list[dict[str, Any]]:
        """What `status -o json` says."""
        seen: list[dict[str, Any]] = json.loads(self.run("status", "-o", "json").stdout)
        return seen

    def is_ready(self) -> bool:
        return self.run("status").returncode == 0

    # -- the API, over HTTP ----------------------------------------------------------------------

    def request(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        return api_request(Path(self.file.kubeconfig), method, path, body)

    def submit_gang(self, name: str, *, pods: int = 3) -> None:
        self.request("POST", JOBS_PATH, gang(name, pods=pods))

    def phase(self, name: str) -> str:
        job = self.request("GET", f"{JOBS_PATH}/{name}")
        found: str = job.get("status", {}).get("state", {}).get("phase", "")
        return found

    def pods_of(self, name: str) -> list[dict[str, Any]]:
        path = f"/api/v1/namespaces/default/pods?labelSelector=volcano.sh/job-name={name}"
        found: list[dict[str, Any]] = self.request("GET", path)["items"]
        return found


def run_for(seconds: float) -> dict[str, str]:
    """Annotations for the simulated kubelet, and for KWOK."""
    return {SIM_RUN_SECONDS: f"{seconds:g}", DELAY_ANNOTATION: f"{seconds * 1000:.0f}ms"}


JOBS_PATH = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"


def gang(
    name: str, *, pods: int, cpu: str = "1", queue: str = "default", run_seconds: float = 0.5
) -> dict[str, Any]:
    """A vcjob whose pods start together, run for a moment and succeed."""
    container = {
        "name": "main",
        "image": "busybox:1.36",
        "command": ["true"],
        "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}},
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "schedulerName": "volcano",
            "queue": queue,
            "minAvailable": pods,
            "plugins": {"env": [], "svc": []},
            "tasks": [
                {
                    "name": "worker",
                    "replicas": pods,
                    "template": {
                        "metadata": {"annotations": run_for(run_seconds)},
                        "spec": {"restartPolicy": "Never", "containers": [container]},
                    },
                }
            ],
        },
    }
