"""Where the configuration comes from, and what is made of a new one.

A file (`SCHEDULER_CONF`) wins when there is one: whoever starts the process with it means it. Else
the ConfigMap `SCHEDULER_CONFIGMAP` (key `SCHEDULER_CONFIGMAP_KEY`) in our namespace, followed on the bus as every other fact;
without both, the defaults. One that cannot be used changes nothing: the one before stays in force,
and the log, an Event on the ConfigMap and a meter say what is wrong and where. When a ConfigMap goes,
the defaults are back.
"""

import logging
from pathlib import Path
from typing import Final

from vc_messages.effects import RecordEvent
from vc_model.faults import describe
from vc_model.kinds import CONFIGMAPS
from vc_model.kubernetes import ConfigMap
from vc_model.meta import ApiObject
from vc_scheduler.config import CONF_KEY
from vc_scheduler.logic import actions, plugins
from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.conf_file import ConfError, read_conf

CONF_LOOK_SECONDS: Final = 5.0
"""Between two looks at the file."""

UNTOLD_MAX: Final = 100
"""Events kept until we lead; the oldest go first."""

INVALID: Final = "InvalidConfiguration"
WARNING: Final = "ConfigurationWarning"
TAKEN_OVER: Final = "ConfigurationChanged"


class ConfSource:
    """The configuration in force."""

    def __init__(self, conf: Conf, path: str, log: logging.Logger, *, key: str = CONF_KEY) -> None:
        """`path` of the file, empty for none; `key` of the ConfigMap's data."""
        self.conf = conf
        self.refused = ""
        """What is wrong with the newest configuration; empty when it is in force."""
        self._default = conf
        self._path = Path(path) if path else None
        self._key = key
        self._log = log
        self._seen: str | None = None
        self._seen_map: ApiObject | None = None
        self._untold: list[RecordEvent] = []

    # -- the file --------------------------------------------------------------------------------

    def look(self) -> bool:
        """Take a changed file over; whether there is a new configuration."""
        if self._path is None:
            return False
        try:
            text = self._path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            text = f"# {describe(error)}"
            if text != self._seen:
                self._log.warning(
                    "configuration %s cannot be read: %s", self._path, describe(error)
                )
            self._seen = text
            return False
        if text == self._seen:
            return False
        self._seen = text
        return self._take(text, str(self._path), None)

    # -- the ConfigMap ---------------------------------------------------------------------------

    def see(self, found: ApiObject | None) -> bool:
        """The ConfigMap as the view has it now; whether there is a new configuration."""
        if found is self._seen_map:
            return False
        before, self._seen_map = self._seen_map, found
        if not isinstance(found, ConfigMap):
            return self._forget()
        name = f"ConfigMap {found.key}"
        if self._path is not None:
            if before is None:
                self._log.warning("%s is not used: %s is given and wins", name, self._path)
            return False
        text = found.data.get(self._key)
        if text is None:
            named = ", ".join(sorted(found.data)) or "none"
            self._refuse(name, f"data: key {self._key!r} is missing; there are: {named}", found)
            return False
        if text == self._seen:
            return False
        self._seen = text
        return self._take(text, name, found)

    def _forget(self) -> bool:
        """The ConfigMap is gone."""
        if self._path is not None:
            return False
        self._log.warning("the configuration's ConfigMap is gone: back to the defaults")
        changed = self.conf != self._default
        self.conf, self._seen, self.refused = self._default, None, ""
        return changed

    # -- both ------------------------------------------------------------------------------------

    def _take(self, text: str, name: str, source: ConfigMap | None) -> bool:
        try:
            conf, warnings = read_conf(
                text,
                actions=tuple(sorted(actions.REGISTRY)),
                plugins=tuple(sorted(plugins.REGISTRY)),
            )
        except ConfError as error:
            self._refuse(name, str(error), source)
            return False
        for warning in warnings:
            self._log.warning("configuration %s: %s", name, warning)
            self._tell(source, WARNING, warning)
        shown = ", ".join(conf.actions)
        self._log.info("configuration %s: actions %s", name, shown)
        self.refused = ""
        changed = conf != self.conf
        self.conf = conf
        if changed:
            self._tell(source, TAKEN_OVER, f"in force: actions {shown}", kind="Normal")
        return changed

    def _refuse(self, name: str, why: str, source: ConfigMap | None) -> None:
        self.refused = why
        self._log.error("configuration %s is not used, the old one stays: %s", name, why)
        self._tell(source, INVALID, f"not used, the one before stays: {why}")

    def _tell(
        self, source: ConfigMap | None, reason: str, message: str, *, kind: str = "Warning"
    ) -> None:
        if source is None:
            return
        event = RecordEvent(
            kind=CONFIGMAPS,
            namespace=source.metadata.namespace,
            name=source.metadata.name,
            uid=source.metadata.uid,
            type=kind,
            reason=reason,
            message=message,
        )
        self._untold = [*self._untold, event][-UNTOLD_MAX:]

    def untold(self) -> list[RecordEvent]:
        """Events for the leader to write; each is given once."""
        told, self._untold = self._untold, []
        return told
