"""The shell: the one every plugin has, around this plugin's core."""

import os

from vc_jobplugin.service import PluginService
from vc_plugin_tensorflow.config import Config
from vc_plugin_tensorflow.logic import TensorflowCore
from vc_runtime.context import Context


def build(context: Context, config: Config | None = None) -> PluginService:
    """The service on its adapters; without a Config the environment says."""
    config = config or Config.from_env(os.environ)
    return PluginService(context, TensorflowCore(config.compat), config, acts=False)
