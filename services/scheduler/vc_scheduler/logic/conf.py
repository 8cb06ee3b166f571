"""The scheduler's configuration as one frozen value: actions, plugins in tiers, their arguments.

Volcano's file is read into this (`conf_file.py`); the logic never sees a file. Names are checked when the
framework is built (`framework.py`), so a wrong name says so before any session.
"""

from typing import Final

import msgspec

from vc_model.compat import Compat
from vc_model.keys import SCHEDULER_NAME

HIERARCHY: Final = "hierarchy"
"""The switch that plugins are told of like an argument."""


class PluginConf(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin and what it was told."""

    name: str
    arguments: dict[str, str] = {}
    switches: dict[str, bool] = {}
    """Upstream's switches without prefix, in lower case; what is not named is on."""

    @property
    def told(self) -> dict[str, str]:
        """Its arguments, and whether it goes by hierarchy where that is written."""
        if HIERARCHY not in self.switches:
            return self.arguments
        return {**self.arguments, HIERARCHY: str(self.switches[HIERARCHY]).lower()}

    def on(self, switch: str) -> bool:
        """Whether the plugin takes part there."""
        return self.switches.get(switch, True)


class ActionConf(msgspec.Struct, frozen=True, kw_only=True):
    """An action and what it was told."""

    name: str
    arguments: dict[str, str] = {}


OWN_ACTIONS: Final = ("enqueue", "allocate", "preempt", "reclaim", "backfill")
"""Ours, in the order of the default."""


class Conf(msgspec.Struct, frozen=True, kw_only=True):
    """What a session does, in which order, asking whom."""

    actions: tuple[str, ...] = OWN_ACTIONS
    tiers: tuple[tuple[PluginConf, ...], ...] = (
        (
            PluginConf(name="priority"),
            PluginConf(name="gang"),
            PluginConf(name="conformance"),
        ),
        (
            PluginConf(name="overcommit"),
            PluginConf(name="drf"),
            PluginConf(name="predicates"),
            PluginConf(name="proportion"),
            PluginConf(name="nodeorder"),
        ),
    )

    configurations: tuple[ActionConf, ...] = ()
    """Arguments of actions, of ours and of third parties'; they ask the framework for theirs."""
    metrics: dict[str, str] = {}
    """Where upstream reads the usage of nodes; nobody here does."""

    @property
    def plugins(self) -> tuple[PluginConf, ...]:
        """All plugins, tier by tier."""
        return tuple(plugin for tier in self.tiers for plugin in tier)


VOLCANO_ACTIONS: Final = ("enqueue", "allocate", "backfill")
"""Volcano's own default, without eviction."""


def default_conf(compat: Compat) -> Conf:
    """Where no file and no ConfigMap says; the tiers are the same in both."""
    return Conf() if compat is Compat.LENIENT else Conf(actions=VOLCANO_ACTIONS)


DEFAULT_SCHEDULER_NAMES: Final = (SCHEDULER_NAME,)
