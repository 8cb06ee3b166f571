"""Jobs for the scenarios: small gangs whose pods run for a moment, and every plugin among them."""

from collections.abc import Mapping
from typing import Any

from vc.model.api.keys import SIM_RUN_SECONDS
from vc.model.api.kinds import JOBS
from vc.parts.kwok_stages import DELAY_ANNOTATION

PLUGIN_SETS: tuple[Mapping[str, list[str]], ...] = (
    {"env": [], "svc": []},
    {"ssh": [], "svc": []},
    {"pytorch": ["--master=master", "--worker=worker", "--port=23456"]},
    {"mpi": ["--master=master", "--worker=worker", "--port=22"]},
    {"tensorflow": ["--ps=master", "--worker=worker"]},
    {"ray": ["--head=master", "--headContainer=main", "--workerContainer=main"]},
    {"env": []},
)
"""Job n takes set n modulo their number, so that every plugin service has work to lose."""


def gang(
    name: str,
    *,
    pods: int = 3,
    cpu: str = "2",
    run_seconds: float = 1.0,
    plugins: Mapping[str, list[str]] | None = None,
) -> dict[str, Any]:
    """A vcjob of one master and workers that start together, run and succeed."""
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "schedulerName": "volcano",
            "queue": "default",
            "minAvailable": pods,
            "plugins": dict(plugins if plugins is not None else PLUGIN_SETS[0]),
            "tasks": [
                _task("master", 1, cpu=cpu, run_seconds=run_seconds),
                _task("worker", pods - 1, cpu=cpu, run_seconds=run_seconds),
            ],
        },
    }


def numbered(prefix: str, number: int, *, run_seconds: float = 1.0) -> dict[str, Any]:
    """One job of many, with the plugins that fall to its number."""
    plugins = PLUGIN_SETS[number % len(PLUGIN_SETS)]
    return gang(f"{prefix}-{number}", plugins=plugins, run_seconds=run_seconds)


def pods_in(manifest: Mapping[str, Any]) -> int:
    """How many pods a job has."""
    return sum(task["replicas"] for task in manifest["spec"]["tasks"])


def _task(name: str, replicas: int, *, cpu: str, run_seconds: float) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "busybox:1.36",
        "command": ["true"],
        "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}},
    }
    run = {SIM_RUN_SECONDS: str(run_seconds), DELAY_ANNOTATION: f"{int(run_seconds * 1000)}ms"}
    return {
        "name": name,
        "replicas": replicas,
        "template": {
            "metadata": {"annotations": run},
            "spec": {"restartPolicy": "Never", "containers": [container]},
        },
    }
