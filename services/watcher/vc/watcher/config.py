"""Configuration of the watcher from environment variables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vc.model import variables
from vc.model.variables import AnyVariable

PAGE_SIZE: Final = variables.integer(
    "WATCHER_PAGE_SIZE",
    500,
    low=1,
    high=10_000,
    meaning="objects per page of a list; small API servers want small pages",
)
TAKE_OVER_FROM: Final = variables.text(
    "KAFKA_TAKE_OVER_FROM",
    meaning="uid of a cluster that is gone for good, whose topics become this cluster's",
)
VARIABLES: Final[tuple[AnyVariable, ...]] = (PAGE_SIZE, TAKE_OVER_FROM)


@dataclass(frozen=True, kw_only=True)
class Config:
    """Bounds of reading and publishing."""

    page_size: int = PAGE_SIZE.default
    """Objects per page of a list."""
    take_over_from: str = ""
    """Uid of the cluster whose topics may be taken over."""
    batch_max: int = 500
    """Messages per publish."""
    batch_bytes_max: int = 8 * 1024 * 1024
    """Bytes of values per publish; a publish ends with the message that exceeds the bound."""
    queue_max: int = 5000
    """Messages that wait to be published; a full queue stops reading (back-pressure)."""
    queue_bytes_max: int = 64 * 1024 * 1024
    """Bytes of queued values per kind, because a thousand large jobs would need gigabytes."""
    watch_seconds: float = 10.0
    """Duration of one watch request.

    An API server sends bookmarks about once a minute, and always shortly before a watch ends. Short
    watches keep the progress of quiet kinds current, and a new leader waits for that progress.
    Eighteen kinds cost two cheap requests per second.
    """

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Config":
        """Read `WATCHER_PAGE_SIZE` and `KAFKA_TAKE_OVER_FROM`."""
        return cls(page_size=PAGE_SIZE.read(env), take_over_from=TAKE_OVER_FROM.read(env))
