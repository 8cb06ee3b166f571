"""The announcements of the built-in plugins, known before their processes announce themselves."""

from collections.abc import Mapping
from typing import Final

from vc.jobs.plugins.flags import described
from vc.messages.job_plugins import JOB_PLUGINS, JobPlugin
from vc.messages.plugins import PluginAnnouncement

_VERSION: Final = "1"


def announcement_of(plugin: JobPlugin) -> PluginAnnouncement:
    """What a built-in plugin announces about itself."""
    return PluginAnnouncement(
        plugin=plugin.name,
        version=_VERSION,
        arguments=described(plugin.flags),
        forces=list(plugin.forces),
        makes_nothing=plugin.makes_nothing,
    )


BUILT_IN_PLUGINS: Final[Mapping[str, PluginAnnouncement]] = {
    name: announcement_of(plugin) for name, plugin in JOB_PLUGINS.items()
}
