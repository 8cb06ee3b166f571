"""Local ports: whether a port is free, which process listens on it, and the error if it is in use.

A process that cannot listen reports it in one line: the port, its current owner if known, and the
variable to set. On Linux `/proc` identifies the owner; for a process of another user only the user
is visible. On other systems the owner is unknown.
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
"""Column numbers of /proc/net/tcp."""


class PortTakenError(OSError):
    """A port is in use. The message is meant for users and is shown without a traceback."""

    def __init__(self, sentence: str) -> None:
        super().__init__(errno.EADDRINUSE, sentence)
        self.sentence = sentence

    def __str__(self) -> str:
        return self.sentence


class Wanted(NamedTuple):
    """A port to listen on, and the variable that configures it."""

    port: int
    variable: str
    host: str = LOOPBACK


def require_free(wanted: Iterable[Wanted]) -> None:
    """Raises PortTakenError that names all ports in use, in one line."""
    taken = [sentence_of(each) for each in wanted if not _is_free(each)]
    if taken:
        raise PortTakenError("; ".join(taken))


def sentence_of(wanted: Wanted) -> str:
    """The message for a port that is in use."""
    return (
        f"port {wanted.port} is in use by {holder_of(wanted.port)}; "
        f"set {wanted.variable} to another one, or to 0 for any"
    )


@contextmanager
def said_once(wanted: Wanted) -> Iterator[None]:
    """Wraps the call that listens, and turns "address already in use" into a PortTakenError."""
    try:
        yield
    except PortTakenError:
        raise
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise PortTakenError(sentence_of(wanted)) from None


def url_of(host: str, port: int) -> str:
    """The URL by which this machine reaches a listener; wildcard addresses become loopback."""
    shown = {"0.0.0.0": LOOPBACK, "::": "::1", "": LOOPBACK}.get(host, host)  # noqa: S104 - compared, not bound
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def _is_free(wanted: Wanted) -> bool:
    """Whether the port can be bound.
    Raises OSError if the address does not belong to this machine.
    """
    family = socket.AF_INET6 if ":" in wanted.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # Without this a port in TIME_WAIT, which the real listener may use, would count as taken.
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
    """The process that listens on the port, as far as this process may see it."""
    users: set[int] = set()
    for inode, user in _listeners(port):
        if found := _process_of(inode):
            # Without permission for the process only the user of the socket is known.
            return found
        users.add(user)
    return f"a process of user {_name_of(min(users))}" if users else "another process"


def _listeners(port: int) -> Iterator[tuple[str, int]]:
    """Inode and user id of each socket that listens on the port."""
    for table in ("net/tcp", "net/tcp6"):
        try:
            lines = PROC.joinpath(table).read_text().splitlines()[1:]
        except OSError:
            continue
        yield from listeners_in(lines, port)


def listeners_in(lines: Iterable[str], port: int) -> Iterator[tuple[str, int]]:
    """Inode and user id of the listening sockets, from lines of the kernel's table."""
    for line in lines:
        columns = line.split()
        if len(columns) <= _INODE or columns[_STATE] != _LISTEN:
            continue
        if int(columns[1].rpartition(":")[2], 16) == port:
            yield columns[_INODE], int(columns[_UID])


def _process_of(inode: str) -> str:
    """The process that owns the socket; empty if it is not visible to us."""
    wanted = f"socket:[{inode}]"
    for folder in PROC.glob("[0-9]*"):
        try:
            if any(str(handle.readlink()) == wanted for handle in (folder / "fd").iterdir()):
                return f"pid {folder.name} ({_command_of(folder)})"
        except OSError:
            continue  # the process ended meanwhile, or belongs to another user
    return ""


def _command_of(folder: Path) -> str:
    words = folder.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    text = words.strip() or folder.joinpath("comm").read_text().strip()
    # A process may put control characters into its command line; they must not reach a terminal.
    shown = "".join(character if character.isprintable() else "?" for character in text)
    return f"{shown[:COMMAND_LETTERS_MAX]}…" if len(shown) > COMMAND_LETTERS_MAX else shown


def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
