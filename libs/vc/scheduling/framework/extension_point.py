"""An extension point as a value, and the plugins of a configuration that take part in it."""

import enum
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from vc.scheduling.conf.model import PluginConf

P = TypeVar("P")
"""The Protocol of an extension point."""


class Combine(enum.Enum):
    """How the answers of several plugins become one."""

    SORT_KEY = "the keys in tier order form one sort key; the smaller key comes first"
    ALL_MASKS = "a node must pass every mask"
    SUM = "the scores are added"
    FIRST_REFUSAL = "plugins are called in tier order until one refuses"
    PERMIT_BY_TIER = "a permit ends the vote after its tier; refusals of that tier still count"
    VOTES_BY_TIER = "Reject wins at once; otherwise the first tier with a Permit decides"
    FIRST_TIER_AGREES = "the first tier with such plugins decides, and all of them must agree"
    FIRST_ANSWER = "plugins are called in tier order until one has a non-empty answer"
    FIRST_PLUGIN = "the first such plugin in tier order decides"
    ALL_AGREE = "every plugin must agree"
    ANY_AGREES = "one plugin is enough"


@dataclass(frozen=True, eq=False)
class ExtensionPoint(Generic[P]):
    """One question to plugins: the Protocol of its methods, its switch and how answers combine."""

    protocol: Any
    """The Protocol P. Typed loosely, because mypy accepts no Protocol where a class is expected."""
    combine: Combine
    switch: str = ""
    """The switch of the configuration in lower case and without `enable`; empty if there is none."""
    opt_in: bool = False
    """Whether the point is off unless the switch is written as true."""
    methods: Mapping[str, inspect.Signature] = field(init=False)
    """The methods that a plugin must have to take part, without `self`."""

    def __post_init__(self) -> None:
        found = {
            name: without_self(inspect.signature(method))
            for name, method in vars(self.protocol).items()
            if not name.startswith("_") and inspect.isfunction(method)
        }
        object.__setattr__(self, "methods", found)

    @property
    def name(self) -> str:
        """The name of the point, in Volcano's words where Volcano has it."""
        return str(self.protocol.__name__)

    def active(self, conf: "PluginConf") -> bool:
        """Whether the configuration of a plugin lets it take part in this point."""
        if self.opt_in:
            return conf.switches.get(self.switch) is True
        return conf.on(self.switch)


def without_self(signature: inspect.Signature) -> inspect.Signature:
    """The signature as a caller of the bound method sees it."""
    _, *rest = signature.parameters.values()
    return signature.replace(parameters=rest)


class Plugin(Protocol):
    """What all plugins have in common. The extension points are optional."""

    @property
    def name(self) -> str: ...


class ConfiguredPlugins:
    """The plugins of one configuration, by extension point and in tier order.

    Built once for a configuration, so that a session never looks up what a plugin can do.
    """

    def __init__(
        self,
        tiers: Sequence[Sequence[tuple["PluginConf", Plugin]]],
        points_of: Callable[[type], Sequence[ExtensionPoint[Any]]],
    ) -> None:
        self._tiers = len(tiers)
        self._at: dict[ExtensionPoint[Any], list[list[tuple[str, Any]]]] = {}
        for number, tier in enumerate(tiers):
            for conf, plugin in tier:
                for point in points_of(type(plugin)):
                    if point.active(conf):
                        # A configured name may differ from the name of the class.
                        self._tiers_at(point)[number].append((conf.name, plugin))

    def _tiers_at(self, point: ExtensionPoint[P]) -> list[list[tuple[str, P]]]:
        return self._at.setdefault(point, [[] for _ in range(self._tiers)])

    def by_tier(self, point: ExtensionPoint[P]) -> list[list[P]]:
        """The plugins of a point, one list per tier; a tier without such a plugin has an empty one."""
        return [[plugin for _, plugin in tier] for tier in self._tiers_at(point)]

    def named(self, point: ExtensionPoint[P]) -> list[tuple[str, P]]:
        """The plugins of a point in tier order, with the names that the configuration uses."""
        return [entry for tier in self._tiers_at(point) for entry in tier]

    def all(self, point: ExtensionPoint[P]) -> list[P]:
        """The plugins of a point in tier order."""
        return [plugin for _, plugin in self.named(point)]

    def first(self, point: ExtensionPoint[P]) -> P | None:
        """The first plugin of a point in tier order."""
        return next(iter(self.all(point)), None)
