"""What can be set from outside, the same for every plugin service."""

from collections.abc import Mapping
from dataclasses import dataclass

from vc_model.compat import Compat, read_compat


@dataclass(frozen=True, kw_only=True)
class PluginConfig:
    """A plugin service's keys."""

    requests_at_once: int = 16
    """Requests under way at the API server at a time."""
    compat: Compat = Compat.LENIENT

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "PluginConfig":
        """`PLUGIN_REQUESTS_AT_ONCE`, `PYROCLAST_COMPAT`."""
        given = environment.get("PLUGIN_REQUESTS_AT_ONCE", cls.requests_at_once)
        return cls(requests_at_once=int(given), compat=read_compat(environment))
