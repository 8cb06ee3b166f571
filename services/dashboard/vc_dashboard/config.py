"""What the environment may say to the dashboard."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vc_model.compat import Compat, read_compat
from vc_model.keys import SCHEDULER_NAME
from vc_model.scheduler_names import scheduler_names

CONF_MAP: Final = "volcano-scheduler-configmap"
CONF_KEY: Final = "volcano-scheduler.conf"
PORT_MAX: Final = 65535


@dataclass(frozen=True, kw_only=True)
class Config:
    """Where it listens, and whose pods the scheduler places."""

    host: str = "127.0.0.1"
    port: int = 8080
    """0 picks a free one."""
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
        port = env.get("PYROCLAST_DASHBOARD_PORT", str(cls.port))
        if not port.isascii() or not port.isdecimal() or int(port) > PORT_MAX:
            raise ValueError(
                f"PYROCLAST_DASHBOARD_PORT={port!r}: write a number from 0 to {PORT_MAX}"
            )
        return cls(
            host=env.get("DASHBOARD_HOST", cls.host),
            port=int(port),
            scheduler_names=scheduler_names(env),
            conf_map=env.get("SCHEDULER_CONFIGMAP", CONF_MAP),
            compat=read_compat(env),
            conf_key=env.get("SCHEDULER_CONFIGMAP_KEY", "") or CONF_KEY,
        )
