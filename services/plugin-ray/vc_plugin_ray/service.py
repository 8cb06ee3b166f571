"""The shell: the one every plugin has, around this plugin's core."""

from vc_jobplugin.service import PluginService
from vc_plugin_ray.config import Config
from vc_plugin_ray.logic import RayCore
from vc_runtime.context import Context


def build(context: Context, config: Config | None = None) -> PluginService:
    """The service on its adapters."""
    return PluginService(context, RayCore(), config)
