"""The one reader of a scheduler configuration: from a text, or from the ConfigMap.

The scheduler, `vc-scheduler --check`, the dashboard and `vcctl validate` read it here, so a
configuration that one of them accepts is accepted by all. It is read against the registered actions
and plugins, including loaded extensions.
"""

from vc.model.api.kubernetes import ConfigMap
from vc.scheduling import actions, plugins
from vc.scheduling.conf.model import CONF_KEY, Conf
from vc.scheduling.conf.volcano_file import ConfError, read_conf


def read_conf_text(text: str) -> tuple[Conf, list[str]]:
    """The configuration and its warnings; raises ConfError when it cannot be used."""
    # Sorted, because error messages list the names.
    return read_conf(
        text, actions=tuple(sorted(actions.REGISTRY)), plugins=tuple(sorted(plugins.REGISTRY))
    )


def conf_text(config_map: ConfigMap, *, key: str = CONF_KEY) -> str:
    """The text of the configuration in a ConfigMap; raises ConfError when the key is missing.

    A missing key is an invalid configuration, not a request for the defaults.
    """
    text = config_map.data.get(key)
    if text is None:
        named = ", ".join(sorted(config_map.data)) or "none"
        raise ConfError(f"data: key {key!r} is missing; there are: {named}")
    return text
