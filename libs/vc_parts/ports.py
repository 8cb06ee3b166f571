"""Picks loopback ports for servers.

Ports come from below the kernel's ephemeral range, not from `bind(0)`. A failure test stops a server and lets its
clients try again and again; on an ephemeral port such a client can be given the very port it dials as its own
source port, connects to itself, and the server cannot come back. Below the range that cannot happen.
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
_random = random.SystemRandom()  # forked test workers must not draw the same ports


def free_port() -> int:
    """A port that nothing listens on and that this process has not handed out before."""
    highest = _ephemeral_low() - 1
    for _ in range(TRIES_MAX):
        port = _random.randint(LOWEST_PORT, highest) if highest > LOWEST_PORT else 0
        bound = _bind(port)
        if bound and bound not in _handed_out:
            _handed_out.add(bound)
            return bound
    raise OSError(f"no free loopback port found in {TRIES_MAX} tries")


def _bind(port: int) -> int:
    """The port when it could be bound, else 0."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
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
