"""`vcctl completion bash|zsh|fish`: a script that shtab generates from the parser.

shtab is imported by this command only, so no other command pays for it (docs/adr/0048).
"""

import argparse
from typing import Final

from vc.cli.vcctl.api.errors import EXIT_OK
from vc.cli.vcctl.parser import vcctl_parser

FILE_OPTIONS: Final = frozenset({"filename", "kubeconfig", "queue_file"})
"""Options whose values are paths. argparse does not know this, and shtab has to be given it."""
_LOAD: Final = {
    "bash": "source <(vcctl completion bash)",
    "zsh": 'eval "$(vcctl completion zsh)"',
    "fish": "vcctl completion fish | source",
}


def completion(arguments: argparse.Namespace) -> int:
    """Carry out `vcctl completion`: print the completion script of a shell."""
    print(script(arguments.shell))
    return EXIT_OK


def script(shell: str) -> str:
    """The script of a shell."""
    import shtab

    parser = vcctl_parser()
    _mark_files(parser, shtab.FILE)
    how = f"vcctl completion for {shell}. Load it with: {_LOAD[shell]}"
    return str(shtab.complete(parser, shell, preamble=f"# {how}"))


def _mark_files(parser: argparse.ArgumentParser, complete: object) -> None:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to look at itself
        if action.dest in FILE_OPTIONS:
            action.complete = complete  # type: ignore[attr-defined]  # shtab's way to mark it
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - see above
            for child in action.choices.values():
                _mark_files(child, complete)
