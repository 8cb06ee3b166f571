"""Declares a service's program: its name, purpose, variables, and how to build it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vc.model.variables import AnyVariable
from vc.runtime.hosting.host import Build


def _no_problems(_: Mapping[str, str]) -> list[str]:
    return []


@dataclass(frozen=True, kw_only=True)
class Program:
    """One entry point `vc-<service>`."""

    service: str
    purpose: str
    """One or two sentences for `--help`."""
    variables: tuple[AnyVariable, ...]
    """The program's own variables;
    those of `vc.runtime.hosting.variables` are added to every program.
    """
    read: Callable[[Mapping[str, str]], object]
    """Reads the Config from an environment;
    raises ValueError for variables that contradict each other.
    """
    load: Callable[[], Build]
    """Imports the service and returns its builder. Not called for help, version and check."""
    file_problems: Callable[[Mapping[str, str]], list[str]] = _no_problems
    """Problems inside the files that the variables name; called only if all of them exist."""

    @property
    def name(self) -> str:
        """The name of the command."""
        return f"vc-{self.service}"

    @property
    def prefix(self) -> str:
        """Variables with this prefix are meant for this program."""
        first = "plugin" if self.service.startswith("plugin-") else self.service
        return first.upper().replace("-", "_") + "_"
