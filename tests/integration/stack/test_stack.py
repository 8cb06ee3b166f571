"""Every service in its own process, over real Kafka and Redis, with the embedded cluster in another.

One stack serves the tests of this module in their order; the last one takes it down.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.stack.running import RunningStack, eventually, require
from vc.cli.pyroclast.services import SERVICES
from vc.cli.pyroclast.stack.plan import SNAPSHOT_SERVICES
from vc.cli.pyroclast.stack.stack_file import ProcessEntry, StackFile
from vc.clock import LoopClock

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.redis,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("stack"),
]

RESIDENT_BYTES_MAX = 120_000_000
"""Of a service at rest."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    require("kafka", "redis")
    running = RunningStack(tmp_path_factory.mktemp("stack"))
    clock = LoopClock()
    started = clock.monotonic()
    running.up()
    print(f"stack up in {clock.monotonic() - started:.1f} s")
    try:
        yield running
    finally:
        running.run("stack-down")


def services_of(file: StackFile) -> list[ProcessEntry]:
    return [entry for entry in file.processes if entry.role == "service"]


def test_every_service_is_a_process_of_its_own_with_its_own_log(stack: RunningStack) -> None:
    services = services_of(stack.file)
    assert [entry.name for entry in services] == list(SERVICES)
    assert len({entry.pid.number for entry in services}) == len(SERVICES)
    assert len({entry.health_url for entry in services}) == len(SERVICES)
    for entry in services:
        assert Path(entry.log) == stack.home / "logs" / f"{entry.name}.log"
        assert Path(entry.log).stat().st_size > 0
    assert (stack.home / "stack.json").stat().st_mode & 0o777 == 0o600


def test_a_service_is_told_only_what_it_needs(stack: RunningStack) -> None:
    for entry in services_of(stack.file):
        environ = Path(f"/proc/{entry.pid.number}/environ").read_bytes().split(b"\0")
        keys = {item.partition(b"=")[0].decode() for item in environ}
        assert ("REDIS_URL" in keys) is (entry.name in SNAPSHOT_SERVICES), entry.name
        assert {"KAFKA_BOOTSTRAP_SERVERS", "KUBECONFIG", "HEALTH_PORT"} <= keys
        assert f"KAFKA_SASL_USERNAME=vc-{entry.name}".encode() in environ
        assert "PYROCLAST_HOME" not in keys


def test_a_gang_submitted_over_http_runs_to_its_end(stack: RunningStack) -> None:
    stack.submit_gang("first", pods=4)
    took = eventually(lambda: stack.phase("first") == "Completed", "job first is Completed")
    assert len(stack.pods_of("first")) == 4
    print(f"submit to Completed in {took:.1f} s, of which the pods run 0.5 s")


def test_status_fits_a_terminal_and_says_that_all_is_well(stack: RunningStack) -> None:
    done = stack.run("status")
    print(done.stdout)
    assert done.returncode == 0, done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert "\x1b" not in done.stdout
    for name in ("kafka", "redis", "simcluster", *SERVICES):
        assert name in done.stdout


def test_a_service_at_rest_holds_little_memory(stack: RunningStack) -> None:
    resident = {
        seen["process"]: seen["residentBytes"]
        for seen in stack.status()
        if seen["role"] == "service"
    }
    print({name: f"{amount / 1e6:.0f} MB" for name, amount in resident.items()})
    assert {name for name, amount in resident.items() if amount > RESIDENT_BYTES_MAX} == set()


def test_a_second_stack_in_the_same_home_is_refused(stack: RunningStack) -> None:
    done = stack.run("stack")
    assert done.returncode == 1
    assert "a stack is up" in done.stderr
    assert stack.is_ready()


def test_a_killed_service_comes_back_and_work_goes_on(stack: RunningStack) -> None:
    before = stack.file.entry("job-controller")
    os.kill(before.pid.number, signal.SIGKILL)
    stack.submit_gang("after-death", pods=2)
    eventually(lambda: stack.file.entry("job-controller").restarts == 1, "it is started again")
    assert stack.file.entry("job-controller").pid != before.pid
    eventually(lambda: stack.phase("after-death") == "Completed", "the job is Completed")
    eventually(stack.is_ready, "everything is ready again")
    assert "job-controller was killed by SIGKILL" in (stack.home / "logs/stack.log").read_text()


def test_a_killed_broker_comes_back_and_work_goes_on(stack: RunningStack) -> None:
    os.kill(stack.file.entry("kafka").pid.number, signal.SIGKILL)
    stack.submit_gang("through-an-outage", pods=2)
    took = eventually(lambda: stack.phase("through-an-outage") == "Completed", "it is Completed")
    eventually(stack.is_ready, "everything is ready again")
    assert stack.file.entry("kafka").restarts == 1
    assert {entry.restarts for entry in services_of(stack.file)} <= {0, 1}
    print(f"submit to Completed in {took:.1f} s with the broker killed in between")


def test_stack_down_leaves_no_process(stack: RunningStack) -> None:
    file = stack.file
    assert len(file.running()) == len(file.processes)
    done = stack.run("stack-down")
    assert done.returncode == 0, done.stdout
    assert file.running() == []
    assert not file.supervisor.is_running
    assert not (stack.home / "stack.json").exists()
    assert stack.run("status").returncode == 1


def test_stack_down_ends_what_a_killed_supervisor_left_behind(tmp_path: Path) -> None:
    require("kafka", "redis")
    stack = RunningStack(tmp_path)
    stack.up("watcher")
    file = stack.file
    os.kill(file.supervisor.number, signal.SIGKILL)
    eventually(lambda: not file.supervisor.is_running, "the supervisor is dead")
    assert [entry.name for entry in file.running()] == [entry.name for entry in file.processes]
    done = stack.run("stack-down")
    assert done.returncode == 0, done.stdout
    assert file.running() == []
