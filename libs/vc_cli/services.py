"""Every service by name, in the order the data goes; imported only when it is to run."""

import importlib
from typing import Final

from vc_runtime.host import Build
from vc_runtime.program import Program

SERVICES: Final[dict[str, str]] = {
    "watcher": "vc_watcher",
    "job-controller": "vc_job_controller",
    "plugin-env": "vc_plugin_env",
    "plugin-svc": "vc_plugin_svc",
    "plugin-ssh": "vc_plugin_ssh",
    "plugin-pytorch": "vc_plugin_pytorch",
    "plugin-mpi": "vc_plugin_mpi",
    "plugin-tensorflow": "vc_plugin_tensorflow",
    "plugin-ray": "vc_plugin_ray",
    "podgroup-controller": "vc_podgroup_controller",
    "queue-controller": "vc_queue_controller",
    "scheduler": "vc_scheduler",
    "admission": "vc_admission",
    "dashboard": "vc_dashboard",
}
"""Service to its package; `<package>.__main__.PROGRAM` says what it is and how to build it."""


def program_of(service: str) -> Program:
    """The program of a service: its variables, and how to load it."""
    program: Program = importlib.import_module(f"{SERVICES[service]}.__main__").PROGRAM
    return program


def build_of(service: str) -> Build:
    """How to make a service on a context."""
    return program_of(service).load()
