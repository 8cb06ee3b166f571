"""Selects loopback ports for servers.

Ports are taken from below the kernel's ephemeral range, not from `bind(0)`. A failure test stops a
server while its clients keep reconnecting. On an ephemeral port, a client could get that port as
its own source port and connect to itself, and the server could not start again. Below the range
this cannot happen.
"""

import random
import socket
from pathlib import Path

LOOPBACK = "127.0.0.1"
LOWEST_PORT = 15_000
EPHEMERAL_LOW_DEFAULT = 32_768
TRIES_MAX = 200
_RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")

_handed_out: set[int] = set()
_random = random.SystemRandom()  # forked test workers must not choose the same ports


def free_port() -> int:
    """A port that is not in use and that this process has not returned before."""
    highest = _ephemeral_low() - 1
    for _ in range(TRIES_MAX):
        # An unusual ephemeral range may leave no ports below it; then the kernel chooses.
        port = _random.randint(LOWEST_PORT, highest) if highest > LOWEST_PORT else 0
        bound = _bind(port)
        # Between this check and the start of the server the port is free, so it must not be
        # returned twice.
        if bound and bound not in _handed_out:
            _handed_out.add(bound)
            return bound
    raise OSError(f"no free loopback port found in {TRIES_MAX} tries")


def _bind(port: int) -> int:
    """The port if it could be bound, else 0."""
    # Binding is the only reliable check: a connection attempt would miss sockets that do not
    # listen.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            # Without SO_REUSEADDR, so that a port with connections in TIME_WAIT counts as used.
            probe.bind((LOOPBACK, port))
        except OSError:
            return 0
        bound: int = probe.getsockname()[1]
        return bound


def _ephemeral_low() -> int:
    try:
        return int(_RANGE_FILE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return EPHEMERAL_LOW_DEFAULT
