"""All services by name, in the order of the data flow.

Their modules are imported only to run them.
"""

import importlib
from typing import Final

from vc.runtime.hosting.host import Build
from vc.runtime.program import Program

SERVICES: Final[dict[str, str]] = {
    "watcher": "vc.watcher",
    "job-controller": "vc.job_controller",
    "plugin-env": "vc.plugin_env",
    "plugin-svc": "vc.plugin_svc",
    "plugin-ssh": "vc.plugin_ssh",
    "plugin-pytorch": "vc.plugin_pytorch",
    "plugin-mpi": "vc.plugin_mpi",
    "plugin-tensorflow": "vc.plugin_tensorflow",
    "plugin-ray": "vc.plugin_ray",
    "podgroup-controller": "vc.podgroup_controller",
    "queue-controller": "vc.queue_controller",
    "scheduler": "vc.scheduler",
    "admission": "vc.admission",
    "dashboard": "vc.dashboard",
}
"""The package of each service. `<package>.__main__.PROGRAM` describes and builds it."""


def program_of(service: str) -> Program:
    """The program of a service: its variables and its build function."""
    program: Program = importlib.import_module(f"{SERVICES[service]}.__main__").PROGRAM
    return program


def build_of(service: str) -> Build:
    """The function that builds a service on a context."""
    return program_of(service).load()
