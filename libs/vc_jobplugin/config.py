"""What can be set from outside, the same for every plugin service."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vc_model import variables
from vc_model.compat import COMPAT, Compat
from vc_model.variables import AnyVariable

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
    """A plugin service's keys."""

    requests_at_once: int = REQUESTS_AT_ONCE.default
    """Requests under way at the API server at a time."""
    compat: Compat = Compat.LENIENT

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "PluginConfig":
        """`PLUGIN_REQUESTS_AT_ONCE`, `PYROCLAST_COMPAT`."""
        return cls(
            requests_at_once=REQUESTS_AT_ONCE.read(environment),
            compat=COMPAT.read(environment),
        )
