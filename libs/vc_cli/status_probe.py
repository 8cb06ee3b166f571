"""Looks at every process of a stack: from outside (memory), by its health port, and at the bus.

Everything is asked at once and each question has a bound, so that one process that hangs costs the
others nothing. What cannot be told is None and shown as a dash. All that is needed is imported before
the first question: on a busy machine an import takes longer than an answer may.
"""

import asyncio
import logging
import math
from collections.abc import Iterable, Mapping
from typing import Final

import aiohttp as _aiohttp  # noqa: F401 - http_get imports it when asked, see above
import msgspec

from vc_bus import BusError
from vc_bus.kafka import KafkaBus, KafkaConfig
from vc_cli.processes import resident_bytes
from vc_cli.stack_file import ProcessEntry, StackFile
from vc_cli.stack_members import unready
from vc_clock import LoopClock
from vc_messages.topics import ALL
from vc_parts.probe import http_get

BUS_SECONDS_MAX: Final = 5.0
VIEW_METERS: Final = ("pyroclast_view", "pyroclast_share")
"""A service keeps a view of everything, of its share, or of both."""
BEHIND: Final = "_behind_records"
AGE: Final = "_progress_age_seconds"
_OK: Final = 200


class Seen(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One process as it is now."""

    process: str
    role: str
    pid: int
    started_at: float
    restarts: int
    ready: bool
    reason: str
    """Why it is not ready; empty when it is."""
    resident_bytes: int
    lag_records: int | None = None
    event_age_seconds: float | None = None
    port: int = 0
    log: str = ""


async def look(stack: StackFile) -> list[Seen]:
    """All processes, in the order in which they were started."""
    lags, seen = await asyncio.gather(
        group_lags(stack), asyncio.gather(*(_look_at(entry) for entry in stack.processes))
    )
    return [with_lag(each, lags) for each in seen]


async def _look_at(entry: ProcessEntry) -> Seen:
    running = entry.pid.is_running
    reason = await unready(health_url=entry.health_url, port=entry.port, is_running=running)
    meters: Mapping[str, float] = {}
    if running and entry.role == "service":
        answer = await http_get(f"{entry.health_url}/metrics")
        meters = meters_in(answer.body.decode()) if answer.status == _OK else {}
    return Seen(
        process=entry.name,
        role=entry.role,
        pid=entry.pid.number,
        started_at=entry.started_at,
        restarts=entry.restarts,
        ready=not reason,
        reason=reason,
        resident_bytes=resident_bytes(entry.pid.number) if running else 0,
        lag_records=behind_in(meters),
        event_age_seconds=age_in(meters),
        port=entry.port,
        log=entry.log,
    )


def meters_in(text: str) -> dict[str, float]:
    """Our samples of a page of one service's metrics, without their labels."""
    meters: dict[str, float] = {}
    for line in text.splitlines():
        sample, _, value = line.rpartition(" ")
        if sample.startswith("pyroclast_"):
            meters[sample.partition("{")[0]] = float(value)
    return meters


def behind_in(meters: Mapping[str, float]) -> int | None:
    """Records that the views have still to read; None for a service without a view."""
    found = [meters[name + BEHIND] for name in VIEW_METERS if name + BEHIND in meters]
    return int(sum(found)) if found else None


def age_in(meters: Mapping[str, float]) -> float | None:
    """How old the oldest view is; None when it has heard nothing yet."""
    found = [meters[name + AGE] for name in VIEW_METERS if name + AGE in meters]
    return max(found) if found and math.inf not in found else None


def with_lag(seen: Seen, lags: Mapping[str, int]) -> Seen:
    """A member of a group has also what its group has not committed."""
    if seen.process not in lags:
        return seen
    lag = (seen.lag_records or 0) + lags[seen.process]
    return msgspec.structs.replace(seen, lag_records=lag)


def group_topics(services: Iterable[str]) -> dict[str, list[str]]:
    """The topics that a service works off as a group `vc-<service>`, by service."""
    return {
        service: [t.name for t in ALL if t.consumers == (service,) and not t.compacted]
        for service in services
        if service == "job-controller" or service.startswith("plugin-")
    }


async def group_lags(stack: StackFile) -> dict[str, int]:
    """By service; empty when the bus does not answer in time, which the table shows as dashes."""
    services = [entry.name for entry in stack.processes if entry.role == "service"]
    wanted = {name: topics for name, topics in group_topics(services).items() if topics}
    if not wanted or not stack.kafka:
        return {}
    try:
        async with asyncio.timeout(BUS_SECONDS_MAX):
            return await _ask_bus(stack.kafka, wanted)
    except (BusError, TimeoutError):
        return {}


async def _ask_bus(kafka: str, wanted: Mapping[str, list[str]]) -> dict[str, int]:
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # the table says what is away
    config = KafkaConfig.from_env({"KAFKA_BOOTSTRAP_SERVERS": kafka})
    bus = await KafkaBus.connect(config, clock=LoopClock())
    try:
        return {
            name: sum((await bus.lag(f"vc-{name}", topics)).values())
            for name, topics in wanted.items()
        }
    finally:
        await bus.close()
