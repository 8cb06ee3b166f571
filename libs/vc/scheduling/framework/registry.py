"""Creates the plugins of a configuration from their registry."""

from collections.abc import Callable, Mapping

from vc.scheduling.framework.extension_point import Plugin
from vc.scheduling.framework.points import check_plugin_class

PluginFactory = Callable[[Mapping[str, str]], Plugin]
"""Mostly the class of the plugin. It is called with the arguments of the configuration."""


class UnknownPluginError(ValueError):
    """The configuration names an unknown plugin. The message lists the known ones."""


class PluginFailedError(ValueError):
    """A plugin could not be constructed from its arguments. The cause is what it raised."""

    def __init__(self, name: str) -> None:
        super().__init__(f"plugin {name!r} cannot be made from its arguments")
        self.name = name


def make_plugin(
    name: str, arguments: Mapping[str, str], registry: Mapping[str, PluginFactory]
) -> Plugin:
    """Construct one plugin and check its class."""
    factory = registry.get(name)
    if factory is None:
        known = ", ".join(sorted(registry))
        raise UnknownPluginError(f"plugin {name!r} is not known; there are {known}")
    try:
        plugin = factory(arguments)
        # The class of what a factory returns is known only now. The result is cached.
        check_plugin_class(name, type(plugin))
    # A third-party plugin may raise anything. The caller needs its name to leave it out.
    except Exception as error:
        raise PluginFailedError(name) from error
    return plugin
