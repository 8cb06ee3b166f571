"""Probes every process of a stack: its memory, its health port, and its lag on the bus.

All probes run concurrently and have time-outs, so one process that hangs does not delay the others.
An unknown value is None and shown as a dash. All modules are imported before the first probe,
because on a busy machine an import can take longer than a probe's time-out.
"""

import asyncio
import logging
import math
from collections.abc import Iterable, Mapping
from typing import Final

import aiohttp as _aiohttp  # noqa: F401 - http_get imports it lazily, see above
import msgspec

from vc.bus import BusError
from vc.bus.kafka import KafkaBus, KafkaConfig
from vc.cli.pyroclast.processes import resident_bytes
from vc.cli.pyroclast.stack.members import unready
from vc.cli.pyroclast.stack.stack_file import ProcessEntry, StackFile
from vc.clock import LoopClock
from vc.messages.topics import ALL
from vc.parts.probe import http_get

BUS_SECONDS_MAX: Final = 5.0
VIEW_METRICS: Final = ("pyroclast_view", "pyroclast_share")
"""A service has a view of everything, of its share, or of both."""
BEHIND: Final = "_behind_records"
AGE: Final = "_progress_age_seconds"
_OK: Final = 200


class Seen(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The current state of one process."""

    process: str
    role: str
    pid: int
    started_at: float
    restarts: int
    ready: bool
    reason: str
    """Why the process is not ready. Empty if it is ready."""
    resident_bytes: int
    lag_records: int | None = None
    event_age_seconds: float | None = None
    port: int = 0
    log: str = ""


async def look(stack: StackFile) -> list[Seen]:
    """The state of all processes, in the order of their start."""
    # Concurrently: the time of the slowest probe is the time of the command.
    lags, seen = await asyncio.gather(
        group_lags(stack), asyncio.gather(*(_look_at(entry) for entry in stack.processes))
    )
    return [with_lag(each, lags) for each in seen]


async def _look_at(entry: ProcessEntry) -> Seen:
    running = entry.pid.is_running
    reason = await unready(health_url=entry.health_url, port=entry.port, is_running=running)
    metrics: Mapping[str, float] = {}
    # Only our own services have metrics with the names that are read here.
    if running and entry.role == "service":
        answer = await http_get(f"{entry.health_url}/metrics")
        metrics = metrics_in(answer.body.decode()) if answer.status == _OK else {}
    return Seen(
        process=entry.name,
        role=entry.role,
        pid=entry.pid.number,
        started_at=entry.started_at,
        restarts=entry.restarts,
        ready=not reason,
        reason=reason,
        resident_bytes=resident_bytes(entry.pid.number) if running else 0,
        lag_records=behind_in(metrics),
        event_age_seconds=age_in(metrics),
        port=entry.port,
        log=entry.log,
    )


def metrics_in(text: str) -> dict[str, float]:
    """Our samples in one service's metrics, without their labels."""
    metrics: dict[str, float] = {}
    for line in text.splitlines():
        sample, _, value = line.rpartition(" ")
        if sample.startswith("pyroclast_"):
            metrics[sample.partition("{")[0]] = float(value)
    return metrics


def behind_in(metrics: Mapping[str, float]) -> int | None:
    """Records that the views still have to read. None for a service without a view."""
    found = [metrics[name + BEHIND] for name in VIEW_METRICS if name + BEHIND in metrics]
    return int(sum(found)) if found else None


def age_in(metrics: Mapping[str, float]) -> float | None:
    """The age of the oldest view. None if a view has received nothing yet."""
    found = [metrics[name + AGE] for name in VIEW_METRICS if name + AGE in metrics]
    # Infinity means that a view has never received progress.
    return max(found) if found and math.inf not in found else None


def with_lag(seen: Seen, lags: Mapping[str, int]) -> Seen:
    """Add the uncommitted records of its consumer group to a process's lag."""
    if seen.process not in lags:
        return seen
    # Views and consumer groups read different topics, so both lags add up.
    lag = (seen.lag_records or 0) + lags[seen.process]
    return msgspec.structs.replace(seen, lag_records=lag)


def group_topics(services: Iterable[str]) -> dict[str, list[str]]:
    """The topics that each service processes in its consumer group `vc-<service>`."""
    return {
        service: [t.name for t in ALL if t.consumers == (service,) and not t.compacted]
        for service in services
        if service == "job-controller" or service.startswith("plugin-")
    }


async def group_lags(stack: StackFile) -> dict[str, int]:
    """The lag by service. Empty if the bus does not respond in time; the table then has dashes."""
    services = [entry.name for entry in stack.processes if entry.role == "service"]
    wanted = {name: topics for name, topics in group_topics(services).items() if topics}
    # A stack without consumer groups needs no connection to Kafka.
    if not wanted or not stack.kafka:
        return {}
    try:
        async with asyncio.timeout(BUS_SECONDS_MAX):
            return await _ask_bus(stack, wanted)
    except (BusError, TimeoutError):
        return {}


async def _ask_bus(stack: StackFile, wanted: Mapping[str, list[str]]) -> dict[str, int]:
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # the table shows what is unavailable
    config = KafkaConfig.from_env({"KAFKA_BOOTSTRAP_SERVERS": stack.kafka, **stack.kafka_login})
    bus = await KafkaBus.connect(config, clock=LoopClock())
    try:
        return {
            name: sum((await bus.lag(f"vc-{name}", topics)).values())
            for name, topics in wanted.items()
        }
    finally:
        await bus.close()
