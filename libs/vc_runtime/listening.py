"""Ports of this machine: whether one is free, who listens on it, and what to say when it is taken.

A process that cannot listen says so in one line: the port, who has it where the kernel tells, and the variable to
set. Linux answers from `/proc`; of a process of another user it tells the user only, and elsewhere nothing is known.
"""

import errno
import pwd
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

PROC: Final = Path("/proc")
LOOPBACK: Final = "127.0.0.1"
COMMAND_LETTERS_MAX: Final = 60
_LISTEN: Final = "0A"
_STATE, _UID, _INODE = 3, 7, 9
"""Columns of /proc/net/tcp."""


class PortTakenError(OSError):
    """The sentence for people; never a reason to show a traceback."""

    def __init__(self, sentence: str) -> None:
        super().__init__(errno.EADDRINUSE, sentence)
        self.sentence = sentence

    def __str__(self) -> str:
        return self.sentence


class Wanted(NamedTuple):
    """A port that is about to be listened on, and the variable that chooses it."""

    port: int
    variable: str
    host: str = LOOPBACK


def require_free(wanted: Iterable[Wanted]) -> None:
    """PortTakenError names every port of them that is taken, in one line."""
    taken = [sentence_of(each) for each in wanted if not _is_free(each)]
    if taken:
        raise PortTakenError("; ".join(taken))


def sentence_of(wanted: Wanted) -> str:
    """What to say of a port that is taken."""
    return (
        f"port {wanted.port} is in use by {holder_of(wanted.port)}; "
        f"set {wanted.variable} to another one, or to 0 for any"
    )


@contextmanager
def said_once(wanted: Wanted) -> Iterator[None]:
    """Around the call that listens: turns "address already in use" into the sentence."""
    try:
        yield
    except PortTakenError:
        raise
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise PortTakenError(sentence_of(wanted)) from None


def url_of(host: str, port: int) -> str:
    """Where this machine finds a listener: one that listens everywhere listens on loopback."""
    shown = {"0.0.0.0": LOOPBACK, "::": "::1", "": LOOPBACK}.get(host, host)  # noqa: S104 - told so
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def _is_free(wanted: Wanted) -> bool:
    """OSError when the address is none of this machine."""
    family = socket.AF_INET6 if ":" in wanted.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((wanted.host, wanted.port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise OSError(
                    error.errno, f"cannot listen on {wanted.host}:{wanted.port}: {error.strerror}"
                ) from None
            return False
    return True


def holder_of(port: int) -> str:
    """Who listens there, as far as this process may know."""
    users: set[int] = set()
    for inode, user in _listeners(port):
        if found := _process_of(inode):
            return found
        users.add(user)
    return f"a process of user {_name_of(min(users))}" if users else "another process"


def _listeners(port: int) -> Iterator[tuple[str, int]]:
    """Inode and user of each listening socket of the port."""
    for table in ("net/tcp", "net/tcp6"):
        try:
            lines = PROC.joinpath(table).read_text().splitlines()[1:]
        except OSError:
            continue
        yield from listeners_in(lines, port)


def listeners_in(lines: Iterable[str], port: int) -> Iterator[tuple[str, int]]:
    """The same, of lines of the kernel's table."""
    for line in lines:
        columns = line.split()
        if len(columns) <= _INODE or columns[_STATE] != _LISTEN:
            continue
        if int(columns[1].rpartition(":")[2], 16) == port:
            yield columns[_INODE], int(columns[_UID])


def _process_of(inode: str) -> str:
    """The process that holds the socket; empty when we may not see it."""
    wanted = f"socket:[{inode}]"
    for folder in PROC.glob("[0-9]*"):
        try:
            if any(str(handle.readlink()) == wanted for handle in (folder / "fd").iterdir()):
                return f"pid {folder.name} ({_command_of(folder)})"
        except OSError:
            continue  # ended meanwhile, or not ours to look at
    return ""


def _command_of(folder: Path) -> str:
    words = folder.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    text = words.strip() or folder.joinpath("comm").read_text().strip()
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return f"{shown[:COMMAND_LETTERS_MAX]}…" if len(shown) > COMMAND_LETTERS_MAX else shown


def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
