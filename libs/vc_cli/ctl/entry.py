"""Run a command and end with its exit code; whatever goes wrong is one line, never a traceback."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn, cast

from vc_cli.ctl.errors import EXIT_FAILED, EXIT_INTERRUPTED, CtlError
from vc_cli.ctl.log_flags import warn_without_effect

Command = Callable[[argparse.Namespace], int]


def run(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> NoReturn:
    """Parse, run, exit."""
    arguments = parser.parse_args(argv)
    warn_without_effect(arguments, parser.prog)
    try:
        code = command_of(arguments.command)(arguments)
        sys.stdout.flush()
    except CtlError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader has seen enough (`vcctl job list | head`); Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_FAILED)
    sys.exit(code)


def command_of(text: str) -> Command:
    """The function that `module:function` names."""
    module, _, function = text.partition(":")
    return cast("Command", getattr(import_module(module), function))
