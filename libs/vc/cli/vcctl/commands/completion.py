"""`vcctl completion bash|zsh|fish`: a script generated from the parser, so it is always
complete.
"""

import argparse
from collections.abc import Iterator
from typing import Final

from vc.cli.vcctl.api.errors import EXIT_OK
from vc.cli.vcctl.parser import vcctl_parser

_ZSH: Final = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n"
_SCRIPT: Final = """\
# {shell} completion of vcctl. Load it with:  source <(vcctl completion {shell})
{head}_vcctl() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" path="" words="" i
    case "$previous" in
        -f|--filename|-k|--kubeconfig) COMPREPLY=($(compgen -f -- "$current")); return ;;
    esac
    for ((i = 1; i < COMP_CWORD; i++)); do
        path="$path ${{COMP_WORDS[i]}}"
    done
    case "$path" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _vcctl vcctl
"""

_FISH: Final = """\
# fish completion of vcctl. Load it with:  vcctl completion fish | source
function __vcctl_words
    set -l words (commandline -opc)
    switch (string join ' ' -- $words[2..])
{cases}
    end
end
complete -c vcctl -f -a '(__vcctl_words)'
complete -c vcctl -s f -l filename -r -F
complete -c vcctl -s k -l kubeconfig -r -F
"""


def completion(arguments: argparse.Namespace) -> int:
    """Print the script."""
    print(script(arguments.shell), end="")
    return EXIT_OK


def script(shell: str) -> str:
    """The script of a shell. zsh runs the bash script after one additional line."""
    # Longest paths first: the shell takes the first pattern that matches.
    found = sorted(_words(vcctl_parser(), ""), key=lambda entry: -len(entry[0]))
    if shell == "fish":
        return _FISH.format(cases="\n".join(_fish_case(path, words) for path, words in found))
    cases = [
        f'        "{path}"*) words="{" ".join(words)}" ;;'
        if path
        else f'        *) words="{" ".join(words)}" ;;'
        for path, words in found
    ]
    return _SCRIPT.format(shell=shell, head=_ZSH if shell == "zsh" else "", cases="\n".join(cases))


def _fish_case(path: str, words: list[str]) -> str:
    said = " ".join(f"'{word}'" for word in words)
    return f"        case '{path.strip()}*'\n            printf '%s\\n' {said}"


def _words(parser: argparse.ArgumentParser, path: str) -> Iterator[tuple[str, list[str]]]:
    """The words that may follow each sequence of commands."""
    options: list[str] = []
    children: dict[str, argparse.ArgumentParser] = {}
    values: list[str] = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to look at itself
        options += [word for word in action.option_strings if word.startswith("--")]
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - see above
            children = dict(action.choices)
        # Values of positional arguments and options are offered as well.
        elif action.choices:
            values += [str(choice) for choice in action.choices]
    yield path, [*children, *values, *options]
    for name, child in children.items():
        yield from _words(child, f"{path} {name}")
