"""Configuration that is the same for every plugin service."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vc.model import variables
from vc.model.compat import COMPAT, Compat
from vc.model.variables import AnyVariable

REQUESTS_AT_ONCE: Final = variables.integer(
    "PLUGIN_REQUESTS_AT_ONCE",
    16,
    low=1,
    high=1000,
    meaning="requests of this plugin that are worked on at a time",
)
VARIABLES: Final[tuple[AnyVariable, ...]] = (REQUESTS_AT_ONCE, COMPAT)


@dataclass(frozen=True, kw_only=True)
class PluginConfig:
    """The settings of a plugin service."""

    requests_at_once: int = REQUESTS_AT_ONCE.default
    """Concurrent requests to the API server."""
    compat: Compat = Compat.LENIENT

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "PluginConfig":
        """Read `PLUGIN_REQUESTS_AT_ONCE` and `PYROCLAST_COMPAT`."""
        return cls(
            requests_at_once=REQUESTS_AT_ONCE.read(environment),
            compat=COMPAT.read(environment),
        )
