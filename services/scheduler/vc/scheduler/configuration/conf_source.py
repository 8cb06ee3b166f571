"""Source of the configuration, and handling of changes.

A file (`SCHEDULER_CONF`) has precedence, because it was given on purpose at the start of the
process. Otherwise the ConfigMap `SCHEDULER_CONFIGMAP` (key `SCHEDULER_CONFIGMAP_KEY`) in our
namespace applies, which is followed on the bus like any other fact. Without both, the defaults
apply. An invalid configuration changes nothing: the previous one stays in force, and the log, an
Event on the ConfigMap and a metric report the problem. When the ConfigMap is deleted, the defaults
apply again.
"""

import logging
from pathlib import Path
from typing import Final

from vc.messages.effects import RecordEvent
from vc.model.api.kinds import CONFIGMAPS
from vc.model.api.kubernetes import ConfigMap
from vc.model.api.meta import ApiObject
from vc.model.faults import describe
from vc.scheduling.conf.model import CONF_KEY, Conf
from vc.scheduling.conf.volcano_file import ConfError
from vc.scheduling.conf_reader import conf_text, read_conf_text

CONF_LOOK_SECONDS: Final = 5.0
"""Interval between two reads of the file."""

EVENTS_QUEUED_MAX: Final = 100
"""Maximum number of events kept until this replica leads; the oldest are dropped first."""

INVALID: Final = "InvalidConfiguration"
WARNING: Final = "ConfigurationWarning"
CHANGED: Final = "ConfigurationChanged"


class ConfSource:
    """The configuration in force."""

    def __init__(self, conf: Conf, path: str, log: logging.Logger, *, key: str = CONF_KEY) -> None:
        """Start with `conf`; `path` is the file (empty for none), `key` the key in the ConfigMap."""
        self.conf = conf
        self.refused = ""
        """Problem of the newest configuration; empty when it is in force."""
        self._default = conf
        self._path = Path(path) if path else None
        self._key = key
        self._log = log
        self._seen: str | None = None
        self._seen_map: ApiObject | None = None
        self._events: list[RecordEvent] = []

    # -- the file --------------------------------------------------------------------------------

    def look(self) -> bool:
        """Read the file; return whether there is a new configuration."""
        if self._path is None:
            return False
        try:
            text = self._path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            # The error is remembered like a text, so that it is logged once and not at every read.
            text = f"# {describe(error)}"
            if text != self._seen:
                self._log.warning(
                    "configuration unreadable source=%s error=%s", self._path, describe(error)
                )
            self._seen = text
            return False
        if text == self._seen:
            return False
        self._seen = text
        return self._take(text, str(self._path), None)

    # -- the ConfigMap ---------------------------------------------------------------------------

    def see(self, found: ApiObject | None) -> bool:
        """Read the ConfigMap of the view; return whether there is a new configuration."""
        # The view replaces an object when it changes, so identity is enough and costs nothing per
        # session.
        if found is self._seen_map:
            return False
        before, self._seen_map = self._seen_map, found
        if not isinstance(found, ConfigMap):
            return self._forget()
        name = f"ConfigMap {found.key}"
        if self._path is not None:
            if before is None:
                self._log.warning("configuration ignored source=%s used=%s", name, self._path)
            return False
        try:
            text = conf_text(found, key=self._key)
        except ConfError as error:
            self._refuse(name, str(error), found)
            return False
        if text == self._seen:
            return False
        self._seen = text
        return self._take(text, name, found)

    def _forget(self) -> bool:
        """Return to the defaults, because the ConfigMap was deleted."""
        if self._path is not None:
            return False
        self._log.warning("configuration deleted source=ConfigMap used=defaults")
        changed = self.conf != self._default
        self.conf, self._seen, self.refused = self._default, None, ""
        return changed

    # -- file and ConfigMap ----------------------------------------------------------------------

    def _take(self, text: str, name: str, source: ConfigMap | None) -> bool:
        """Parse a configuration and put it in force; return whether it differs."""
        try:
            conf, warnings = read_conf_text(text)
        except ConfError as error:
            self._refuse(name, str(error), source)
            return False
        for warning in warnings:
            self._log.warning("configuration warning source=%s warning=%s", name, warning)
            self._queue_event(source, WARNING, warning)
        shown = ", ".join(conf.actions)
        self._log.info("configuration in force source=%s actions=%s", name, shown)
        self.refused = ""
        changed = conf != self.conf
        self.conf = conf
        if changed:
            self._queue_event(source, CHANGED, f"in force: actions {shown}", kind="Normal")
        return changed

    def _refuse(self, name: str, why: str, source: ConfigMap | None) -> None:
        """Keep the configuration in force, and report why the new one is not used."""
        self.refused = why
        self._log.error("configuration refused source=%s error=%s", name, why)
        self._queue_event(source, INVALID, f"not used, the one before stays: {why}")

    def _queue_event(
        self, source: ConfigMap | None, reason: str, message: str, *, kind: str = "Warning"
    ) -> None:
        """Queue an event on the ConfigMap; a file has no object for events."""
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
        self._events = [*self._events, event][-EVENTS_QUEUED_MAX:]

    def take_events(self) -> list[RecordEvent]:
        """Return the queued events for the leader to write; each is returned once."""
        events, self._events = self._events, []
        return events
