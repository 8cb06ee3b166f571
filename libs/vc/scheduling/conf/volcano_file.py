"""Parses Volcano's configuration file into a `Conf`, or raises an error with its location.

Switches are accepted in both spellings of upstream (`enableJobOrder`, `enabledJobOrder`). Names
that only upstream supports are left out with a warning. Unknown names are errors, so that a typing
mistake never silently changes which jobs run. The names are those of the support table.
"""

from collections.abc import Mapping
from typing import Any, Final

from vc.model.faults import describe
from vc.model.support.configuration import (
    ABSENT_ACTIONS,
    ABSENT_PLUGINS,
    EFFECTIVE_SWITCHES,
    IDLE_SWITCHES,
    TOP_KEYS,
)
from vc.model.support.nearest import did_you_mean
from vc.model.values import bounded_yaml
from vc.scheduling.conf.action_names import ActionArgumentError, with_own_names
from vc.scheduling.conf.argument_checks import argument_warnings, too_high
from vc.scheduling.conf.model import ActionConf, Conf, PluginConf
from vc.scheduling.conf.surplus_delay import surplus_delay_seconds

CONF_BYTES_MAX: Final = 1_000_000


class ConfError(ValueError):
    """The file is invalid. The message says where and why."""


class _Reader:
    """Converts one parsed file and collects warnings."""

    def __init__(self, actions: tuple[str, ...], plugins: tuple[str, ...]) -> None:
        self._actions = actions
        self._plugins = plugins
        self.warnings: list[str] = []

    def conf(self, written: Any) -> Conf:
        if not isinstance(written, dict):
            raise ConfError("the file must be a mapping with `actions` and `tiers`")
        for key in written:
            if key not in TOP_KEYS:
                hint = did_you_mean(str(key), TOP_KEYS)
                raise ConfError(f"{key}: not known; there are {', '.join(TOP_KEYS)}{hint}")
        tiers = _list(written.get("tiers"), "tiers")
        return Conf(
            actions=self._read_actions(written.get("actions")),
            tiers=tuple(self._tier(tier, f"tiers[{n}]") for n, tier in enumerate(tiers)),
            configurations=self._configurations(written.get("configurations")),
            metrics=_arguments(written.get("metrics"), "metrics"),
        )

    def _configurations(self, written: Any) -> tuple[ActionConf, ...]:
        listed = enumerate(_list(written, "configurations") if written is not None else ())
        read = [self._configuration(entry, f"configurations[{n}]") for n, entry in listed]
        return tuple(entry for entry in read if entry is not None)

    def _configuration(self, written: Any, at: str) -> ActionConf | None:
        name = written.get("name") if isinstance(written, dict) else None
        if not isinstance(written, dict) or not isinstance(name, str):
            raise ConfError(f"{at}: must be a mapping with a `name`")
        for key in written:
            if key not in ("name", "arguments"):
                raise ConfError(f"{at}.{key}: not known; there are name, arguments")
        arguments = _arguments(written.get("arguments"), f"{at}.arguments")
        if name in self._actions:
            # An invalid delay must be reported here, and not by the first session.
            if name == "allocate":
                _check_allocate(arguments, f"{at}.arguments")
            return ActionConf(name=name, arguments=arguments)
        if name not in ABSENT_ACTIONS:
            known = ", ".join(self._actions)
            raise ConfError(f"{at}: action {name!r} is not known; there are {known}")
        self.warnings.append(f"{at}: {name} is not implemented and left out")
        return None

    def _read_actions(self, written: Any) -> tuple[str, ...]:
        if not isinstance(written, str) or not written.strip():
            raise ConfError("actions: must be a list of names with commas between them")
        found: list[str] = []
        for name in [part.strip() for part in written.split(",") if part.strip()]:
            if name in self._actions:
                found.append(name)
            elif name in ABSENT_ACTIONS:
                self.warnings.append(f"actions: {name} is not implemented and left out")
            else:
                raise ConfError(
                    f"actions: {name!r} is not known; there are {', '.join(self._actions)}"
                    + did_you_mean(name, self._actions)
                )
        return tuple(found)

    def _tier(self, written: Any, at: str) -> tuple[PluginConf, ...]:
        if not isinstance(written, dict):
            raise ConfError(f"{at}: must be a mapping with `plugins`")
        listed = enumerate(_list(written.get("plugins"), f"{at}.plugins"))
        read = [self._plugin(plugin, f"{at}.plugins[{n}]") for n, plugin in listed]
        found = tuple(plugin for plugin in read if plugin is not None)
        # As in upstream, the two are rejected together: both compute shares of queues.
        names = [plugin.name for plugin in found]
        fair = [p for p in found if p.name == "drf" and p.switches.get("hierarchy")]
        if fair and "proportion" in names:
            raise ConfError(f"{at}: drf with enableHierarchy and proportion contradict each other")
        return found

    def _plugin(self, written: Any, at: str) -> PluginConf | None:
        name = written.get("name") if isinstance(written, dict) else None
        if not isinstance(written, dict) or not isinstance(name, str):
            raise ConfError(f"{at}: must be a mapping with a `name`")
        if name not in self._plugins:
            if name not in ABSENT_PLUGINS:
                known = ", ".join(sorted(self._plugins))
                hint = did_you_mean(name, self._plugins)
                raise ConfError(f"{at}: plugin {name!r} is not known; there are {known}{hint}")
            self.warnings.append(f"{at}: plugin {name} is not implemented and left out")
            return None
        switches = {
            _switch(key, value, at): bool(value)
            for key, value in written.items()
            if key not in ("name", "arguments")
        }
        return PluginConf(
            name=name,
            switches=switches,
            arguments=_arguments(written.get("arguments"), f"{at}.arguments"),
        )


