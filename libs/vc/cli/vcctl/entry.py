"""Run a command and exit with its code. Errors are printed as one line, without a traceback."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn, cast

from vc.cli.vcctl.api.errors import EXIT_FAILED, EXIT_INTERRUPTED, CtlError
from vc.cli.vcctl.log_flags import warn_without_effect

Command = Callable[[argparse.Namespace], int]


def run(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> NoReturn:
    """Parse the command line, run the command and exit."""
    arguments = parser.parse_args(argv)
    warn_without_effect(arguments, parser.prog)
    try:
        code = command_of(arguments.command)(arguments)
        # Flushed here, so that a closed pipe raises inside this `try` and not at interpreter exit.
        sys.stdout.flush()
    except CtlError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader has closed the pipe (`vcctl job list | head`). Python would report it again at
        # exit, unless standard output is replaced.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_FAILED)
    sys.exit(code)


def command_of(text: str) -> Command:
    """The function that `module:function` names."""
    module, _, function = text.partition(":")
    return cast("Command", getattr(import_module(module), function))
