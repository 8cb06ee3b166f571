"""A port in use is reported in one line: its owner, and the variable to set."""

import asyncio
import errno
import os
import pwd
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.builders.contexts import memory_context
from vc.runtime.hosting import listening
from vc.runtime.hosting.health import HealthServer
from vc.runtime.hosting.host import Host
from vc.runtime.hosting.listening import (
    PortTakenError,
    Wanted,
    holder_of,
    listeners_in,
    require_free,
)

TABLE = """\
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0
   1: 0100007F:1F90 0100007F:A0B0 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0
   2: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0
   3: broken
"""


@pytest.fixture
def busy() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield int(taken.getsockname()[1])


def test_only_listening_sockets_of_the_port_count() -> None:
    lines = TABLE.splitlines()
    assert list(listeners_in(lines, 8080)) == [("4711", 1000)]
    assert list(listeners_in(lines, 80)) == [("4713", 0)]
    assert list(listeners_in(lines, 81)) == []


def test_every_port_that_is_taken_is_named_with_its_variable(busy: int) -> None:
    with pytest.raises(PortTakenError) as caught:
        require_free([Wanted(0, "ANY"), Wanted(busy, "FIRST"), Wanted(busy, "SECOND")])
    first, second = str(caught.value).split("; set ")[1:]
    assert first.startswith("FIRST to another one, or to 0 for any; port")
    assert second == "SECOND to another one, or to 0 for any"
    assert f"port {busy} is in use by pid {os.getpid()} (" in str(caught.value)


def test_another_process_is_named_with_its_command() -> None:
    script = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); "
    script += "print(s.getsockname()[1], flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        try:
            said = holder_of(int(child.stdout.readline()))
        finally:
            child.kill()
    assert said.startswith(f"pid {child.pid} ({sys.executable} -c ")
    assert len(said) < 100


def test_what_may_not_be_seen_is_told_as_far_as_it_is_known(
    busy: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "_process_of", lambda _: "")
    assert holder_of(busy) == f"a process of user {pwd.getpwuid(os.getuid()).pw_name}"
    monkeypatch.setattr(listening, "_listeners", lambda _: iter(()))
    assert holder_of(busy) == "another process"


def test_an_address_of_another_machine_is_another_error() -> None:
    with pytest.raises(OSError, match=r"cannot listen on 203\.0\.113\.7:0") as caught:
        require_free([Wanted(0, "ANY", "203.0.113.7")])
    assert caught.value.errno == errno.EADDRNOTAVAIL


async def test_who_listens_says_the_same(busy: int) -> None:
    health = HealthServer(dict, list, host="127.0.0.1", port=busy)
    with pytest.raises(PortTakenError, match="set HEALTH_PORT to another one"):
        await health.start()
    await health.stop()


async def test_a_service_that_cannot_listen_tries_again_with_one_line_each_time(
    busy: int, caplog: pytest.LogCaptureFixture
) -> None:
    class Listening:
        name = "listening"

        async def run(self) -> None:
            await HealthServer(dict, list, host="127.0.0.1", port=busy, variable="ITS_PORT").start()

        def unready(self) -> str:
            return "not started"

    host = Host({"listening": (memory_context("listening"), lambda _: Listening())})
    running = asyncio.create_task(host.run())
    async with asyncio.timeout(10):
        while host.faults < 2:  # noqa: ASYNC110 - a host has no event to wait for
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    records = [record for record in caplog.records if "listening" in record.getMessage()]
    assert len(records) >= 2
    assert all(record.exc_info is None for record in records), "no traceback"
    assert all("set ITS_PORT to another one" in record.getMessage() for record in records)
