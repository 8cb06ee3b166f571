"""What can be set from outside."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from vc_model.compat import read_compat
from vc_model.scheduler_names import scheduler_names
from vc_scheduler.logic.conf import DEFAULT_SCHEDULER_NAMES, Conf, default_conf

DEBOUNCE_SECONDS: Final = 0.03
"""Between the end of a session and the next: what arrives meanwhile is decided together."""

CONF_MAP: Final = "volcano-scheduler-configmap"
CONF_KEY: Final = "volcano-scheduler.conf"
"""As Volcano's chart names them."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The scheduler's own keys."""

    scheduler_names: tuple[str, ...] = DEFAULT_SCHEDULER_NAMES
    """Only pods that name one of these are ours; all pods are accounted for."""
    threads: bool = True
    """Sessions run in a worker thread, so that the event loop never stands still. On a virtual
    loop they run inline whatever this says: threads would bring real time in."""
    debounce_seconds: float = DEBOUNCE_SECONDS
    conf: Conf = field(default_factory=Conf)
    conf_path: str = ""
    """Volcano's configuration file; looked at again and again. It wins over the ConfigMap."""
    conf_map: str = CONF_MAP
    """The ConfigMap in our namespace with Volcano's configuration; empty for none."""
    conf_key: str = CONF_KEY
    """The key of its data that holds the configuration."""

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """`SCHEDULER_NAMES` (comma list), `SCHEDULER_THREADS`, `SCHEDULER_DEBOUNCE_SECONDS`,
        `SCHEDULER_CONF` (path of Volcano's file), `SCHEDULER_CONFIGMAP` (name of the ConfigMap; empty:
        none), `SCHEDULER_CONFIGMAP_KEY` (the key of its data), `PYROCLAST_COMPAT` (the defaults)."""
        debounce = environment.get("SCHEDULER_DEBOUNCE_SECONDS", "")
        return cls(
            scheduler_names=scheduler_names(environment),
            conf=default_conf(read_compat(environment)),
            threads=environment.get("SCHEDULER_THREADS", "true").lower() != "false",
            conf_path=environment.get("SCHEDULER_CONF", ""),
            conf_map=environment.get("SCHEDULER_CONFIGMAP", CONF_MAP),
            conf_key=environment.get("SCHEDULER_CONFIGMAP_KEY", "") or CONF_KEY,
            debounce_seconds=float(debounce) if debounce else DEBOUNCE_SECONDS,
        )
