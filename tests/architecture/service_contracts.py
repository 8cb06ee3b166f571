"""Contracts for import-linter in which the path_segment `services` stands for all folders of services/.

import-linter expands wildcards only for whole components of a name, and services share the import
root with libraries. So without this each new service would have to be added to the lists of two
contracts. `pyproject.toml` registers the classes.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract

ROOT: Final = Path(__file__).parents[2]
SERVICES: Final = "services"
"""Stands for all services that the contract does not name itself."""


def packages() -> list[str]:
    """The packages of all services below `vc`."""
    return sorted(path.parent.name for path in ROOT.glob("services/*/vc/*/__main__.py"))


class IndependentServices(IndependenceContract):
    """An independence contract; `services` in `modules` stands for all services."""

    type_name = "independent_services"

    def __init__(
        self, name: str, session_options: dict[str, Any], contract_options: dict[str, Any]
    ) -> None:
        modules = contract_options["modules"]
        rest = [f"vc.{package}" for package in packages() if f"vc.{package}" not in modules]
        options = {**contract_options, "modules": _expanded(modules, rest)}
        super().__init__(name, session_options, options)


class LayeredServices(LayersContract):
    """A layers contract; `services` is the layer of all services that no other layer names."""

    type_name = "layered_services"

    def __init__(
        self, name: str, session_options: dict[str, Any], contract_options: dict[str, Any]
    ) -> None:
        layers = contract_options["layers"]
        named = {tail.strip() for layer in layers for tail in layer.split("|")}
        # Independent siblings: services of one layer must not import one another either.
        rest = " | ".join(package for package in packages() if package not in named)
        options = {**contract_options, "layers": _expanded(layers, [rest])}
        super().__init__(name, session_options, options)


def _expanded(names: Iterable[str], services: list[str]) -> list[str]:
    return [each for name in names for each in (services if name == SERVICES else [name])]
