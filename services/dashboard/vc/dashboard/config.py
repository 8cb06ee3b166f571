"""Configuration of the dashboard from the environment."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from vc.model import variables
from vc.model.api.keys import SCHEDULER_NAME
from vc.model.compat import COMPAT, Compat
from vc.model.scheduler_names import scheduler_names_variable
from vc.model.variables import AnyVariable
from vc.scheduling.conf.model import CONF_KEY, CONF_MAP

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
NAMES: Final = scheduler_names_variable("same as for the scheduler: what-if runs its logic")
CONF_MAP_VARIABLE: Final = variables.text(
    "SCHEDULER_CONFIGMAP",
    CONF_MAP,
    empty_counts=True,
    meaning="same as for the scheduler: ConfigMap with its configuration; empty for none",
)
CONF_KEY_VARIABLE: Final = variables.text(
    "SCHEDULER_CONFIGMAP_KEY",
    CONF_KEY,
    meaning="same as for the scheduler: key of that ConfigMap with the configuration",
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
    """Listening address, access, and the settings that must equal those of the scheduler."""

    host: str = HOST.default
    port: int = PORT.default
    """0 picks a free port."""
    hosts: frozenset[str] = frozenset()
    """Host names it answers to, besides loopback and IP addresses."""
    anonymous: str = ANONYMOUS.default
    """`all`, `none`, or empty: depends on the listening address."""
    scheduler_names: tuple[str, ...] = (SCHEDULER_NAME,)
    """The same as the scheduler's. Otherwise simulations would place no
    pods, or pods of other schedulers."""

    conf_map: str = CONF_MAP
    """The ConfigMap with the scheduler's configuration, the same as the scheduler's own setting."""
    conf_key: str = CONF_KEY
    compat: Compat = Compat.LENIENT
    """Determines the scheduler's default configuration."""

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Config":
        """Read the environment. ValueError names the variable, the value and what to write."""
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
        """Whether callers without a token see everything instead of nothing."""
        return self.anonymous == "all" or (not self.anonymous and _is_loopback(self.host))


def _hosts(text: str) -> list[str]:
    """Host names, separated by commas. Raises ValueError for an invalid name."""
    # Host headers are compared in lower case and without the final dot.
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
