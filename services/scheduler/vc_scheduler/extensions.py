"""Actions and plugins of third parties, found by entry points when the process starts.

A package names them under `pyroclast.scheduler_plugins` (a class as in `logic/plugins/`) or
`pyroclast.scheduler_actions` (a function of a session); a line in the configuration switches them on.
One that cannot be loaded, or takes a name that is taken, is reported and left out: the scheduler
goes on without it.
"""

import logging
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from vc_scheduler.logic import actions, plugins

PLUGINS_GROUP: Final = "pyroclast.scheduler_plugins"
ACTIONS_GROUP: Final = "pyroclast.scheduler_actions"


def load_extensions(log: logging.Logger) -> list[str]:
    """Register everything that is installed; the names that were added."""
    return [
        *register(plugins.REGISTRY, entry_points(group=PLUGINS_GROUP), log),
        *register(actions.REGISTRY, entry_points(group=ACTIONS_GROUP), log),
    ]


def register(
    registry: dict[str, Any], found: Iterable[EntryPoint], log: logging.Logger
) -> list[str]:
    """Add what can be loaded to a registry, in the order of names."""
    added: list[str] = []
    for point in sorted(found, key=_by_name):
        if point.name in registry:
            if registry[point.name] is not _loaded(point, log):
                log.error("extension %s (%s): the name is taken", point.name, point.value)
            continue
        loaded = _loaded(point, log)
        if loaded is not None:
            registry[point.name] = loaded
            added.append(point.name)
            log.info("extension %s from %s", point.name, point.value)
    return added


def _loaded(point: EntryPoint, log: logging.Logger) -> Any:
    try:
        return point.load()
    except Exception:
        log.exception("extension %s (%s) cannot be loaded", point.name, point.value)
        return None


def _by_name(point: EntryPoint) -> tuple[str, str]:
    return (point.name, point.value)
