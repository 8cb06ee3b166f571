"""Volcano's other names of our actions: `gangpreempt` and `gangreclaim`.

Our preempt and reclaim simulate the placement of the whole gang before any eviction, and evict the
surplus pods of a victim job before they break its gang. That is what Volcano's gang-aware actions
do, so both names mean ours. If both are configured, the action runs once, at the position of its
first name.

Their arguments, under `configurations`:

- `allowWholeBundle: false`: no gang falls below its minimum for others, the same as
  `enablePreemptable: true` (gangreclaim: `enableReclaimable: true`) of the plugin gang; `true` is the
  default;
- `maxDomains`: limits a search over HyperNodes, which are not supported yet, so it yields a warning.

The names are replaced in the parsed file before it is read, so that later steps need not know them.
"""

from collections.abc import Collection
from typing import Any, Final

from vc.model.support.configuration import OTHER_NAMES

OWN_NAMES: Final = OTHER_NAMES
_SWITCHES: Final = {"gangpreempt": "enablePreemptable", "gangreclaim": "enableReclaimable"}
ALLOW_WHOLE_BUNDLE: Final = "allowWholeBundle"
MAX_DOMAINS: Final = "maxDomains"
_GANG: Final = "gang"


class ActionArgumentError(ValueError):
    """An argument of an action is invalid. The message says where and why."""


def with_own_names(written: Any, known: Collection[str]) -> tuple[Any, list[str]]:
    """The parsed file with our names, and warnings; `known` are the registered actions.

    Parts of an unexpected form are left as they are, because the reader of the file reports them.
    """
    if not isinstance(written, dict) or not isinstance(written.get("actions"), str):
        return written, []
    # A third-party action of the same name takes precedence over the alias.
    aliases = {name for name in OWN_NAMES if name not in known}
    named = [part.strip() for part in written["actions"].split(",") if part.strip()]
    actions, warnings = _once(named, aliases)
    file = {**written, "actions": ", ".join(actions)}
    entries = written.get("configurations")
    if isinstance(entries, list):
        kept: list[Any] = []
        for number, entry in enumerate(entries):
            if not _is_of(entry, aliases):
                kept.append(entry)
                continue
            at = f"configurations[{number}]"
            # Arguments belong to the name that is listed, even if the other name runs the same action.
            if entry["name"] not in named:
                warnings.append(f"{at}: no effect: {entry['name']} is not among the actions")
                continue
            left, found = _read(entry, at)
            warnings += found
            # An entry without remaining arguments has no meaning for the reader.
            kept += [left] if left["arguments"] else []
            if _keeps_gangs(entry):
                file["tiers"] = _with_switch(file.get("tiers"), _SWITCHES[entry["name"]], at)
        file["configurations"] = kept
    return file, warnings


def _once(named: list[str], aliases: Collection[str]) -> tuple[list[str], list[str]]:
    """Our names of the actions, each action once and at its first position, and warnings."""
    found: list[str] = []
    warnings: list[str] = []
    first: dict[str, str] = {}
    for name in named:
        own = OWN_NAMES[name] if name in aliases else name
        other = first.setdefault(own, name)
        if other != name:
            warnings.append(
                f"actions: {other} and {name} are one action here: it runs once, as {other}"
            )
        else:
            found.append(own)
    return found, warnings


def _is_of(entry: Any, aliases: Collection[str]) -> bool:
    """Whether an entry configures one of these names."""
    return isinstance(entry, dict) and entry.get("name") in aliases


def _read(entry: dict[str, Any], at: str) -> tuple[dict[str, Any], list[str]]:
    """The entry under our name with the arguments that are not handled here, and warnings."""
    written = entry.get("arguments") or {}
    if not isinstance(written, dict):
        raise ActionArgumentError(f"{at}.arguments: must be a mapping")
    arguments = dict(written)
    warnings: list[str] = []
    domains = arguments.pop(MAX_DOMAINS, None)
    if domains is not None:
        # In Python a bool is an int, so `true` must be excluded explicitly.
        if not isinstance(domains, int) or isinstance(domains, bool) or domains < 1:
            raise ActionArgumentError(
                f"{at}.arguments.{MAX_DOMAINS}: {domains!r}: must be a whole number above 0"
            )
        warnings.append(f"{at}: {MAX_DOMAINS} has no effect: there is no network topology")
    whole = arguments.pop(ALLOW_WHOLE_BUNDLE, True)
    if not isinstance(whole, bool):
        raise ActionArgumentError(
            f"{at}.arguments.{ALLOW_WHOLE_BUNDLE}: {whole!r}: must be true or false"
        )
    return {**entry, "name": OWN_NAMES[entry["name"]], "arguments": arguments}, warnings


def _keeps_gangs(entry: dict[str, Any]) -> bool:
    return (entry.get("arguments") or {}).get(ALLOW_WHOLE_BUNDLE) is False


def _with_switch(tiers: Any, switch: str, at: str) -> Any:
    """The tiers with a switch of the plugin gang set to true. The plugin must exist."""
    changed = 0
    # The reader reports the wrong form later.
    if not isinstance(tiers, list):
        return tiers
    grown: list[Any] = []
    for tier in tiers:
        plugins = tier.get("plugins") if isinstance(tier, dict) else None
        if not isinstance(plugins, list):
            grown.append(tier)
            continue
        found: list[Any] = []
        for plugin in plugins:
            is_gang = isinstance(plugin, dict) and plugin.get("name") == _GANG
            changed += is_gang
            found.append(_switched(plugin, switch) if is_gang else plugin)
        grown.append({**tier, "plugins": found})
    if not changed:
        raise ActionArgumentError(
            f"{at}.arguments.{ALLOW_WHOLE_BUNDLE}: false needs the plugin gang in a tier"
        )
    return grown


def _switched(plugin: dict[str, Any], switch: str) -> dict[str, Any]:
    """The plugin with the switch set, replacing every spelling of it."""
    short = switch.lower().removeprefix("enable")
    spellings = (f"enable{short}", f"enabled{short}")
    kept = {key: value for key, value in plugin.items() if str(key).lower() not in spellings}
    return {**kept, switch: True}
