"""The scheduler's configuration: top-level keys, switches, actions, plugins and their arguments."""

import enum
from typing import Final

import msgspec

from vc.model.support.answers import UNSUPPORTED, Case, Entry, effect, refused, warned

TOP_LEVEL: Final = "Scheduler configuration"
SWITCH: Final = "Switch of a plugin"
ACTION: Final = "Action"
PLUGIN: Final = "Plugin"
GANG_ARGUMENT: Final = "Argument of gangpreempt and gangreclaim"
WEIGHT_MAX: Final = 10_000
"""The highest weight of a score; a configuration with a higher one is rejected. Scores have at most
a million points, so their weighted sum fits into a sort key.
"""


class ArgumentKind(enum.Enum):
    """How an argument is parsed."""

    WEIGHT = "a whole number from 0 to 10000"
    LEVEL = "a whole number of 0 or more"
    FACTOR = "a number of 1 or more"
    SWITCH = "true or false"
    DURATION = "a duration such as 90s or 1h30m"
    DELAY = "a duration from 0 to 10m, such as 500ms"
    NAMES = "names with commas between them"
    ANYTHING = "any text"


class Argument(msgspec.Struct, frozen=True, kw_only=True):
    """An argument of a plugin or of an action."""

    owner: str
    name: str
    """A trailing `<name>` stands for any text."""
    kind: ArgumentKind
    case: Case

    @property
    def prefix(self) -> str:
        """The common prefix of a family of arguments; empty for a single argument."""
        return self.name.removesuffix("<name>") if self.name.endswith("<name>") else ""


def _argument(
    owner: str, name: str, kind: ArgumentKind, text: str, *, idle: bool = False
) -> Argument:
    case = warned(text) if idle else effect(text)
    return Argument(owner=owner, name=name, kind=kind, case=case)


def _weight(owner: str, name: str, text: str) -> Argument:
    return _argument(owner, name, ArgumentKind.WEIGHT, text)


def _check(name: str, text: str) -> Argument:
    return _argument("predicates", f"predicate.{name}Enable", ArgumentKind.SWITCH, text)


_DRA: Final = f"has no effect: dynamic resource allocation is {UNSUPPORTED}"
_SIMULATED: Final = "has no effect: victims are always found by simulating the whole gang"

ARGUMENTS: Final[tuple[Argument, ...]] = (
    _weight("binpack", "binpack.weight", "weight of the score"),
    _weight("binpack", "binpack.cpu", "weight of cpu"),
    _weight("binpack", "binpack.memory", "weight of memory"),
    _argument("binpack", "binpack.resources", ArgumentKind.NAMES, "other resources that count"),
    _weight("binpack", "binpack.resources.<name>", "weight of that resource"),
    _argument("capacity", "ancestorReclaimLevel", ArgumentKind.LEVEL, "levels whose share counts"),
    _argument(
        "capacity",
        "capacity.DynamicResourceAllocationEnable",
        ArgumentKind.ANYTHING,
        _DRA,
        idle=True,
    ),
    _argument(
        "capacity", "capacity.DRAConsumableCapacityEnable", ArgumentKind.ANYTHING, _DRA, idle=True
    ),
    _weight("nodeorder", "leastrequested.weight", "weight of free nodes"),
    _weight("nodeorder", "mostrequested.weight", "weight of full nodes"),
    _weight("nodeorder", "nodeaffinity.weight", "weight of preferred node affinity"),
    _weight("nodeorder", "podaffinity.weight", "weight of preferred pod affinity"),
    _weight("nodeorder", "balancedresource.weight", "weight of balance"),
    _weight("nodeorder", "tainttoleration.weight", "weight of taints that only advise"),
    _weight("nodeorder", "imagelocality.weight", "weight of images on the node"),
    _weight("nodeorder", "podtopologyspread.weight", "weight of preferred spread"),
    _argument("overcommit", "overcommit-factor", ArgumentKind.FACTOR, "times the cluster"),
    _check("NodeAffinity", "node selector and affinity"),
    _check("TaintToleration", "taints"),
    _check("NodePorts", "host ports"),
    _check("PodAffinity", "pod (anti-)affinity"),
    _check("PodTopologySpread", "topology spread"),
    _check("NodeVolumeLimits", "volumes of a node"),
    _check("VolumeZone", "zones of volumes"),
    _check("VolumeBinding", "claims"),
    _argument(
        "predicates",
        "predicate.DynamicResourceAllocationEnable",
        ArgumentKind.ANYTHING,
        _DRA,
        idle=True,
    ),
    _argument(
        "predicates",
        "predicate.CacheEnable",
        ArgumentKind.ANYTHING,
        "has no effect: equal pods always share one check",
        idle=True,
    ),
    _argument("sla", "sla-waiting-time", ArgumentKind.DURATION, "waiting time of every job"),
    _weight("task-topology", "task-topology.weight", "weight of the score"),
    _argument(
        "allocate",
        "surplusDelay",
        ArgumentKind.DELAY,
        "how long pods beyond a job's minimum wait after it (500ms; 0 for none)",
    ),
    *(
        _argument("preempt", name, ArgumentKind.ANYTHING, _SIMULATED, idle=True)
        for name in (
            "predicateErrorCacheEnable",
            "enableTopologyAwarePreemption",
            "topologyAwarePreemptWorkerNum",
            "minCandidateNodesPercentage",
            "minCandidateNodesAbsolute",
            "maxCandidateNodesAbsolute",
        )
    ),
)

