"""Loads third-party actions and plugins from entry points when the process starts.

A package declares them under `pyroclast.scheduler_plugins` (a class as in `vc/scheduling/plugins/`)
or `pyroclast.scheduler_actions` (a function of a session). The configuration enables them by name.
An extension that cannot be loaded, whose name is already taken, or whose class does not fit the
extension points is logged and left out. The scheduler runs without it.
"""

import logging
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from vc.scheduling import actions, plugins
from vc.scheduling.framework.points import InvalidPluginError, check_plugin_class

PLUGINS_GROUP: Final = "pyroclast.scheduler_plugins"
ACTIONS_GROUP: Final = "pyroclast.scheduler_actions"


def load_extensions(log: logging.Logger) -> list[str]:
    """Register all installed extensions; return the names that were added."""
    return [
        *register(plugins.REGISTRY, entry_points(group=PLUGINS_GROUP), log),
        *register(actions.REGISTRY, entry_points(group=ACTIONS_GROUP), log),
    ]


def register(
    registry: dict[str, Any], found: Iterable[EntryPoint], log: logging.Logger
) -> list[str]:
    """Add the extensions that can be loaded to a registry, in the order of their names."""
    added: list[str] = []
    # Sorted, because the order of installed distributions differs between machines.
    for point in sorted(found, key=_by_name):
        if point.name in registry:
            # Extensions may be loaded more than once in a process; the same object is no conflict.
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
    """Return the loaded object; None, with a log entry, when it raises or is no valid plugin."""
    try:
        loaded = point.load()
        # The class behind a factory function is checked when the framework calls the function.
        if point.group == PLUGINS_GROUP and isinstance(loaded, type):
            check_plugin_class(point.name, loaded)
    except InvalidPluginError as error:
        # The sentence says all that its author needs; a traceback of our own code would hide it.
        log.error("extension %s (%s) is left out: %s", point.name, point.value, error)
        return None
    except Exception:
        log.exception("extension %s (%s) cannot be loaded", point.name, point.value)
        return None
    return loaded


def _by_name(point: EntryPoint) -> tuple[str, str]:
    return (point.name, point.value)
