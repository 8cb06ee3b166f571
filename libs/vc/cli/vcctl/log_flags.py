"""The global log flags of Volcano's vcctl, which come from klog: `-v`, `--vmodule`,
`--log-flush-frequency`.

Scripts pass them to every command, so every command accepts them. `-v 1` and higher prints each
request and its status code to standard error, without credentials. The other two configure klog's
files and buffers, which do not exist here. They are validated, and a warning says that they have no
effect.
"""

import argparse
import re
import sys
from collections.abc import Callable
from typing import Final

LEVEL_MAX: Final = 2**31 - 1
REQUESTS_LEVEL: Final = 1
"""From this level on, requests are printed."""
_DURATION: Final = re.compile(r"(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+|0", re.ASCII)
_MODULE: Final = re.compile(r"[^=,\s]+=\d{1,9}", re.ASCII)

RequestLog = Callable[[str], None]


def add_log_flags(parser: argparse.ArgumentParser, *, suppressed: bool) -> None:
    """Add the flags.

    With `suppressed` they have no default, so that values given before the subcommand stay.
    """
    parser.add_argument(
        "-v",
        "--v",
        dest="verbosity",
        type=_level,
        default=argparse.SUPPRESS if suppressed else 0,
        metavar="LEVEL",
        help="from 1 on: show each request on standard error",
    )
    # Unknown flags would be errors in scripts that were written for Volcano's vcctl.
    for flag, kind, metavar in (
        ("--vmodule", _modules, "PATTERN=LEVEL,…"),
        ("--log-flush-frequency", _duration, "DURATION"),
    ):
        parser.add_argument(
            flag,
            type=kind,
            default=argparse.SUPPRESS if suppressed else None,
            metavar=metavar,
            help="taken for Volcano's scripts; has no effect, and says so",
        )


def warn_without_effect(arguments: argparse.Namespace, prog: str) -> None:
    """Print one warning for each given flag that has no effect."""
    reasons = {
        "vmodule": "--vmodule has no effect: there are no modules to choose; use -v 1",
        "log_flush_frequency": "--log-flush-frequency has no effect: each line is written at once",
    }
    for name, reason in reasons.items():
        if getattr(arguments, name, None):
            print(f"{prog}: warning: {reason}", file=sys.stderr)


def request_log(arguments: argparse.Namespace) -> RequestLog | None:
    """The function that prints requests. None without -v."""
    if getattr(arguments, "verbosity", 0) < REQUESTS_LEVEL:
        return None
    return lambda line: print(line, file=sys.stderr)


def _level(text: str) -> int:
    # `int` would also accept signs, underscores and digits of other scripts.
    number = int(text) if text.isascii() and text.isdecimal() else -1
    if not 0 <= number <= LEVEL_MAX:
        raise argparse.ArgumentTypeError(f"{text!r}: a level is a number from 0 to {LEVEL_MAX}")
    return number


def _modules(text: str) -> str:
    if not all(_MODULE.fullmatch(part) for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r}: write PATTERN=LEVEL, several with commas")
    return text


def _duration(text: str) -> str:
    if not _DURATION.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r}: write a duration like 5s or 1m30s")
    return text