def read_conf(
    text: str, *, actions: tuple[str, ...], plugins: tuple[str, ...]
) -> tuple[Conf, list[str]]:
    """The configuration and warnings about it; raises `ConfError` if it is invalid."""
    # The size is checked before parsing, which is the expensive step.
    if len(text.encode()) > CONF_BYTES_MAX:
        raise ConfError(f"the file is larger than {CONF_BYTES_MAX} bytes")
    try:
        written = bounded_yaml.load(text)
    except bounded_yaml.YamlError as error:
        raise ConfError(f"not YAML: {error}") from error
    try:
        return _read(written, actions, plugins)
    except ActionArgumentError as error:
        raise ConfError(str(error)) from error
    except ConfError:
        raise
    # The text is user input: an unforeseen form must yield a message, not a crash.
    except Exception as error:
        raise ConfError(f"cannot be read: {type(error).__name__}: {describe(error)}") from error


def _read(
    written: Any, actions: tuple[str, ...], plugins: tuple[str, ...]
) -> tuple[Conf, list[str]]:
    # Aliases are replaced first, so that the reader knows only our names.
    written, renamed = with_own_names(written, actions)
    reader = _Reader(actions, plugins)
    conf = reader.conf(written)
    if problem := too_high(conf):
        raise ConfError(problem)
    return conf, renamed + reader.warnings + lint(conf)


def lint(conf: Conf) -> list[str]:
    """Warnings for settings that are valid but probably not intended."""
    found: list[str] = []
    names = [plugin.name for plugin in conf.plugins]
    # Only the first plugin that provides shares is used.
    if "proportion" in names and "capacity" in names:
        found.append(
            "proportion and capacity are both on: the first one decides what queues deserve"
        )
    if "reclaim" in conf.actions and not _shares(conf):
        found.append("reclaim is on without proportion or capacity: nothing will be reclaimed")
    if {"preempt", "reclaim"} & set(conf.actions):
        found += _silent_tier(conf) + _kept_gangs(conf)
    found += _late_sla(conf) + _without_effect(conf)
    for plugin in conf.plugins:
        listed = plugin.arguments.get("binpack.resources")
        if plugin.name == "binpack" and listed is not None and "/" not in listed:
            found.append("binpack without accelerators: nodes with GPUs are not filled up")
    if "gang" not in names:
        found.append("gang is off: jobs start in parts and may wait for one another forever")
    return found


