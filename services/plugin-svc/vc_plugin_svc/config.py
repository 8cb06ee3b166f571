"""What can be set from outside: no more than every plugin service has."""

from vc_jobplugin.config import VARIABLES
from vc_jobplugin.config import PluginConfig as Config

__all__ = ["VARIABLES", "Config"]
