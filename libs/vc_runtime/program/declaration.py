"""What a service's program is: its name, its purpose, its variables, and how to build it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vc_model.variables import AnyVariable
from vc_runtime.host import Build


def _no_problems(_: Mapping[str, str]) -> list[str]:
    return []


@dataclass(frozen=True, kw_only=True)
class Program:
    """One entry point `vc-<service>`."""

    service: str
    purpose: str
    """One or two sentences for `--help`."""
    variables: tuple[AnyVariable, ...]
    """Its own; those of `shared_variables` come with every program."""
    read: Callable[[Mapping[str, str]], object]
    """Its Config of an environment; ValueError for variables that contradict one another."""
    load: Callable[[], Build]
    """Imports the service. Not called for help, version and check."""
    file_problems: Callable[[Mapping[str, str]], list[str]] = _no_problems
    """What is wrong inside the files that the variables name; called when all of them exist."""

    @property
    def name(self) -> str:
        """As it is typed."""
        return f"vc-{self.service}"

    @property
    def prefix(self) -> str:
        """Variables that begin like this are meant for this program."""
        first = "plugin" if self.service.startswith("plugin-") else self.service
        return first.upper().replace("-", "_") + "_"
