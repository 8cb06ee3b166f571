"""What the environment may say to the dashboard."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from vc_model import variables
from vc_model.compat import COMPAT, Compat
from vc_model.keys import SCHEDULER_NAME
from vc_model.scheduler_names import scheduler_names_variable
from vc_model.variables import AnyVariable

CONF_MAP: Final = "volcano-scheduler-configmap"
CONF_KEY: Final = "volcano-scheduler.conf"

_NAME: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")

HOST: Final = variables.text("DASHBOARD_HOST", "127.0.0.1", meaning="address to listen on")
PORT: Final = variables.port(
    "PYROCLAST_DASHBOARD_PORT", 8080, meaning="port to listen on; 0 picks a free one"
)
HOSTS: Final = variables.text(
    "DASHBOARD_HOSTS",
    meaning="names it answers to besides localhost and addresses, separated by commas; requests "
    "with a token may come by any name",
)
ANONYMOUS: Final = variables.choice(
    "DASHBOARD_ANONYMOUS",
    "",
    known=("all", "none"),
    meaning="what callers without a token see; by default all on a loopback address, else none",
)
NAMES: Final = scheduler_names_variable("as the scheduler is told: what-if runs its logic")
CONF_MAP_VARIABLE: Final = variables.text(
    "SCHEDULER_CONFIGMAP",
    CONF_MAP,
    empty_counts=True,
    meaning="as the scheduler is told: ConfigMap with its configuration; empty for none",
)
CONF_KEY_VARIABLE: Final = variables.text(
    "SCHEDULER_CONFIGMAP_KEY",
    CONF_KEY,
    meaning="as the scheduler is told: key of that ConfigMap with the configuration",
)
VARIABLES: Final[tuple[AnyVariable, ...]] = (
    HOST,
    PORT,
    HOSTS,
    ANONYMOUS,
    NAMES,
    CONF_MAP_VARIABLE,
    CONF_KEY_VARIABLE,
    COMPAT,
)


@dataclass(frozen=True, kw_only=True)
class Config:
    """Where it listens, and whose pods the scheduler places."""

    host: str = HOST.default
    port: int = PORT.default
    """0 picks a free one."""
    hosts: frozenset[str] = frozenset()
    """Names it answers to, besides loopback and addresses."""
    anonymous: str = ANONYMOUS.default
    """`all`, `none`, or empty: by where it listens."""
    scheduler_names: tuple[str, ...] = (SCHEDULER_NAME,)
    """As the scheduler is told; else trials would place nothing, or what is not ours to place."""

    conf_map: str = CONF_MAP
    """Where the scheduler's configuration is, as the scheduler is told: a release has its own name."""
    conf_key: str = CONF_KEY
    compat: Compat = Compat.LENIENT
    """Says what the scheduler's configuration is where nothing else does."""

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Config":
        """ValueError names the variable, the value and what to write."""
        return cls(
            host=HOST.read(env),
            port=PORT.read(env),
            hosts=frozenset(_hosts(HOSTS.read(env))),
            anonymous=ANONYMOUS.read(env),
            scheduler_names=NAMES.read(env),
            conf_map=CONF_MAP_VARIABLE.read(env),
            conf_key=CONF_KEY_VARIABLE.read(env),
            compat=COMPAT.read(env),
        )

    @property
    def anonymous_sees_all(self) -> bool:
        """Whether callers without a token see everything, rather than nothing."""
        return self.anonymous == "all" or (not self.anonymous and _is_loopback(self.host))


def _hosts(text: str) -> list[str]:
    """ValueError for what is no name of a host."""
    hosts = [part.strip().lower().rstrip(".") for part in text.split(",") if part.strip()]
    for host in hosts:
        if not _NAME.fullmatch(host):
            raise ValueError(
                f"{HOSTS.name}={text!r}: {host!r} is not the name of a host; "
                "write names without scheme and port, separated by commas"
            )
    return hosts


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
