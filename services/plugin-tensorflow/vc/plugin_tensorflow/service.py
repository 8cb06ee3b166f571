"""The shell of every plugin, with the core of this plugin."""

import os

from vc.jobplugin.service import PluginService
from vc.plugin_tensorflow.config import Config
from vc.plugin_tensorflow.logic import TensorflowCore
from vc.runtime.hosting.context import Context


def build(context: Context, config: Config | None = None) -> PluginService:
    """Create the service. Without a Config, the environment is read."""
    config = config or Config.from_env(os.environ)
    return PluginService(context, TensorflowCore(config.compat), config, acts=False)
