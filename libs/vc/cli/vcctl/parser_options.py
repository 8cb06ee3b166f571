"""Options that several commands share, and the meaning of `-n`.

In Volcano's vcctl `-n` is the namespace and `-N` the name. The documents that our users start from
write `vcctl job view -n my-job`. So `-n` is the name if neither `-N` nor a positional argument
names the job. The long `--namespace` always is the namespace.
"""

import argparse
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from vc.cli.vcctl.api.errors import UsageError
from vc.cli.vcctl.api.resources import DEFAULT_NAMESPACE
from vc.cli.vcctl.log_flags import add_log_flags
from vc.cli.vcctl.output.output import JSON, WIDE, YAML

SHORT_NAMESPACE: Final = "-n"
DASHBOARD_FLAG: Final = "--dashboard"
DASHBOARD_VARIABLE: Final = "PYROCLAST_DASHBOARD_URL"
_DEFAULT: Final = "default: default, whatever the kubeconfig's context says"


WEIGHT_MAX: Final = 65535
"""The same bound as in admission."""
WEIGHT_HELP: Final = f"1 to {WEIGHT_MAX}"


def weight(text: str) -> int:
    """Parse the weight of a queue.

    A weight of 0 is rejected, because the server would silently change it to 1.
    """
    number = int(text) if text.isascii() and text.isdecimal() else 0
    if not 1 <= number <= WEIGHT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r}: a weight must be a number from {WEIGHT_HELP}")
    return number


class Target(NamedTuple):
    """The object that a command addresses."""

    namespace: str
    name: str
    hint: str = ""
    """Appended to the error message if the object does not exist."""


class _NamespaceAction(argparse.Action):
    """Records whether the short form was used, because only `-n` may mean a name."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - argparse passes it
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        # argparse does not record which spelling of an option was used.
        setattr(namespace, self.dest, values)
        is_short = option_string is not None and not option_string.startswith("--")
        namespace.namespace_may_be_name = is_short


def connection(*, default: str = "") -> argparse.ArgumentParser:
    """The parent parser of every command that connects to the cluster."""
    parent = argparse.ArgumentParser(add_help=False)
    parent.add_argument(
        "-s", "--master", default=default, metavar="URL", help="address of the server"
    )
    parent.add_argument(
        "-k",
        "--kubeconfig",
        default=default,
        metavar="FILE",
        help="default: $KUBECONFIG, ~/.kube/config",
    )
    add_log_flags(parent, suppressed=default == argparse.SUPPRESS)
    return parent


def server_options(*, default: str = "") -> argparse.ArgumentParser:
    """The parent parser of vcctl and its commands.

    The commands suppress the defaults, so that options given before the command stay in effect.
    """
    parent = argparse.ArgumentParser(add_help=False, parents=[connection(default=default)])
    parent.add_argument(
        DASHBOARD_FLAG,
        default=default,
        metavar="URL|NAMESPACE/NAME",
        help=f"address of the dashboard, or its service behind the API server (default: "
        f"${DASHBOARD_VARIABLE}, else volcano-system/volcano-dashboard)",
    )
    return parent


def add_namespace(parser: argparse.ArgumentParser, *, short: str = SHORT_NAMESPACE) -> None:
    """Add the namespace option."""
    parser.add_argument(short, "--namespace", default=DEFAULT_NAMESPACE, help=_DEFAULT)


def add_target(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the options for a namespaced object: its name, `-N` or `-n`."""
    parser.add_argument("words", nargs="?", default="", metavar="NAME", help=f"the {what}'s name")
    parser.add_argument("-N", "--name", default="", help="the same")
    parser.add_argument(
        SHORT_NAMESPACE,
        "--namespace",
        action=_NamespaceAction,
        default="",
        help=f"the namespace; -n is the name when nothing else names the {what}",
    )
    parser.set_defaults(namespace_may_be_name=False)


def target_of(arguments: argparse.Namespace, what: str) -> Target:
    """The object that the options of `add_target` address."""
    name, namespace = arguments.words or arguments.name, arguments.namespace
    if name:
        return Target(namespace or DEFAULT_NAMESPACE, name)
    if namespace and arguments.namespace_may_be_name:
        hint = f"; -n {namespace} was taken as the name, since nothing else names the {what}"
        return Target(DEFAULT_NAMESPACE, namespace, hint)
    raise UsageError(f"which {what}? Give its name, or -N NAME with -n NAMESPACE")


def add_listing(
    parser: argparse.ArgumentParser, *, forms: Sequence[str] = (JSON, YAML, WIDE)
) -> None:
    """Add the options for the output of a list."""
    parser.add_argument("-o", "--output", default="", choices=forms, metavar="|".join(forms))
    parser.add_argument("--watch", action="store_true", help="continue and print changes")


def add_all_namespaces(parser: argparse.ArgumentParser) -> None:
    """Add the option for all namespaces, in the spellings of Volcano and kubectl."""
    parser.add_argument("-A", "--all-namespaces", action="store_true")


def namespace_of(arguments: argparse.Namespace) -> str:
    """The namespace to list. Empty for all namespaces."""
    return "" if arguments.all_namespaces else str(arguments.namespace)
