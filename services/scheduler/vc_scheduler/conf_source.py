"""Where the configuration comes from, and what is made of a new one.

The file may be a mounted ConfigMap (`volcano-scheduler-configmap`, as the chart does it): the kubelet
exchanges it, and the next look takes it over. A file that cannot be used changes nothing.
"""

import logging
from pathlib import Path
from typing import Final

from vc_scheduler.logic import actions, plugins
from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.conf_file import ConfError, read_conf

CONF_LOOK_SECONDS: Final = 5.0
"""Between two looks at the file."""


class ConfSource:
    """The configuration in force."""

    def __init__(self, conf: Conf, path: str, log: logging.Logger) -> None:
        self.conf = conf
        self._path = Path(path) if path else None
        self._log = log
        self._seen: str | None = None

    def look(self) -> bool:
        """Take a changed file over; whether there is a new configuration."""
        if self._path is None:
            return False
        try:
            text = self._path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            text = f"# {error}"
            if text != self._seen:
                self._log.warning("configuration %s cannot be read: %s", self._path, error)
            self._seen = text
            return False
        if text == self._seen:
            return False
        self._seen = text
        return self._take(text)

    def _take(self, text: str) -> bool:
        try:
            conf, warnings = read_conf(
                text,
                actions=tuple(sorted(actions.REGISTRY)),
                plugins=tuple(sorted(plugins.REGISTRY)),
            )
        except ConfError as error:
            self._log.error(
                "configuration %s is not used, the old one stays: %s", self._path, error
            )
            return False
        for warning in warnings:
            self._log.warning("configuration %s: %s", self._path, warning)
        self._log.info("configuration %s: actions %s", self._path, ", ".join(conf.actions))
        changed = conf != self.conf
        self.conf = conf
        return changed
