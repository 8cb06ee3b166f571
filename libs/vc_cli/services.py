"""Every service by name, in the order the data goes; imported only when it is to run."""

import importlib
from typing import Final

from vc_runtime.host import Build

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
"""Service to its package; `<package>.service.build` makes it."""


def build_of(service: str) -> Build:
    """How to make a service on a context."""
    package = SERVICES[service]
    build: Build = importlib.import_module(f"{package}.service").build
    return build
