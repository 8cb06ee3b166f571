"""Configuration: only the settings of every plugin service."""

from vc.jobplugin.config import VARIABLES
from vc.jobplugin.config import PluginConfig as Config

__all__ = ["VARIABLES", "Config"]
