"""Configuration of the service from environment variables."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from vc.model import variables
from vc.model.compat import COMPAT
from vc.model.scheduler_names import scheduler_names_variable
from vc.model.variables import AnyVariable
from vc.scheduling.conf.model import CONF_KEY, CONF_MAP, DEFAULT_SCHEDULER_NAMES, Conf, default_conf
from vc.scheduling.pod_status import POD_CONDITION_SECONDS

DEBOUNCE_SECONDS: Final = 0.03
"""Pause after a session; changes that arrive meanwhile are decided together."""

DEBOUNCE_SECONDS_MAX: Final = 60.0
POD_CONDITION_SECONDS_MAX: Final = 3600.0


class PodEvents(enum.Enum):
    """Which events single pods get; pod groups and vcjobs always get theirs."""

    NONE = "none"
    WAITING = "waiting"
    """FailedScheduling on each waiting pod."""
    ALL = "all"
    """Also Scheduled on each bound pod, which costs one more write per pod."""

    @property
    def on_wait(self) -> bool:
        """Whether waiting pods get an event."""
        return self is not PodEvents.NONE

    @property
    def on_bind(self) -> bool:
        """Whether bound pods get an event."""
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
    """Configuration of the scheduler service."""

    scheduler_names: tuple[str, ...] = DEFAULT_SCHEDULER_NAMES
    """Only pods with one of these scheduler names are placed; all pods count as use."""
    threads: bool = True
    """Run sessions in a worker thread, so that the event loop is never blocked.

    On a virtual loop sessions always run inline, because threads depend on real time.
    """
    debounce_seconds: float = DEBOUNCE_SECONDS
    conf: Conf = field(default_factory=Conf)
    conf_path: str = ""
    """Volcano's configuration file, polled for changes. It has precedence over the ConfigMap."""
    conf_map: str = CONF_MAP
    """Name of the ConfigMap in our namespace with Volcano's configuration; empty for none."""
    conf_key: str = CONF_KEY
    """Key of the ConfigMap's data with the configuration."""
    pod_condition_seconds: float = POD_CONDITION_SECONDS
    """How long a pod waits before its condition PodScheduled is written."""
    pod_events: PodEvents = PodEvents.WAITING

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """Read the variables in `VARIABLES`; `PYROCLAST_COMPAT` selects the default configuration."""
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
    """Return the problems of the configuration file, if there is one.

    The file is read exactly as the scheduler reads it, with extensions loaded.
    """
    path = CONF_FILE_VARIABLE.read(environment)
    if not path:
        return []
    from vc.scheduler.configuration.conf_check import file_refusal

    refused = file_refusal(path)
    return [f"{CONF_FILE_VARIABLE.name}={path!r}: {refused}"] if refused else []
