"""Plugins that are enabled together with others: svc with pytorch, ssh and svc with mpi, and so on.

Admission writes them into the job. The job-controller adds them again in memory, because admission
is optional. A forced plugin gets no arguments, and one that the user configured keeps its own.
"""

from collections.abc import Iterable, Mapping

from vc.jobs.plugins.built_in import BUILT_IN_PLUGINS
from vc.messages.plugins import PluginAnnouncement


def forced_by(name: str, announced: Mapping[str, PluginAnnouncement]) -> list[str]:
    """Plugins that a plugin forces directly, sorted.

    A built-in plugin forces others even before it has announced itself.
    """
    known = (BUILT_IN_PLUGINS.get(name), announced.get(name))
    return sorted({forced for plugin in known if plugin is not None for forced in plugin.forces})


def with_forced(plugins: Iterable[str], announced: Mapping[str, PluginAnnouncement]) -> list[str]:
    """The plugins and all that they force, directly or through others, sorted."""
    wanted = set(plugins)
    left = sorted(wanted)
    while left:
        # Forced plugins may force others in turn.
        for forced in forced_by(left.pop(), announced):
            if forced not in wanted:
                wanted.add(forced)
                left.append(forced)
    return sorted(wanted)
