"""`vcctl help [COMMAND…]`: the same as `vcctl COMMAND… --help`."""

import argparse

from vc.cli.vcctl.api.errors import EXIT_OK, UsageError
from vc.cli.vcctl.parser import vcctl_parser


def show_help(arguments: argparse.Namespace) -> int:
    """Print the help of a command, or of vcctl."""
    # The parser is built again, because argparse does not pass it to the command.
    parser = vcctl_parser(arguments.prog)
    for number, word in enumerate(arguments.topic, start=1):
        children = _children(parser)
        if word not in children:
            said = " ".join(arguments.topic[:number])
            known = f"; there are {', '.join(children)}" if children else ""
            raise UsageError(f"there is no command {said!r}{known}")
        parser = children[word]
    print(parser.format_help(), end="")
    return EXIT_OK


def _children(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to look at itself
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - see above
            return dict(action.choices)
    return {}
