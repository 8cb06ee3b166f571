"""Detects a Docker engine over its socket, in about a millisecond, without a client library.

A `docker` program on PATH proves nothing, because there may be no engine, and testcontainers needs
seconds to find out. One GET /_ping with a short time-out is enough. The result is cached for the
life of the process.
"""

import functools
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

PING_SECONDS_MAX = 1.0
DEFAULT_HOST = "unix:///var/run/docker.sock"
PING = b"GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n"
ANSWER_BYTES_MAX = 4_096


@functools.cache
def docker_answers() -> bool:
    """Whether the engine of this environment responds to a ping."""
    return engine_answers(docker_host(os.environ))


def docker_host(env: Mapping[str, str]) -> str:
    """DOCKER_HOST, or the default socket."""
    return env.get("DOCKER_HOST") or DEFAULT_HOST


def engine_answers(host: str) -> bool:
    """Ping a unix:// or tcp:// engine. Any other scheme counts as no engine."""
    try:
        with _connect(host) as connection:
            connection.sendall(PING)
            # The status line is enough; the body of the response is not needed.
            return b" 200 " in connection.recv(ANSWER_BYTES_MAX)
    except (OSError, ValueError):
        return False


def _connect(host: str) -> socket.socket:
    address = urlsplit(host)
    if address.scheme == "unix":
        # Most machines without Docker are detected here, without opening a socket.
        if not Path(address.path).exists():
            raise FileNotFoundError(address.path)
        connection = socket.socket(socket.AF_UNIX)
        # An engine that hangs must not delay every test session.
        connection.settimeout(PING_SECONDS_MAX)
        try:
            connection.connect(address.path)
        except OSError:
            connection.close()
            raise
        return connection
    if address.scheme == "tcp" and address.hostname and address.port:
        return socket.create_connection((address.hostname, address.port), PING_SECONDS_MAX)
    raise ValueError(f"cannot ping {host}")
