"""Logs: one line per decision, with fields.

For people on a terminal a short line; for machines JSON, one object per line. Fields given in
`extra` (job, trace id, session id) follow the message. Secrets never get here: what we log of an
object is its key.

Libraries are heard, but not in circles: a client whose server is away says the same some fifty times
a second, and a minute of that would hide our own lines and fill a disk.
"""

import json
import logging
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from vc_runtime.program.shared_variables import LOG_FORMAT, LOG_LEVEL

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_COLOURS: Final = {"WARNING": "\x1b[33m", "ERROR": "\x1b[31m", "CRITICAL": "\x1b[31m"}

OURS: Final = "pyroclast"
REPEAT_SECONDS: Final = 10.0
"""How often a library may say the same."""
REPEATS_KEPT_MAX: Final = 1_000
"""Different messages that are remembered; with more of them, all are forgotten."""


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


class Seldom(logging.Filter):
    """Lets a library's message pass once per period, with the number of those that did not."""

    def __init__(self) -> None:
        super().__init__()
        self._passed_at: dict[tuple[str, str], float] = {}
        self._kept_back: Counter[tuple[str, str]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it passes; messages are the same when their templates are."""
        if record.name.partition(".")[0] == OURS:
            return True
        said = (record.name, str(record.msg))
        if record.created - self._passed_at.get(said, float("-inf")) < REPEAT_SECONDS:
            self._kept_back[said] += 1
            return False
        if len(self._passed_at) >= REPEATS_KEPT_MAX:
            self._passed_at.clear()
            self._kept_back.clear()
        self._passed_at[said] = record.created
        repeats = self._kept_back.pop(said, 0)
        if repeats:
            record.msg, record.args = f"{record.getMessage()} (and {repeats} times before)", ()
        return True


class JsonFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


class LineFormatter(logging.Formatter):
    """A short line for people; colours only on a terminal."""

    def __init__(self, *, colour: bool) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")[:-3]
        service = record.name.removeprefix("pyroclast.")
        line = f"{moment} {record.levelname:<7} {service}: {record.getMessage()}"
        line += "".join(f" {name}={value}" for name, value in _fields(record).items())
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        colour = _COLOURS.get(record.levelname) if self._colour else None
        return f"{colour}{line}\x1b[0m" if colour else line


def set_up(*, level: str = "INFO", form: str = "") -> None:
    """Log to standard error; `form` is json or line, by default whatever suits the terminal."""
    terminal = sys.stderr.isatty()
    as_json = form == "json" or (not form and not terminal)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else LineFormatter(colour=terminal))
    handler.addFilter(Seldom())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger(OURS).setLevel(level.upper())


def set_up_from(environment: Mapping[str, str], *, level: str = "info", form: str = "") -> None:
    """As LOG_LEVEL and LOG_FORMAT say, else as given; ValueError names the variable and the fix."""
    chosen = LOG_LEVEL.read(environment) if LOG_LEVEL.is_given(environment) else level
    set_up(level=chosen, form=LOG_FORMAT.read(environment) or form)
