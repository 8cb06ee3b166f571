"""The two clusters that every command is run on: the embedded one, and a real kube-apiserver.

On the real one each service is a process with its own account, Kafka and Redis are real, and KWOK
plays the kubelets. Starting that takes a quarter of a minute, so all tests share one, also those that
run in other workers of the same run: whoever comes first starts it, whoever leaves last stops it.
"""

import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.integration.stack.running import RunningStack
from tests.integration.vcctl.shell import Shell
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.errors import ApiError
from vc.cli.vcctl.parser_options import DASHBOARD_VARIABLE
from vc.kubeconfig.access import read_access
from vc.model.api.struct import JsonObject

ROOT: Final = Path(__file__).parents[3]
STOP_SECONDS_MAX: Final = 20
LOOPBACK: Final = "127.0.0.1"
USAGE_PERIOD: Final = {"QUEUE_CONTROLLER_USAGE_PERIOD_SECONDS": "0.3"}
"""The ledger is told often enough to wait for it."""

REAL_MARKS: Final = (
    pytest.mark.kafka,
    pytest.mark.redis,
    pytest.mark.kubernetes,
    pytest.mark.slow,
    pytest.mark.timeout(300),
)

NAMESPACE, NAME = "volcano-system", "volcano-dashboard"
_CONFLICT: Final = 409


# -- embedded --------------------------------------------------------------------------------------


@contextmanager
def embedded(home: Path) -> Iterator[Shell]:
    """`pyroclast up` on free ports, and a shell that knows its kubeconfig."""
    left_out = {"KUBECONFIG", "REDIS_URL", "KAFKA_BOOTSTRAP_SERVERS", DASHBOARD_VARIABLE}
    kept = {k: v for k, v in os.environ.items() if k not in left_out}
    names = ("PYROCLAST_API_PORT", "PYROCLAST_DASHBOARD_PORT", "PYROCLAST_METRICS_PORT")
    ports = dict.fromkeys(names, "0")
    process = subprocess.Popen(
        [sys.executable, "-m", "vc.cli.pyroclast.main", "up"],
        cwd=ROOT,
        env={**kept, **ports, **USAGE_PERIOD, "PYROCLAST_HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    dashboard = ""
    try:
        for line in process.stdout:
            name, _, value = line.strip().partition(" ")
            dashboard = value.strip() if name == "dashboard" else dashboard
            if line.startswith("Ctrl-C"):
                break
        yield Shell(home / "kubeconfig", dashboard=dashboard)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=STOP_SECONDS_MAX)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


# -- real ------------------------------------------------------------------------------------------


@contextmanager
def real(folder: Path) -> Iterator[Shell]:
    """A stack on a real kube-apiserver; `folder` is the same for all workers of a run."""
    address = own_address()
    env = {**USAGE_PERIOD, "CLUSTER": "kubernetes", "DASHBOARD_HOST": address or LOOPBACK}
    env["DASHBOARD_ANONYMOUS"] = "all"  # also at its own address, where vcctl sends no token
    stack = RunningStack(folder / "home", **env)
    with _shared(folder) as users:
        if not users:
            stack.up()
    try:
        file = stack.file
        shell = Shell(Path(file.kubeconfig), dashboard=file.dashboard)
        if address:
            publish(Client(read_access([shell.kubeconfig])), file.dashboard)
        yield shell if address else shell._replace(extra={DASHBOARD_VARIABLE: file.dashboard})
    finally:
        with _shared(folder, leaving=True) as users:
            if not users:
                stack.run("stack-down")


@contextmanager
def _shared(folder: Path, *, leaving: bool = False) -> Iterator[int]:
    """How many others use it; nobody comes or goes meanwhile. An error inside counts as not done."""
    folder.mkdir(exist_ok=True)
    with (folder / "users").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        others = int(file.read() or 0) - leaving
        yield others
        file.truncate(0)
        file.write(str(others + (not leaving)))


def own_address() -> str:
    """An address of this machine that is not loopback; empty when there is none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
        except OSError:
            return ""
        found = str(probe.getsockname()[0])
    return "" if found.startswith("127.") else found


def publish(client: Client, url: str) -> None:
    """Let the API server's service proxy lead to a process of this machine.

    It leads to pods alone, so a pod stands for the process: it runs nowhere, but has the address.
    """
    host, _, port = url.removeprefix("http://").rpartition(":")
    metadata = {"name": NAME, "namespace": NAMESPACE}
    spec = {"serviceAccountName": NAME, "containers": [{"name": "dashboard", "image": "none"}]}
    _ensure(client, "services", {"metadata": metadata, "spec": {"ports": [_port(80)]}})
    _ensure(client, "pods", {"metadata": metadata, "spec": spec})
    body: JsonObject = {"status": {"phase": "Running", "podIP": host, "podIPs": [{"ip": host}]}}
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{NAME}/status"
    client.call("PATCH", path, body=body, form="application/merge-patch+json")
    behind = {"ip": host, "targetRef": {"kind": "Pod", **metadata}}
    subset = {"addresses": [behind], "ports": [_port(int(port))]}
    _ensure(client, "endpoints", {"metadata": metadata, "subsets": [subset]})


def _port(number: int) -> JsonObject:
    return {"name": "http", "port": number}


def _ensure(client: Client, plural: str, body: JsonObject) -> None:
    """Another worker may have made it."""
    try:
        client.call("POST", f"/api/v1/namespaces/{NAMESPACE}/{plural}", body=body)
    except ApiError as error:
        if error.code != _CONFLICT:
            raise
