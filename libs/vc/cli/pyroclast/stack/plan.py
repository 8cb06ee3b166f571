"""The command and the environment of every service of a stack.

The topology is data, so that a test can compare `docker-compose.yml` with it. A service gets only
the addresses that it uses: Redis, for example, is known only to the services in SNAPSHOT_SERVICES.
From the caller's environment it gets what any program needs, the logging settings, the variables
that it declares or that begin with its name (`WATCHER_PAGE_SIZE`), and those that begin with
`KAFKA_` (TLS, SASL).
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from vc.cli.pyroclast.rights import service_facts, user_of
from vc.cli.pyroclast.services import SERVICES, program_of
from vc.model.compat import COMPAT_VARIABLE, Compat
from vc.model.scheduler_names import SCHEDULER_NAMES, scheduler_names

SNAPSHOT_SERVICES: Final = frozenset(
    service for service, facts in service_facts().items() if facts.get("redis")
)
"""The services that use Redis."""

SHARED_KEYS: Final = (
    "KAFKA_BOOTSTRAP_SERVERS",
    "KUBECONFIG",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "HEALTH_PORT",
    COMPAT_VARIABLE,
)
"""Variables that every service gets."""

SCHEDULER_CONFIGURATION: Final = {
    "SCHEDULER_CONFIGMAP": "volcano-scheduler-configmap",
    "SCHEDULER_CONFIGMAP_KEY": "volcano-scheduler.conf",
}
"""The default location of the scheduler's configuration, for all services that read it."""

LOOPBACK: Final = "127.0.0.1"

PLANNED_KEYS: Final = (
    SCHEDULER_NAMES,
    *SCHEDULER_CONFIGURATION,
    "QUEUE_CONTROLLER_COMMANDS_FROM",
    "DASHBOARD_HOST",
    "DASHBOARD_HOSTS",
    "DASHBOARD_ANONYMOUS",
    "PYROCLAST_DASHBOARD_PORT",
    "ADMISSION_HOST",
    "ADMISSION_PORT",
    "ADMISSION_CREATE_CONFIGURATIONS",
    "ADMISSION_URL",
    "ADMISSION_FAILURE_POLICY",
    f"ADMISSION_{SCHEDULER_NAMES}",
    "ADMISSION_ACCOUNTS",
)
"""Variables whose values the stack determines, for the services that declare them.

SCHEDULER_NAMES must be the same for all of them.
"""

_PROGRAM_KEYS: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH")
_OUR_KEYS: Final = ("LOG_LEVEL", "LOG_FORMAT", COMPAT_VARIABLE)


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """The addresses of all servers. Services do not get empty ones."""

    kafka: str
    redis: str
    kubeconfig: str
    accounts: Mapping[str, str] = field(default_factory=dict)
    """Kubeconfigs of services with their own accounts. Other services use `kubeconfig`.

    The accounts are installed together with admission's webhooks.
    """
    logins: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """KAFKA_ variables and REDIS_URL of services with their own users there."""
    otlp: str = ""
    admission_host: str = "127.0.0.1"
    admission_url: str = ""
    """How the API server reaches admission, if not at the listening address.

    UNREACHABLE if it cannot.
    """
    dashboard_host: str = LOOPBACK
    dashboard_port: int = 0
    admission_port: int = 0
    vetted: bool = False
    """Admission is registered and checks all Commands, so those of all namespaces are accepted."""


def keys_of(service: str) -> frozenset[str]:
    """The variables that a service gets, apart from those of the machine."""
    redis = ("REDIS_URL",) if service in SNAPSHOT_SERVICES else ()
    declared = _declared(service)
    return frozenset((*SHARED_KEYS, *redis, *(key for key in PLANNED_KEYS if key in declared)))


@cache
def _declared(service: str) -> frozenset[str]:
    """The variables that the service's own program declares."""
    return frozenset(variable.name for variable in program_of(service).variables)


def command_of(service: str) -> list[str]:
    """The command that runs the service alone in a process, with the current interpreter."""
    return [sys.executable, "-m", SERVICES[service]]


def environment_of(
    service: str, addresses: Addresses, *, health_port: int, inherited: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment of a service's process."""
    names = ",".join(scheduler_names(inherited))
    settings = {
        "KAFKA_BOOTSTRAP_SERVERS": addresses.kafka,
        "KUBECONFIG": addresses.accounts.get(service, addresses.kubeconfig),
        "OTEL_EXPORTER_OTLP_ENDPOINT": addresses.otlp,
        "HEALTH_PORT": str(health_port),
        "REDIS_URL": addresses.redis,
        "DASHBOARD_HOST": addresses.dashboard_host,
        "PYROCLAST_DASHBOARD_PORT": str(addresses.dashboard_port),
        "DASHBOARD_HOSTS": inherited.get("DASHBOARD_HOSTS") or "localhost",
        "DASHBOARD_ANONYMOUS": inherited.get("DASHBOARD_ANONYMOUS")
        # A dashboard that others can reach must not show everything without a login.
        or ("all" if addresses.dashboard_host == LOOPBACK else "none"),
        "ADMISSION_HOST": addresses.admission_host,
        "ADMISSION_PORT": str(addresses.admission_port),
        # The account of a service may not create configurations: they are installed with it.
        "ADMISSION_CREATE_CONFIGURATIONS": "" if service in addresses.accounts else "true",
        "ADMISSION_URL": addresses.admission_url,
        "ADMISSION_FAILURE_POLICY": inherited.get("ADMISSION_FAILURE_POLICY", ""),
        # Admission has a variable of its own, which defaults to the names of all services.
        f"ADMISSION_{SCHEDULER_NAMES}": inherited.get(f"ADMISSION_{SCHEDULER_NAMES}", names),
        "ADMISSION_ACCOUNTS": inherited.get("ADMISSION_ACCOUNTS", "") or _accounts(addresses),
        "QUEUE_CONTROLLER_COMMANDS_FROM": inherited.get("QUEUE_CONTROLLER_COMMANDS_FROM", "")
        or ("vetted" if addresses.vetted else ""),
        SCHEDULER_NAMES: names,
        COMPAT_VARIABLE: inherited.get(COMPAT_VARIABLE) or Compat.LENIENT.value,
        **{key: inherited.get(key, usual) for key, usual in SCHEDULER_CONFIGURATION.items()},
    }
    wanted = keys_of(service)
    # Later entries win: a given variable must not override the addresses of this stack.
    return {
        "LOG_FORMAT": "line",
        **{key: inherited[key] for key in sorted(_declared(service)) if key in inherited},
        **inherited_by(inherited, prefixes=(f"{service.upper().replace('-', '_')}_", "KAFKA_")),
        **{key: value for key, value in settings.items() if key in wanted and value},
        **addresses.logins.get(service, {}),
    }


def _accounts(addresses: Addresses) -> str:
    """The user names of services with their own accounts."""
    return ",".join(user_of(service) for service in sorted(addresses.accounts))


def inherited_by(env: Mapping[str, str], *, prefixes: tuple[str, ...] = ()) -> dict[str, str]:
    """The variables of the caller's environment that a process of ours gets."""
    names = _PROGRAM_KEYS + _OUR_KEYS
    return {
        key: value
        for key, value in env.items()
        if key in names or (prefixes and key.startswith(prefixes))
    }
