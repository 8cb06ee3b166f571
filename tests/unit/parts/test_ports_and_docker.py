"""Ports below the ephemeral range, and a Docker engine that answers or does not."""

import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from vc.parts import ports
from vc.parts.docker import DEFAULT_HOST, docker_host, engine_answers


def test_ports_are_distinct_and_below_the_ephemeral_range() -> None:
    found = [ports.free_port() for _ in range(50)]
    assert len(set(found)) == len(found)
    assert max(found) < ports._ephemeral_low()


def listener_with_a_free_neighbour() -> socket.socket:
    """Others on this machine take ports too, so the next one up is not always free."""
    while True:
        taken = socket.socket()
        taken.bind((ports.LOOPBACK, 0))
        taken.listen()
        with socket.socket() as probe, suppress(OSError, OverflowError):
            probe.bind((ports.LOOPBACK, taken.getsockname()[1] + 1))
            return taken
        taken.close()


def test_a_port_in_use_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with listener_with_a_free_neighbour() as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(ports, "LOWEST_PORT", port)
        monkeypatch.setattr(ports, "_ephemeral_low", lambda: port + 2)
        assert ports.free_port() == port + 1


def test_the_engine_is_the_one_in_the_environment() -> None:
    assert docker_host({}) == DEFAULT_HOST
    assert docker_host({"DOCKER_HOST": "tcp://h:1"}) == "tcp://h:1"


@pytest.mark.parametrize("host", ["unix:///no/such/socket", "ssh://host", "tcp://127.0.0.1:1"])
def test_no_engine_is_no(host: str) -> None:
    assert engine_answers(host) is False


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(b"HTTP/1.0 200 OK\r\n\r\nOK", True), (b"HTTP/1.0 503 No\r\n\r\n", False)],
)
def test_an_engine_is_one_that_answers_a_ping(
    tmp_path: Path, answer: bytes, expected: bool
) -> None:
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(path))
        engine.listen()

        def serve() -> None:
            connection, _ = engine.accept()
            with connection:
                assert connection.recv(4_096).startswith(b"GET /_ping ")
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        assert engine_answers(f"unix://{path}") is expected
        thread.join(5)
