"""`vcctl`: ask about jobs and queues from a terminal."""

import argparse
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, run, exit."""
    parser = argparse.ArgumentParser(prog="vcctl", description="Volcano jobs from the terminal.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    version = commands.add_parser("version", help="print the version")
    version.set_defaults(command=_version)
    arguments = parser.parse_args(argv)
    sys.exit(arguments.command(arguments))


def _version(_: argparse.Namespace) -> int:
    from importlib.metadata import version

    print(f"vcctl {version('pyroclast')}")
    return 0


if __name__ == "__main__":
    main()
