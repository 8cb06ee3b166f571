"""The shell of every plugin, with the core of this plugin."""

import os

from vc.jobplugin.service import PluginService
from vc.plugin_env.config import Config
from vc.plugin_env.logic import EnvCore
from vc.runtime.hosting.context import Context


def build(context: Context, config: Config | None = None) -> PluginService:
    """Create the service. Without a Config, the environment is read."""
    config = config or Config.from_env(os.environ)
    return PluginService(context, EnvCore(config.compat), config, acts=False)
