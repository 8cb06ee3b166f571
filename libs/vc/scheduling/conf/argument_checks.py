"""Checks the arguments of plugins and actions against the support table.

A weight above the limit rejects the configuration, because clamping it would silently change the
ranking. An unreadable value leaves the default in force, as in Volcano, and an unknown argument has
no effect; both yield warnings. Third-party plugins and actions are not in the table and check their
own arguments.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from vc.model.support.answers import Answer
from vc.model.support.configuration import (
    OWN_ACTIONS,
    OWN_PLUGINS,
    WEIGHT_MAX,
    Argument,
    ArgumentKind,
    known_arguments,
)
from vc.model.support.nearest import did_you_mean
from vc.model.values.bounded import INT32_MAX, read_decimal, read_integer
from vc.scheduling.conf.arguments import seconds
from vc.scheduling.conf.model import Conf

_SWITCHED: Final = ("true", "t", "1", "false", "f", "0")


def too_high(conf: Conf) -> str:
    """The error for a weight above the limit, which rejects the configuration; empty for none."""
    for where, argument, name, value in _written(conf):
        if argument is None or argument.kind is not ArgumentKind.WEIGHT:
            continue
        # An unreadable weight is only a warning; see `argument_warnings`.
        if (number := _integer(value)) is not None and number > WEIGHT_MAX:
            return f"{where}: argument {name}: {value} is more than {WEIGHT_MAX}; lower all weights"
    return ""


def argument_warnings(conf: Conf) -> list[str]:
    """Warnings for arguments that are unknown, have no effect or are unreadable."""
    found: list[str] = []
    for where, argument, name, value in _written(conf):
        if argument is None:
            owner = where.rpartition(" ")[2]
            known = [argument.name for argument in known_arguments(owner)]
            hint = did_you_mean(name, known) or f"; it takes {', '.join(known) or 'none'}"
            found.append(f"{where}: argument {name!r} has no effect: it is not known{hint}")
        elif argument.case.answer is not Answer.EFFECT:
            found.append(f"{where}: argument {name!r} {argument.case.text}")
        elif not _READABLE[argument.kind](value):
            found.append(
                f"{where}: argument {name}: {value!r} is not {argument.kind.value}; "
                "the default is used"
            )
    return found


def _written(conf: Conf) -> Iterable[tuple[str, Argument | None, str, str]]:
    """All arguments of our own plugins and actions: location, definition, name and value."""
    for action in conf.configurations:
        if action.name in OWN_ACTIONS:
            yield from _known(f"action {action.name}", action.name, action.arguments)
    for plugin in conf.plugins:
        if plugin.name in OWN_PLUGINS:
            yield from _known(f"plugin {plugin.name}", plugin.name, plugin.arguments)


def _known(
    where: str, owner: str, arguments: Mapping[str, str]
) -> Iterable[tuple[str, Argument | None, str, str]]:
    known = known_arguments(owner)
    for name in sorted(arguments):
        exact = [argument for argument in known if argument.name == name]
        # An exact name takes precedence over a prefix, such as that of weights per resource.
        family = [a for a in known if a.prefix and name.startswith(a.prefix)]
        yield where, next(iter(exact or family), None), name, arguments[name]


def _integer(text: str) -> int | None:
    return read_integer(text.strip())


def _is_count(text: str) -> bool:
    number = _integer(text)
    return number is not None and number >= 0


def _is_factor(text: str) -> bool:
    return read_decimal(text.strip(), least=1, most=INT32_MAX) is not None


_READABLE: Final[dict[ArgumentKind, Callable[[str], bool]]] = {
    ArgumentKind.WEIGHT: _is_count,
    ArgumentKind.LEVEL: _is_count,
    ArgumentKind.FACTOR: _is_factor,
    ArgumentKind.SWITCH: lambda text: text.strip().lower() in _SWITCHED,
    ArgumentKind.DURATION: lambda text: seconds(text) is not None,
    ArgumentKind.DELAY: lambda _: True,  # unreadable values reject the configuration elsewhere
    ArgumentKind.NAMES: bool,
    ArgumentKind.ANYTHING: lambda _: True,
}
