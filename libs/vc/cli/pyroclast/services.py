"""All services by name, in the order of the data flow.

The names come from the chart's table (`deploy/helm/pyroclast/services.yaml`), the packages from the
names: `usage-ledger` is `vc.usage_ledger`. Modules of services are imported only to run them.
"""

import importlib
from typing import Final

from vc.cli.pyroclast.rights import service_facts
from vc.runtime.hosting.host import Build
from vc.runtime.program import Program

SERVICES: Final[dict[str, str]] = {
    service: f"vc.{service.replace('-', '_')}" for service in service_facts()
}
"""The package of each service. `<package>.__main__.PROGRAM` describes and builds it."""


def program_of(service: str) -> Program:
    """The program of a service: its variables and its build function."""
    program: Program = importlib.import_module(f"{SERVICES[service]}.__main__").PROGRAM
    return program


def build_of(service: str) -> Build:
    """The function that builds a service on a context."""
    return program_of(service).load()
