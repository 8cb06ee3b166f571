"""Log output: one line per decision, with fields.

On a terminal the format is a short line, otherwise one JSON object per line. Fields passed in
`extra` (job, trace id, session id) follow the message. Objects are logged by key only, so that
secrets never reach the log.

Repeated messages of libraries are suppressed: a client whose server is down logs the same message
some fifty times a second, which would hide our own lines and fill the disk.
"""

import json
import logging
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from vc.runtime.hosting.variables import LOG_FORMAT, LOG_LEVEL

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_COLOURS: Final = {"WARNING": "\x1b[33m", "ERROR": "\x1b[31m", "CRITICAL": "\x1b[31m"}

OURS: Final = "pyroclast"
REPEAT_SECONDS: Final = 10.0
"""Minimum time between equal messages of a library."""
REPEATS_KEPT_MAX: Final = 1_000
"""Number of distinct messages that are remembered; beyond it the memory is cleared."""


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


class Seldom(logging.Filter):
    """Passes an equal message of a library once per period,
    with the number of suppressed repeats.
    """

    def __init__(self) -> None:
        super().__init__()
        self._passed_at: dict[tuple[str, str], float] = {}
        self._kept_back: Counter[tuple[str, str]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged; messages are equal if their templates are."""
        if record.name.partition(".")[0] == OURS:
            return True
        # Compare templates: arguments such as addresses or counts differ in every message.
        said = (record.name, str(record.msg))
        if record.created - self._passed_at.get(said, float("-inf")) < REPEAT_SECONDS:
            self._kept_back[said] += 1
            return False
        # Templates are few; if a library builds its own messages, memory stays bounded.
        if len(self._passed_at) >= REPEATS_KEPT_MAX:
            self._passed_at.clear()
            self._kept_back.clear()
        self._passed_at[said] = record.created
        repeats = self._kept_back.pop(said, 0)
        if repeats:
            record.msg, record.args = f"{record.getMessage()} (and {repeats} times before)", ()
        return True


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object."""

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
    """Formats a record as a short line for people; colours only on a terminal."""

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
    """Log to standard error. `form` is json or line;
    by default it depends on whether that is a terminal.
    """
    terminal = sys.stderr.isatty()
    as_json = form == "json" or (not form and not terminal)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else LineFormatter(colour=terminal))
    handler.addFilter(Seldom())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # Libraries log only warnings; LOG_LEVEL applies to our own loggers.
    root.setLevel(logging.WARNING)
    logging.getLogger(OURS).setLevel(level.upper())


def set_up_from(environment: Mapping[str, str], *, level: str = "info", form: str = "") -> None:
    """Set up by LOG_LEVEL and LOG_FORMAT, else by the arguments.
    ValueError names the variable and the fix.
    """
    chosen = LOG_LEVEL.read(environment) if LOG_LEVEL.is_given(environment) else level
    set_up(level=chosen, form=LOG_FORMAT.read(environment) or form)