def _shares(conf: Conf) -> bool:
    """Whether any plugin provides deserved shares."""
    return any(
        plugin.name in ("proportion", "capacity")
        or (plugin.name == "drf" and plugin.switches.get("hierarchy", False))
        for plugin in conf.plugins
    )


def _without_effect(conf: Conf) -> list[str]:
    warnings = argument_warnings(conf)
    warnings += [
        f"metrics: {key!r} has no effect: no plugin here reads the usage of nodes"
        for key in sorted(conf.metrics)
    ]
    return warnings + [
        f"{plugin.name}: switch {switch!r} has no effect here: {IDLE_SWITCHES[switch]}"
        for plugin in conf.plugins
        for switch in sorted(plugin.switches)
        if switch in IDLE_SWITCHES
    ]


def _check_allocate(arguments: Mapping[str, str], at: str) -> None:
    try:
        surplus_delay_seconds(arguments)
    except ValueError as error:
        raise ConfError(f"{at}: {error}") from error


def _late_sla(conf: Conf) -> list[str]:
    """A warning if sla comes after plugins that refuse jobs: its pass affects only later tiers."""
    rejecting = ("overcommit", "proportion", "capacity", "resourcequota")
    for tier in conf.tiers:
        names = [plugin.name for plugin in tier]
        if "sla" in names:
            return []
        if any(name in rejecting for name in names):
            break
    if "sla" not in [plugin.name for plugin in conf.plugins]:
        return []
    return ["sla after plugins that reject jobs: move it to the first tier, or it enqueues no job"]


def _silent_tier(conf: Conf) -> list[str]:
    first = {plugin.name: plugin for plugin in conf.tiers[0]} if conf.tiers else {}
    gang = first.get("gang")
    later = {plugin.name for tier in conf.tiers[1:] for plugin in tier}
    shared = bool({"proportion", "capacity"} & later)
    if gang is None or "reclaimable" in gang.switches or not shared:
        return []
    return [
        (
            "gang in the first tier without `enableReclaimable: false`: upstream would never ask the "
            "shares of the second tier and reclaim nothing by them; here they are always rejecting"
        )
    ]


def _kept_gangs(conf: Conf) -> list[str]:
    gang = next((plugin for plugin in conf.plugins if plugin.name == "gang"), None)
    actions = {"preempt": "Preemptable", "reclaim": "Reclaimable"}
    return [
        f"{action} with `enable{switch}: true` of gang: jobs give only what they have beyond their minimum"
        for action, switch in actions.items()
        if gang is not None and action in conf.actions and gang.switches.get(switch.lower())
    ]


def _switch(key: object, value: object, at: str) -> str:
    name = str(key).lower()
    short = (
        name.removeprefix("enabled") if name.startswith("enabled") else name.removeprefix("enable")
    )
    known = (*EFFECTIVE_SWITCHES, *IDLE_SWITCHES)
    # A name without the prefix is not a switch either.
    if short not in known or short == name:
        raise ConfError(f"{at}.{key}: no such switch{did_you_mean(short, known)}")
    if not isinstance(value, bool):
        raise ConfError(f"{at}.{key}: must be true or false")
    return short


def _arguments(written: Any, at: str) -> dict[str, str]:
    if written is None:
        return {}
    if not isinstance(written, Mapping):
        raise ConfError(f"{at}: must be a mapping")
    return {str(key): _text(value) for key, value in written.items()}


def _text(value: object) -> str:
    # Booleans become the spelling that arguments have in Volcano.
    return str(value).lower() if isinstance(value, bool) else str(value)


def _list(written: Any, at: str) -> list[Any]:
    if not isinstance(written, list):
        raise ConfError(f"{at}: must be a list")
    return written
