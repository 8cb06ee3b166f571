"""The services of docker-compose.yml, as `make compose` writes them from the table of services.

A service gets the variables that `pyroclast stack` gives it. This module adds their values between
containers, and what only two services have: published ports.
"""

import sys
from pathlib import Path
from typing import Final

from vc.cli.pyroclast.services import SERVICES
from vc.cli.pyroclast.stack.plan import PLANNED_KEYS, SHARED_KEYS, SNAPSHOT_SERVICES, keys_of

FILE: Final = Path(__file__).parents[2] / "docker-compose.yml"
MARK: Final = "  # -- services: written by `make compose` --\n"

_NAMES: Final = "${SCHEDULER_NAMES:-volcano}"
_VALUES: Final = {
    "REDIS_URL": "redis://redis:6379/0",
    "SCHEDULER_NAMES": _NAMES,
    "SCHEDULER_CONFIGMAP": "${SCHEDULER_CONFIGMAP:-volcano-scheduler-configmap}",
    "SCHEDULER_CONFIGMAP_KEY": "${SCHEDULER_CONFIGMAP_KEY:-volcano-scheduler.conf}",
    "QUEUE_CONTROLLER_COMMANDS_FROM": "${QUEUE_CONTROLLER_COMMANDS_FROM:-}",
    "DASHBOARD_HOST": "0.0.0.0",
    # The simulated API server reaches it by its name.
    "DASHBOARD_HOSTS": "dashboard",
    # Published on loopback only.
    "DASHBOARD_ANONYMOUS": "all",
    "PYROCLAST_DASHBOARD_PORT": '"8080"',
    "ADMISSION_HOST": "admission",
    "ADMISSION_PORT": '"8443"',
    "ADMISSION_CREATE_CONFIGURATIONS": '"true"',
    "ADMISSION_URL": "${ADMISSION_URL:-${KUBECONFIG_FILE:+none}}",
    "ADMISSION_FAILURE_POLICY": "${ADMISSION_FAILURE_POLICY:-}",
    "ADMISSION_SCHEDULER_NAMES": _NAMES,
    "ADMISSION_ACCOUNTS": "${ADMISSION_ACCOUNTS:-}",
}
_PORTS: Final = {
    "admission": "    # Without ADMISSION_PUBLISH any free port of loopback: nothing uses it.\n"
    '    ports: ["${ADMISSION_PUBLISH:-127.0.0.1:}:8443"]\n',
    "dashboard": '    ports: ["127.0.0.1:8080:8080"]\n',
}


def block(service: str) -> str:
    """The service as it is written in the file."""
    own = [key for key in ("REDIS_URL", *PLANNED_KEYS) if key in keys_of(service)]
    assert set(own) | set(SHARED_KEYS) == keys_of(service)
    lines = [
        f"  {service}:",
        "    <<: *service",
        f"    image: vc-{service}",
        "    build:",
        "      context: .",
        "      dockerfile: deploy/Dockerfile",
        f"      args: {{SERVICE: {service}}}",
    ]
    if own:
        lines += ["    environment:", "      <<: *environment"]
        lines += [f"      {key}: {_VALUES[key]}" for key in own]
    else:
        lines += ["    environment: *environment"]
    if service in SNAPSHOT_SERVICES:
        lines += [
            "    depends_on:",
            "      <<: *needs",
            "      redis: {condition: service_healthy}",
        ]
    else:
        lines += ["    depends_on: *needs"]
    return "\n".join(lines) + "\n" + _PORTS.get(service, "")


def written() -> str:
    """The whole file with the services of the table."""
    head, _, _ = FILE.read_text().partition(MARK)
    return head + MARK + "\n".join(block(service) for service in SERVICES)


if __name__ == "__main__":
    sys.stdout.write(written())
