"""One Redis on a loopback port without persistence: a restart deletes all data, as tests need
it.
"""

from pathlib import Path

from vc.parts.fetch.getting import obtain
from vc.parts.ports import LOOPBACK, free_port
from vc.parts.probe import redis_answers
from vc.parts.process import Process
from vc.parts.progress import Progress
from vc.parts.server import OneProcess


def redis_command(
    program: Path, *, port: int, folder: Path, password: str = "", users: Path | None = None
) -> list[str]:
    """The command line, without snapshots and append-only file. `users` is an ACL file."""
    command = [str(program), "--bind", LOOPBACK, "--port", str(port), "--dir", str(folder)]
    command += ["--save", "", "--appendonly", "no", "--daemonize", "no"]
    # With an ACL file the password of the default user is set there, not by requirepass.
    if users is not None:
        return [*command, "--aclfile", str(users)]
    return command + (["--requirepass", password] if password else [])


class RedisServer(OneProcess):
    """`async with RedisServer() as redis:` and use `redis.url`.

    `redis.process` is for tests that kill or pause the server.
    """

    def __init__(
        self,
        *,
        folder: Path | None = None,
        port: int = 0,
        password: str = "",
        users: str = "",
    ) -> None:
        """`users` has the lines of an ACL file, in addition to the administrator with the
        password.
        """
        super().__init__("redis", folder=folder)
        self._users = users
        self.port = port or free_port()
        self._password = password
        login = f":{password}@" if password else ""
        self.url = f"redis://{login}{LOOPBACK}:{self.port}/0"

    def make_process(self) -> Process:
        """All settings are on the command line, except the users."""
        found = obtain("redis", say=Progress())
        command = redis_command(
            found.path,
            port=self.port,
            folder=self.folder,
            password=self._password,
            users=self._write_users(),
        )
        return Process(
            "redis",
            command,
            log=self.log_of("redis"),
            ready=lambda: redis_answers(self.port, self._password),
        )

    def _write_users(self) -> Path | None:
        if not self._users:
            return None
        file = self.folder / "users.acl"
        # The administrator is needed for readiness checks and for the tests themselves.
        file.write_text(f"user default on >{self._password} ~* &* +@all\n{self._users}")
        return file