IDLE_SWITCHES: Final = {
    "clusterorder": "there is one cluster",
    "bestnode": "scores decide alone",
    "targetjob": "no job is elected",
    "reservednodes": "no node is reserved",
    "victim": "there is no action shuffle",
    "hypernodeorder": "there is no network topology",
    "hypernodegradient": "there is no network topology",
    "subjobready": "there are no sub-groups",
    "subjobpipelined": "there are no sub-groups",
    "subjoborder": "there are no sub-groups",
}
"""Switches of upstream features that we do not have, and why they have no effect."""

EFFECTIVE_SWITCHES: Final = (
    "joborder", "hierarchy", "jobready", "jobpipelined", "taskorder", "preemptable", "reclaimable",
    "preemptive", "queueorder", "predicate", "nodeorder", "jobenqueued", "jobstarving", "overused",
    "allocatable",
)  # fmt: skip
"""Upstream's switches that enable or disable a part of a plugin,
without their prefix, in lower case.
"""

OWN_ACTIONS: Final = ("enqueue", "allocate", "preempt", "reclaim", "backfill")
OTHER_NAMES: Final = {"gangpreempt": "preempt", "gangreclaim": "reclaim"}
"""Volcano's other names of our actions."""
ABSENT_ACTIONS: Final = ("shuffle",)
OWN_PLUGINS: Final = (
    "binpack", "capacity", "cdp", "conformance", "drf", "gang", "nodeorder", "overcommit", "pdb",
    "predicates", "priority", "proportion", "resourcequota", "sla", "task-topology",
)  # fmt: skip
ABSENT_PLUGINS: Final = (
    "deviceshare", "extender", "network-topology-aware", "nodegroup", "numa-aware", "rescheduling",
    "resource-strategy-fit", "tdm", "usage",
)  # fmt: skip
"""Plugins of upstream that this release does not have: left out with a warning."""

TOP_KEYS: Final = {
    "actions": effect("the actions of a session, in their order"),
    "tiers": effect("plugins, tier by tier"),
    "configurations": effect("arguments of actions"),
    "metrics": warned("has no effect: no plugin reads the usage of nodes"),
}


def known_arguments(owner: str) -> tuple[Argument, ...]:
    """The arguments of a plugin or an action."""
    return tuple(argument for argument in ARGUMENTS if argument.owner == owner)


def _entry(scope: str, path: str, case: Case) -> Entry:
    return Entry(scope=scope, path=path, cases=(case,))


CONFIGURATION: Final[tuple[Entry, ...]] = (
    *(_entry(TOP_LEVEL, key, case) for key, case in TOP_KEYS.items()),
    _entry(TOP_LEVEL, "any other key", refused("the configuration before stays in force")),
    *(_entry(ACTION, name, effect("runs in a session")) for name in OWN_ACTIONS),
    *(_entry(ACTION, name, effect(f"another name of {own}")) for name, own in OTHER_NAMES.items()),
    *(_entry(ACTION, name, warned("left out with a warning")) for name in ABSENT_ACTIONS),
    _entry(ACTION, "any other name", refused("the configuration before stays in force")),
    *(_entry(PLUGIN, name, effect("takes part in sessions")) for name in OWN_PLUGINS),
    *(_entry(PLUGIN, name, warned("left out with a warning")) for name in ABSENT_PLUGINS),
    _entry(PLUGIN, "any other name", refused("the configuration before stays in force")),
    *(_entry(SWITCH, name, effect("turns that part on or off")) for name in EFFECTIVE_SWITCHES),
    *(_entry(SWITCH, name, warned(f"has no effect: {why}")) for name, why in IDLE_SWITCHES.items()),
    _entry(SWITCH, "any other switch", refused("the configuration before stays in force")),
    *(
        _entry(f"Argument of {argument.owner}", argument.name, argument.case)
        for argument in ARGUMENTS
    ),
    _entry(GANG_ARGUMENT, "allowWholeBundle", effect("false: no gang falls below its minimum")),
    _entry(GANG_ARGUMENT, "maxDomains", warned("has no effect: there is no network topology")),
    _entry(
        "Argument of a plugin or action",
        "any other argument",
        warned("a warning names it and the nearest that is known"),
    ),
)
