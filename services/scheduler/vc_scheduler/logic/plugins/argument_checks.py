"""What is wrong with the arguments of plugins and actions, by the table of support.

A weight above the limit refuses the configuration: to cut it would change who wins without a word. What
cannot be read leaves the default in force, as in Volcano, and an argument that is not known has no effect;
both are warnings. Plugins and actions of third parties are not in the table and check theirs themselves.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from vc_model.bounded import INT32_MAX, read_decimal, read_integer
from vc_model.support.answers import Answer
from vc_model.support.configuration import (
    OWN_ACTIONS,
    OWN_PLUGINS,
    WEIGHT_MAX,
    Argument,
    ArgumentKind,
    known_arguments,
)
from vc_model.support.nearest import did_you_mean
from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.plugins.arguments import seconds

_SWITCHED: Final = ("true", "t", "1", "false", "f", "0")


def too_high(conf: Conf) -> str:
    """A weight above the limit, which refuses the configuration; empty for none."""
    for where, argument, name, value in _written(conf):
        if argument is None or argument.kind is not ArgumentKind.WEIGHT:
            continue
        if (number := _integer(value)) is not None and number > WEIGHT_MAX:
            return f"{where}: argument {name}: {value} is more than {WEIGHT_MAX}; lower all weights"
    return ""


def argument_warnings(conf: Conf) -> list[str]:
    """Arguments that are not known, have no effect, or cannot be read."""
    found: list[str] = []
    for where, argument, name, value in _written(conf):
        if argument is None:
            owner = where.rpartition(" ")[2]
            known = [argument.name for argument in known_arguments(owner)]
            told = did_you_mean(name, known) or f"; it takes {', '.join(known) or 'none'}"
            found.append(f"{where}: argument {name!r} has no effect: it is not known{told}")
        elif argument.case.answer is not Answer.EFFECT:
            found.append(f"{where}: argument {name!r} {argument.case.text}")
        elif not _READABLE[argument.kind](value):
            found.append(
                f"{where}: argument {name}: {value!r} is not {argument.kind.value}; "
                "the default is used"
            )
    return found


def _written(conf: Conf) -> Iterable[tuple[str, Argument | None, str, str]]:
    """Every argument of our own: where it stands, what it is, and its value."""
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
    ArgumentKind.DELAY: lambda _: True,  # what cannot be read refuses the configuration
    ArgumentKind.NAMES: bool,
    ArgumentKind.ANYTHING: lambda _: True,
}
