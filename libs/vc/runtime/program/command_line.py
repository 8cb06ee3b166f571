"""The command line of every `vc-<service>`.

Without arguments the service runs after its variables were read. An invalid value ends the process
with one line before any connection is made. Unknown arguments are rejected with exit status 2.
"""

import argparse
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from vc.model.variables import AnyVariable
from vc.runtime.hosting.variables import SHARED_VARIABLES
from vc.runtime.program.checking import CheckFindings, check_everything, check_variables, described
from vc.runtime.program.declaration import Program

EXIT_INVALID: Final = 1
_WIDTH: Final = 96
_INDENT: Final = "      "


def run_program(program: Program, arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments, then print help or version, check, or run. Exits with SystemExit unless
    the service ran to its end.
    """
    given = _parser(program).parse_args(arguments)
    if given.check:
        sys.exit(_check(program, os.environ))
    found = check_variables(program, os.environ)
    _print_findings(program, found)
    if found.problems:
        sys.exit(EXIT_INVALID)
    # The import loads client libraries, which help and check do not need.
    from vc.runtime.hosting.main import run_service

    run_service(program.service, program.load())


def help_of(program: Program) -> str:
    """The text of `--help`."""
    return _parser(program).format_help()


class _Version(argparse.Action):
    """Looks up the version only on request, because that reads the metadata of the installation."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        sys.stdout.write(f"{parser.prog} {version('pyroclast')}\n")
        parser.exit()


def _parser(program: Program) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program.name,
        description=textwrap.fill(program.purpose, _WIDTH),
        epilog=_epilog(program),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.add_argument(
        "--check",
        action="store_true",
        help="validate the configuration, print what it would use, and exit: 0 when it is valid, "
        "1 when not; nothing is connected to or started",
    )
    return parser


def _epilog(program: Program) -> str:
    own = [line for variable in program.variables for line in _lines(variable)]
    every = [line for variable in SHARED_VARIABLES for line in _lines(variable)]
    return "\n".join(
        [
            f"environment of {program.name} (in parentheses: the default):",
            *own,
            "",
            "environment of every service:",
            *every,
            "",
            "HTTPS_PROXY, NO_PROXY and OTEL_… are read by the client libraries as usual.",
        ]
    )


def _lines(variable: AnyVariable) -> list[str]:
    default = f" ({variable.shown})" if variable.shown else ""
    meaning = textwrap.wrap(
        variable.meaning, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT
    )
    return [f"  {variable.name}{default}", *meaning]


def _check(program: Program, environment: Mapping[str, str]) -> int:
    found = check_everything(program, environment)
    _print_findings(program, found)
    if found.problems:
        return EXIT_INVALID
    table = list(described(program, environment))
    width = max(len(name) for name, _ in table)
    lines = [f"{program.name}: the configuration is valid; it would use"]
    lines += [f"  {name:<{width}}  {value}" for name, value in table]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _print_findings(program: Program, found: CheckFindings) -> None:
    lines = [f"{program.name}: warning: {warning}" for warning in found.warnings]
    lines += [f"{program.name}: {problem}" for problem in found.problems]
    sys.stderr.write("".join(f"{line}\n" for line in lines))
