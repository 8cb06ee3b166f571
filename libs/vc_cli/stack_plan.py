"""What every service of a stack is started with: its command, and exactly the environment it needs.

The topology is data, so that `docker-compose.yml` can be held to it by a test. A service gets the
addresses of what it uses and of nothing else: only the scheduler and the dashboard know Redis. Of
the caller's environment it gets what a program needs to run at all, how to log, and the keys that
begin with its own name (`WATCHER_PAGE_SIZE`) or with `KAFKA_` (TLS, SASL).
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from vc_cli.rights import user_of
from vc_cli.services import SERVICES
from vc_model.compat import COMPAT_VARIABLE, Compat
from vc_model.scheduler_names import SCHEDULER_NAMES, scheduler_names

SNAPSHOT_SERVICES: Final = frozenset({"queue-controller", "scheduler", "dashboard"})
"""Who talks to Redis."""

SHARED_KEYS: Final = (
    "KAFKA_BOOTSTRAP_SERVERS",
    "KUBECONFIG",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "HEALTH_PORT",
    COMPAT_VARIABLE,
)
"""What every service is told."""

SCHEDULER_CONFIGURATION: Final = {
    "SCHEDULER_CONFIGMAP": "volcano-scheduler-configmap",
    "SCHEDULER_CONFIGMAP_KEY": "volcano-scheduler.conf",
}
"""Where the scheduler's configuration is, unless the caller says; told to all who read it."""

LOOPBACK: Final = "127.0.0.1"

OWN_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "job-controller": (SCHEDULER_NAMES,),
    "scheduler": ("REDIS_URL", SCHEDULER_NAMES, *SCHEDULER_CONFIGURATION),
    "podgroup-controller": (SCHEDULER_NAMES,),
    "queue-controller": ("REDIS_URL", SCHEDULER_NAMES, "QUEUE_CONTROLLER_COMMANDS_FROM"),
    "dashboard": (
        "REDIS_URL",
        "DASHBOARD_HOST",
        "DASHBOARD_HOSTS",
        "DASHBOARD_ANONYMOUS",
        "PYROCLAST_DASHBOARD_PORT",
        SCHEDULER_NAMES,
        *SCHEDULER_CONFIGURATION,
    ),
    "admission": (
        "ADMISSION_HOST",
        "ADMISSION_PORT",
        "ADMISSION_CREATE_CONFIGURATIONS",
        "ADMISSION_URL",
        "ADMISSION_FAILURE_POLICY",
        f"ADMISSION_{SCHEDULER_NAMES}",
        "ADMISSION_ACCOUNTS",
    ),
}
"""What only some services are told. Whose pods are ours is one answer for all that ask."""

_PROGRAM_KEYS: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH")
_OUR_KEYS: Final = ("LOG_LEVEL", "LOG_FORMAT", COMPAT_VARIABLE)


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """Where everything listens; what is empty is not told."""

    kafka: str
    redis: str
    kubeconfig: str
    accounts: Mapping[str, str] = field(default_factory=dict)
    """Kubeconfigs of the services that have an account of their own; the others use the one above.
    Whoever made the accounts has made admission's webhooks too."""
    otlp: str = ""
    admission_host: str = "127.0.0.1"
    admission_url: str = ""
    """How the API server reaches admission, when that is not where it listens; UNREACHABLE when it
    does not."""
    dashboard_host: str = LOOPBACK
    dashboard_port: int = 0
    admission_port: int = 0
    vetted: bool = False
    """Admission is registered and refuses what it may not vet: Commands of all namespaces count."""


def keys_of(service: str) -> frozenset[str]:
    """The keys that a service is told, besides those of the machine."""
    return frozenset(SHARED_KEYS + OWN_KEYS.get(service, ()))


def command_of(service: str) -> list[str]:
    """The service alone in a process, on the interpreter that runs us."""
    return [sys.executable, "-m", SERVICES[service]]


def environment_of(
    service: str, addresses: Addresses, *, health_port: int, inherited: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment of a service's process."""
    names = ",".join(scheduler_names(inherited))
    told = {
        "KAFKA_BOOTSTRAP_SERVERS": addresses.kafka,
        "KUBECONFIG": addresses.accounts.get(service, addresses.kubeconfig),
        "OTEL_EXPORTER_OTLP_ENDPOINT": addresses.otlp,
        "HEALTH_PORT": str(health_port),
        "REDIS_URL": addresses.redis,
        "DASHBOARD_HOST": addresses.dashboard_host,
        "PYROCLAST_DASHBOARD_PORT": str(addresses.dashboard_port),
        "DASHBOARD_HOSTS": inherited.get("DASHBOARD_HOSTS") or "localhost",
        "DASHBOARD_ANONYMOUS": inherited.get("DASHBOARD_ANONYMOUS")
        or ("all" if addresses.dashboard_host == LOOPBACK else "none"),
        "ADMISSION_HOST": addresses.admission_host,
        "ADMISSION_PORT": str(addresses.admission_port),
        "ADMISSION_CREATE_CONFIGURATIONS": "" if service in addresses.accounts else "true",
        "ADMISSION_URL": addresses.admission_url,
        "ADMISSION_FAILURE_POLICY": inherited.get("ADMISSION_FAILURE_POLICY", ""),
        f"ADMISSION_{SCHEDULER_NAMES}": inherited.get(f"ADMISSION_{SCHEDULER_NAMES}", names),
        "ADMISSION_ACCOUNTS": inherited.get("ADMISSION_ACCOUNTS", "") or _accounts(addresses),
        "QUEUE_CONTROLLER_COMMANDS_FROM": inherited.get("QUEUE_CONTROLLER_COMMANDS_FROM", "")
        or ("vetted" if addresses.vetted else ""),
        SCHEDULER_NAMES: names,
        COMPAT_VARIABLE: inherited.get(COMPAT_VARIABLE) or Compat.LENIENT.value,
        **{key: inherited.get(key, usual) for key, usual in SCHEDULER_CONFIGURATION.items()},
    }
    wanted = keys_of(service)
    return {
        "LOG_FORMAT": "line",
        **inherited_by(inherited, prefixes=(f"{service.upper().replace('-', '_')}_", "KAFKA_")),
        **{key: value for key, value in told.items() if key in wanted and value},
    }


def _accounts(addresses: Addresses) -> str:
    """User names of our services, where they have accounts of their own."""
    return ",".join(user_of(service) for service in sorted(addresses.accounts))


def inherited_by(env: Mapping[str, str], *, prefixes: tuple[str, ...] = ()) -> dict[str, str]:
    """What a process of ours gets of the caller's environment."""
    names = _PROGRAM_KEYS + _OUR_KEYS
    return {
        key: value
        for key, value in env.items()
        if key in names or (prefixes and key.startswith(prefixes))
    }
