"""What can be set from outside."""

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from vc_model.scheduler_names import scheduler_names
from vc_scheduler.logic.conf import DEFAULT_SCHEDULER_NAMES, Conf
from vc_scheduler.logic.snapshot import POD_CONDITION_SECONDS

DEBOUNCE_SECONDS: Final = 0.03
"""Between the end of a session and the next: what arrives meanwhile is decided together."""

CONF_MAP: Final = "volcano-scheduler-configmap"
"""As Volcano's chart names it."""


class PodEvents(enum.Enum):
    """Which events single pods get; pod groups and vcjobs get theirs in any case."""

    NONE = "none"
    WAITING = "waiting"
    """FailedScheduling on each pod that waits."""
    ALL = "all"
    """Scheduled on each pod that is bound as well: one write more a pod."""

    @property
    def on_wait(self) -> bool:
        return self is not PodEvents.NONE

    @property
    def on_bind(self) -> bool:
        return self is PodEvents.ALL


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
    pod_condition_seconds: float = POD_CONDITION_SECONDS
    """How long a pod waits before its condition PodScheduled says why."""
    pod_events: PodEvents = PodEvents.WAITING

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """`SCHEDULER_NAMES` (comma list), `SCHEDULER_THREADS`, `SCHEDULER_DEBOUNCE_SECONDS`,
        `SCHEDULER_CONF` (path of Volcano's file), `SCHEDULER_CONFIGMAP` (name of the ConfigMap),
        `SCHEDULER_POD_CONDITION_SECONDS`, `SCHEDULER_POD_EVENTS` (none, waiting, all)."""
        debounce = environment.get("SCHEDULER_DEBOUNCE_SECONDS", "")
        return cls(
            scheduler_names=scheduler_names(environment),
            threads=environment.get("SCHEDULER_THREADS", "true").lower() != "false",
            conf_path=environment.get("SCHEDULER_CONF", ""),
            conf_map=environment.get("SCHEDULER_CONFIGMAP", CONF_MAP),
            debounce_seconds=float(debounce) if debounce else DEBOUNCE_SECONDS,
            pod_condition_seconds=_pod_condition_seconds(environment),
            pod_events=_pod_events(environment),
        )


def _pod_condition_seconds(environment: Mapping[str, str]) -> float:
    written = environment.get("SCHEDULER_POD_CONDITION_SECONDS", "")
    try:
        seconds = float(written) if written else POD_CONDITION_SECONDS
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < math.inf:
        raise ValueError(
            f"SCHEDULER_POD_CONDITION_SECONDS is {written!r}: a number of seconds from 0 is wanted"
        )
    return seconds


def _pod_events(environment: Mapping[str, str]) -> PodEvents:
    written = environment.get("SCHEDULER_POD_EVENTS", "") or PodEvents.WAITING.value
    try:
        return PodEvents(written.lower())
    except ValueError:
        known = ", ".join(choice.value for choice in PodEvents)
        raise ValueError(f"SCHEDULER_POD_EVENTS is {written!r}; there are {known}") from None
