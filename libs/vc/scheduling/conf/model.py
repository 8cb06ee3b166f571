"""The configuration of the scheduler as one immutable value: actions, plugins in tiers, arguments.

Volcano's file is parsed into this value (`volcano_file.py`); the engine never reads a file. Names
are checked when the framework is built (`framework/registry.py`), so a wrong name is reported
before any session.
"""

from typing import Final

import msgspec

from vc.model.api.keys import SCHEDULER_NAME
from vc.model.compat import Compat

HIERARCHY: Final = "hierarchy"
"""The switch that is passed to plugins like an argument."""

CONF_MAP: Final = "volcano-scheduler-configmap"
CONF_KEY: Final = "volcano-scheduler.conf"
"""Name and key as in Volcano's chart."""


class PluginConf(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin with its arguments and switches."""

    name: str
    arguments: dict[str, str] = {}
    switches: dict[str, bool] = {}
    """Upstream's switches in lower case and without prefix. A switch that is not named is on."""

    @property
    def arguments_with_hierarchy(self) -> dict[str, str]:
        """Its arguments, including the hierarchy switch if it is configured."""
        # Without the switch, plugins use their own default.
        if HIERARCHY not in self.switches:
            return self.arguments
        return {**self.arguments, HIERARCHY: str(self.switches[HIERARCHY]).lower()}

    def on(self, switch: str) -> bool:
        """Whether the plugin takes part in the extension points of a switch."""
        return self.switches.get(switch, True)


class ActionConf(msgspec.Struct, frozen=True, kw_only=True):
    """An action with its arguments."""

    name: str
    arguments: dict[str, str] = {}


OWN_ACTIONS: Final = ("enqueue", "allocate", "preempt", "reclaim", "backfill")
"""Our actions, in default order."""


class Conf(msgspec.Struct, frozen=True, kw_only=True):
    """The actions of a session in order, and the plugins by tier."""

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
    """Arguments of actions, including third-party ones. Actions read theirs from the framework."""
    metrics: dict[str, str] = {}
    """Where upstream reads the usage of nodes. No plugin here uses it."""

    @property
    def plugins(self) -> tuple[PluginConf, ...]:
        """All plugins, tier by tier."""
        return tuple(plugin for tier in self.tiers for plugin in tier)


VOLCANO_ACTIONS: Final = ("enqueue", "allocate", "backfill")
"""Volcano's own default, without preempt and reclaim."""


def default_conf(compat: Compat) -> Conf:
    """The configuration without a file or ConfigMap. The tiers are the same in both modes."""
    return Conf() if compat is Compat.LENIENT else Conf(actions=VOLCANO_ACTIONS)


DEFAULT_SCHEDULER_NAMES: Final = (SCHEDULER_NAME,)
