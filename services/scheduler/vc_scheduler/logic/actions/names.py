"""Volcano's other names of our actions: `gangpreempt` and `gangreclaim`.

Our preempt and reclaim place the whole gang in a trial before anybody is evicted, and take a victim's pods
above its minimum before they break its gang: what Volcano's gang-aware actions do. So these names mean ours.
Written beside `preempt` or `reclaim`, the action runs once, where its first name stands.

Their arguments, under `configurations`:
- `allowWholeBundle: false`: no gang falls below its minimum for others, the same as `enablePreemptable: true`
  (gangreclaim: `enableReclaimable: true`) of the plugin gang; `true` is how it is without;
- `maxDomains`: bounds a search over HyperNodes, of which there is none yet: a warning.

The names are replaced in the parsed file, before it is read, so that nothing after knows of them.
"""

from collections.abc import Collection
from typing import Any, Final

from vc_model.support.configuration import OTHER_NAMES

OWN_NAMES: Final = OTHER_NAMES
_SWITCHES: Final = {"gangpreempt": "enablePreemptable", "gangreclaim": "enableReclaimable"}
ALLOW_WHOLE_BUNDLE: Final = "allowWholeBundle"
MAX_DOMAINS: Final = "maxDomains"
_GANG: Final = "gang"


class ActionArgumentError(ValueError):
    """An argument of an action cannot be used; says where and why."""


def with_own_names(written: Any, known: Collection[str]) -> tuple[Any, list[str]]:
    """The parsed file with our names, and what one should know; `known` are actions that exist.

    What is not of the expected form is left as it is: the reader of the file reports what is wrong with it.
    """
    if not isinstance(written, dict) or not isinstance(written.get("actions"), str):
        return written, []
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
            if entry["name"] not in named:
                warnings.append(f"{at}: no effect: {entry['name']} is not among the actions")
                continue
            left, told = _read(entry, at)
            warnings += told
            kept += [left] if left["arguments"] else []
            if _keeps_gangs(entry):
                file["tiers"] = _with_switch(file.get("tiers"), _SWITCHES[entry["name"]], at)
        file["configurations"] = kept
    return file, warnings


def _once(named: list[str], aliases: Collection[str]) -> tuple[list[str], list[str]]:
    """Each action that has two names once, at its first place."""
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
    """Whether it is a configuration of one of the names."""
    return isinstance(entry, dict) and entry.get("name") in aliases


def _read(entry: dict[str, Any], at: str) -> tuple[dict[str, Any], list[str]]:
    """The configuration under our name with the arguments that are not read here, and warnings."""
    told = entry.get("arguments") or {}
    if not isinstance(told, dict):
        raise ActionArgumentError(f"{at}.arguments: must be a mapping")
    arguments = dict(told)
    warnings: list[str] = []
    domains = arguments.pop(MAX_DOMAINS, None)
    if domains is not None:
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
    """The tiers with a switch of the plugin gang on; there must be one."""
    changed = 0
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
    """Whichever way the switch was spelt before."""
    short = switch.lower().removeprefix("enable")
    spellings = (f"enable{short}", f"enabled{short}")
    kept = {key: value for key, value in plugin.items() if str(key).lower() not in spellings}
    return {**kept, switch: True}
