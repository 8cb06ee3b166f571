"""A real kube-apiserver without anything of ours: tokens, rights, and what commands say of the rest.

What they print when all is there is in the other modules.
"""

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.vcctl.commands import CASES, offline, written
from tests.integration.vcctl.shell import BIN, Shell
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.errors import ApiError
from vc.cli.vcctl.api.resources import COMMANDS, JOBS, PODGROUPS, QUEUES, Resource
from vc.clock import LoopClock
from vc.kubeconfig.access import read_access
from vc.parts import ControlPlane, require_or_skip_reason
from vc.simcluster.schema.registry import crd_folder

pytestmark = pytest.mark.kubernetes


SERVED_SECONDS_MAX = 30.0
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def install(kubeconfig: Path) -> None:
    """Our CRDs; until the server serves them."""
    client, clock = Client(read_access([kubeconfig])), LoopClock()
    for file in sorted(crd_folder().glob("*.yaml")):
        client.call("POST", DEFINITIONS, body=yaml.safe_load(file.read_text()))
    deadline = clock.monotonic() + SERVED_SECONDS_MAX
    for resource in (JOBS, QUEUES, PODGROUPS, COMMANDS):
        while not is_served(client, resource):
            assert clock.monotonic() < deadline, resource


def is_served(client: Client, resource: Resource) -> bool:
    try:
        client.list(resource)
    except ApiError:
        return False
    return True


@pytest.fixture(scope="module")
def real() -> Iterator[Shell]:
    """A shell of a cluster without any controller."""
    reason = require_or_skip_reason("kubernetes")
    if reason:
        pytest.skip(reason)
    with asyncio.Runner() as runner:
        plane = ControlPlane()
        runner.run(plane.__aenter__())
        try:
            shell = Shell(plane.kubeconfig)
            assert "installed on this cluster?" in shell.bad("vcctl job list"), "without CRDs"
            install(plane.kubeconfig)
            yield shell
        finally:
            runner.run(plane.__aexit__(None, None, None))


def test_a_job_that_is_gone(real: Shell) -> None:
    real.good("vcctl job run -N brief -r 2")
    real.good("vcctl job delete -n brief")
    assert "there is no job 'brief'" in real.bad("vcctl job view -n brief")


def test_rows_are_watched_as_they_change(real: Shell) -> None:
    process = subprocess.Popen(
        [str(BIN / "vcctl"), "queue", "list", "--watch"],
        env=real.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline().split()[0] == "Name"
        real.good("vcctl queue create -n watched")
        assert any(line.startswith("watched ") for line in process.stdout)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 130
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_explain_without_a_dashboard_says_what_it_can(real: Shell) -> None:
    real.good("vcctl job run -N alone")
    shown = real.good("vcctl job explain alone").out
    assert "the dashboard does not answer" in shown
    assert "its pod group does not exist yet" in shown
    assert "does not answer" in real.bad("vcctl job explain alone -o json")


@pytest.mark.parametrize(
    "line",
    [
        "simulate --add-nodes 1",
        "session list",
        "session show 1-1",
        "session replay 1-1",
        "usage",
        "queue tree",
        "queue waiting",
    ],
)
def test_what_needs_the_dashboard_says_that_it_is_away(real: Shell, line: str) -> None:
    told = real.bad(f"vcctl {line}")
    assert told.startswith("vcctl: the dashboard does not answer: ")
    assert "volcano-dashboard" in told


def test_who_may_not_is_told_so(real: Shell, tmp_path: Path) -> None:
    client = Client(read_access([real.kubeconfig]))
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    client.call("POST", accounts, body={"metadata": {"name": "eve"}})
    body: dict[str, Any] = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {},
    }
    made = client.call("POST", f"{accounts}/eve/token", body=body)
    config = yaml.safe_load(real.kubeconfig.read_text())
    config["users"] = [
        {"name": entry["name"], "user": {"token": made["status"]["token"]}}
        for entry in config["users"]
    ]
    (tmp_path / "eve").write_text(yaml.safe_dump(config))
    eve = Shell(tmp_path / "eve")
    online = [case.line for case in CASES if not offline(case.line)]
    assert len(online) > 30
    for line in online:
        error = eve.bad(written(line, tmp_path))
        assert "forbidden" in error, line
        assert "system:serviceaccount:default:eve" in error, line
        assert error.count("\n") == 1, "one line for a person"
    config["users"][0]["user"] = {"token": "nonsense"}
    (tmp_path / "nobody").write_text(yaml.safe_dump(config))
    assert "Unauthorized" in Shell(tmp_path / "nobody").bad("vcctl job list")
