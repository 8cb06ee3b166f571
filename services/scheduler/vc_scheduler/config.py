"""What can be set from outside."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from vc_model import variables
from vc_model.compat import COMPAT
from vc_model.scheduler_names import scheduler_names_variable
from vc_model.variables import AnyVariable
from vc_scheduler.logic.conf import DEFAULT_SCHEDULER_NAMES, Conf, default_conf
from vc_scheduler.logic.pod_status import POD_CONDITION_SECONDS

DEBOUNCE_SECONDS: Final = 0.03
"""Between the end of a session and the next: what arrives meanwhile is decided together."""

CONF_MAP: Final = "volcano-scheduler-configmap"
CONF_KEY: Final = "volcano-scheduler.conf"
"""As Volcano's chart names them."""

DEBOUNCE_SECONDS_MAX: Final = 60.0
POD_CONDITION_SECONDS_MAX: Final = 3600.0


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


CONF_FILE_VARIABLE: Final = variables.file(
    "SCHEDULER_CONF",
    meaning="path of Volcano's configuration file, read again when it changes; wins over the ConfigMap",
)
CONF_MAP_VARIABLE: Final = variables.text(
    "SCHEDULER_CONFIGMAP",
    CONF_MAP,
    empty_counts=True,
    meaning="ConfigMap in POD_NAMESPACE with Volcano's configuration; empty for none",
)
CONF_KEY_VARIABLE: Final = variables.text(
    "SCHEDULER_CONFIGMAP_KEY", CONF_KEY, meaning="key of that ConfigMap with the configuration"
)
NAMES_VARIABLE: Final = scheduler_names_variable(
    "names of this scheduler, separated by commas; only pods that name one of them are placed"
)
THREADS_VARIABLE: Final = variables.switch(
    "SCHEDULER_THREADS", default=True, meaning="sessions run in a worker thread"
)
DEBOUNCE_VARIABLE: Final = variables.seconds(
    "SCHEDULER_DEBOUNCE_SECONDS",
    DEBOUNCE_SECONDS,
    low=0.0,
    high=DEBOUNCE_SECONDS_MAX,
    meaning="between two sessions: what arrives meanwhile is decided together",
)
POD_CONDITION_VARIABLE: Final = variables.seconds(
    "SCHEDULER_POD_CONDITION_SECONDS",
    POD_CONDITION_SECONDS,
    low=0.0,
    high=POD_CONDITION_SECONDS_MAX,
    meaning="how long a pod waits before its condition PodScheduled=False says why",
)
POD_EVENTS_VARIABLE: Final = variables.choice(
    "SCHEDULER_POD_EVENTS",
    PodEvents.WAITING.value,
    known=tuple(choice.value for choice in PodEvents),
    meaning="events on single pods: none, FailedScheduling on those that wait, or Scheduled as well",
    any_case=True,
)
VARIABLES: Final[tuple[AnyVariable, ...]] = (
    CONF_FILE_VARIABLE,
    CONF_MAP_VARIABLE,
    CONF_KEY_VARIABLE,
    COMPAT,
    NAMES_VARIABLE,
    THREADS_VARIABLE,
    DEBOUNCE_VARIABLE,
    POD_CONDITION_VARIABLE,
    POD_EVENTS_VARIABLE,
)


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
    pod_condition_seconds: float = POD_CONDITION_SECONDS
    """How long a pod waits before its condition PodScheduled says why."""
    pod_events: PodEvents = PodEvents.WAITING

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """`SCHEDULER_NAMES` (comma list), `SCHEDULER_THREADS`, `SCHEDULER_DEBOUNCE_SECONDS`,
        `SCHEDULER_CONF` (path of Volcano's file), `SCHEDULER_CONFIGMAP` (name of the ConfigMap; empty:
        none), `SCHEDULER_CONFIGMAP_KEY` (the key of its data), `PYROCLAST_COMPAT` (the defaults),
        `SCHEDULER_POD_CONDITION_SECONDS`, `SCHEDULER_POD_EVENTS` (none, waiting, all)."""
        return cls(
            scheduler_names=NAMES_VARIABLE.read(environment),
            conf=default_conf(COMPAT.read(environment)),
            threads=THREADS_VARIABLE.read(environment),
            conf_path=CONF_FILE_VARIABLE.read(environment),
            conf_map=CONF_MAP_VARIABLE.read(environment),
            conf_key=CONF_KEY_VARIABLE.read(environment),
            debounce_seconds=DEBOUNCE_VARIABLE.read(environment),
            pod_condition_seconds=POD_CONDITION_VARIABLE.read(environment),
            pod_events=PodEvents(POD_EVENTS_VARIABLE.read(environment)),
        )


def file_problems(environment: Mapping[str, str]) -> list[str]:
    """What is wrong inside the configuration file, if there is one.

    It is read as the scheduler reads it, extensions included.
    """
    path = CONF_FILE_VARIABLE.read(environment)
    if not path:
        return []
    from vc_scheduler.conf_check import file_refusal

    refused = file_refusal(path)
    return [f"{CONF_FILE_VARIABLE.name}={path!r}: {refused}"] if refused else []
