"""A stack on a cluster that it did not start: no webhook there that the cluster cannot reach, none after.

The user's cluster is the embedded one, in a process that the test owns.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.stack.running import (
    JOBS_PATH,
    RunningStack,
    api_request,
    environment,
    eventually,
    gang,
    require,
)
from vc.parts.ports import free_port

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.redis,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("stack"),
]

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"


class Theirs:
    """The user's cluster."""

    def __init__(self, folder: Path) -> None:
        self.kubeconfig = folder / "theirs"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "vc.cli.pyroclast.main", "simcluster", "--port", "0"]
            + ["--kubeconfig", str(self.kubeconfig)],
            env=environment(folder),
        )
        eventually(self.kubeconfig.exists, "the user's cluster answers")
        queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
        path = "/apis/scheduling.volcano.sh/v1beta1/queues"
        body = {**queue, "metadata": {"name": "default"}, "spec": {"weight": 1}}
        api_request(self.kubeconfig, "POST", path, body)

    def webhooks(self) -> list[dict[str, Any]]:
        return [
            webhook
            for sort in ("mutating", "validating")
            for item in api_request(self.kubeconfig, "GET", WEBHOOKS.format(sort))["items"]
            for webhook in item["webhooks"]
        ]

    def submit(self, name: str) -> int:
        """A job that does not say its minAvailable; what it has then, 0 without admission."""
        job = gang(name, pods=3)
        del job["spec"]["minAvailable"], job["spec"]["plugins"]
        made = api_request(self.kubeconfig, "POST", JOBS_PATH, job)
        return int(made["spec"].get("minAvailable", 0))

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theirs]:
    require("kafka", "redis")
    cluster = Theirs(tmp_path_factory.mktemp("theirs"))
    try:
        yield cluster
    finally:
        cluster.close()


def stack_on(theirs: Theirs, home: Path, **env: str) -> RunningStack:
    return RunningStack(home, CLUSTER="given", KUBECONFIG=str(theirs.kubeconfig), **env)


def test_nothing_is_registered_unless_the_user_names_an_address(
    theirs: Theirs, tmp_path: Path
) -> None:
    stack = stack_on(theirs, tmp_path)
    try:
        started = stack.run("stack", "--detach", "watcher", "admission")
        assert started.returncode == 0, started.stdout
        assert "no webhooks are registered on your cluster" in started.stdout
        assert theirs.webhooks() == []
        assert theirs.submit("while-up") == 0
    finally:
        stack.run("stack-down")
    theirs.submit("afterwards")


def test_what_is_registered_goes_when_the_stack_goes_down(theirs: Theirs, tmp_path: Path) -> None:
    url = f"https://127.0.0.1:{free_port()}"
    stack = stack_on(theirs, tmp_path, ADMISSION_URL=url)
    try:
        stack.up("watcher", "admission")
        found = theirs.webhooks()
        assert {webhook["failurePolicy"] for webhook in found} == {"Ignore"}
        assert all(webhook["clientConfig"]["url"].startswith(url) for webhook in found)
        assert theirs.submit("checked") == 3
    finally:
        stack.down()
    assert theirs.webhooks() == []
    theirs.submit("after-down")


def test_what_a_killed_stack_left_goes_with_stack_down(theirs: Theirs, tmp_path: Path) -> None:
    stack = stack_on(theirs, tmp_path, ADMISSION_URL=f"https://127.0.0.1:{free_port()}")
    try:
        stack.up("watcher", "admission")
        file = stack.file
        os.kill(file.supervisor.number, signal.SIGKILL)
        os.kill(file.entry("admission").pid.number, signal.SIGKILL)
        eventually(lambda: not file.supervisor.is_running, "the supervisor is gone")
        assert theirs.webhooks() != []
        theirs.submit("while-killed")  # Ignore: a cluster without admission still takes jobs
    finally:
        stack.down()
    assert theirs.webhooks() == []
