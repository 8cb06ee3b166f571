"""Running the commands as they are installed, most of them in this process, which saves minutes."""

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final, NamedTuple

from tests.integration.stack.running import eventually
from vc.cli.vcctl.parser_options import DASHBOARD_VARIABLE

BIN = Path(sys.executable).parent
UNBUFFERED = "PYTHONUNBUFFERED"
"""People do not have it: what they see of a pipe is what was flushed."""

UNSUPPORTED_KINDS: Final = ("vcctl jobflow", "vcctl jobtemplate")
"""Commands on kinds that no controller runs say so, on the error stream."""


class Ran(NamedTuple):
    """What came of it."""

    code: int
    out: str
    err: str

    def rows(self) -> list[list[str]]:
        """The table's cells, without its header."""
        return [line.split() for line in self.out.splitlines()[1:]]


@contextlib.contextmanager
def _environment(words: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(words)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class Shell(NamedTuple):
    """A person with a kubeconfig."""

    kubeconfig: Path
    extra: dict[str, str] = {}
    dashboard: str = ""
    """Where the dashboard itself listens."""

    def run(self, line: str) -> Ran:
        """A command line without quotes."""
        command, *words = line.split()
        (script,) = entry_points(group="console_scripts", name=command)
        out, err = io.StringIO(), io.StringIO()
        code: object = None
        with (
            _environment(self.environment()),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                script.load()(words)
            except SystemExit as ended:
                code = ended.code
        assert isinstance(code, int), "every command ends with an exit code"
        assert "\x1b" not in out.getvalue(), "colours only on a terminal"
        return Ran(code, out.getvalue(), err.getvalue())

    def environment(self) -> dict[str, str]:
        """Nothing of the caller's own clusters."""
        own = {"KUBECONFIG": str(self.kubeconfig), DASHBOARD_VARIABLE: ""}
        kept = {key: value for key, value in os.environ.items() if key != UNBUFFERED}
        return {**kept, **own, **self.extra}

    def good(self, line: str) -> Ran:
        """A command that works."""
        ran = self.run(line)
        assert ran.code == 0, f"{line}:\n{ran.out}{ran.err}"
        said = ran.err.splitlines()
        if line.startswith(UNSUPPORTED_KINDS):  # and `create` has the server's warning, too
            said = [one for one in said if "not supported by this release" not in one]
        assert said == []
        return ran

    def bad(self, line: str, *, code: int = 1) -> str:
        """A command that fails with one line."""
        ran = self.run(line)
        assert ran.code == code, ran
        return ran.err


def phase(shell: Shell, name: str) -> str:
    found = json.loads(shell.good(f"vcctl job view {name} -o json").out)
    return str(found.get("status", {}).get("state", {}).get("phase", ""))


def becomes(shell: Shell, name: str, *phases: str) -> None:
    """Commands are answered by controllers, a moment later."""
    eventually(lambda: phase(shell, name) in phases, f"{name} {phases}")
