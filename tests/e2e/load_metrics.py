"""What each process of a deployment used and how far it was behind, sampled while a scenario runs.

Memory comes from the kernel, lag from the metrics of each service and, for services that consume a topic
as a group, from the offsets that the group has not committed. A service that is down has no sample.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from bench.processes import cpu_seconds

from tests.e2e.deployment import Deployment
from vc.bus import BusError
from vc.bus.kafka import KafkaBus, KafkaConfig
from vc.cli.pyroclast.processes import resident_bytes
from vc.cli.pyroclast.status_probe import behind_in, group_topics, metrics_in
from vc.cli.tables import render
from vc.clock import LoopClock
from vc.parts.probe import http_get

PERIOD_SECONDS = 1.0
WIDTH = 120
MEGABYTE = 1e6


@dataclass(kw_only=True)
class Used:
    """What one process used, over all its restarts."""

    memory_bytes_max: int = 0
    lag_records: int = 0
    lag_records_max: int = 0
    cpu_seconds: float = 0.0
    """Of ended processes as last sampled, and of the current one."""
    _pid: int = 0
    _cpu_before: float = 0.0

    def saw(self, pid: int) -> None:
        """Sample CPU time and memory."""
        now = cpu_seconds(pid)
        if pid != self._pid:
            self._pid, self._cpu_before = pid, self.cpu_seconds
        self.cpu_seconds = max(self.cpu_seconds, self._cpu_before + now)
        self.memory_bytes_max = max(self.memory_bytes_max, resident_bytes(pid))

    def behind(self, records: int) -> None:
        self.lag_records = records
        self.lag_records_max = max(self.lag_records_max, records)


class LoadMetrics:
    """Samples all processes from `start` to `stop`."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._bus: KafkaBus
        self._sampling: asyncio.Task[None] | None = None
        self.used: dict[str, Used] = {}

    async def start(self) -> None:
        administrator = self._deployment.ground.kafka.environment_of("")
        config = KafkaConfig.from_env(administrator)
        self._bus = await KafkaBus.connect(config, clock=LoopClock())
        self._sampling = asyncio.create_task(self._run())

    async def stop(self) -> None:
        assert self._sampling is not None
        self._sampling.cancel()
        await asyncio.gather(self._sampling, return_exceptions=True)
        await self._bus.close()

    async def _run(self) -> None:
        while True:
            await self.sample()
            await asyncio.sleep(PERIOD_SECONDS)

    async def sample(self) -> None:
        """Sample every process once."""
        for name, pid in self._pids():
            self.used.setdefault(name, Used()).saw(pid)
        groups = await self._group_lags()
        for name, lives in self._deployment.services.items():
            answer = await http_get(f"{lives.url}/metrics")
            behind = behind_in(metrics_in(answer.body.decode())) if answer.status == 200 else None
            if behind is not None or name in groups:
                self.used[name].behind((behind or 0) + groups.get(name, 0))

    def _pids(self) -> Iterator[tuple[str, int]]:
        for name, lives in self._deployment.services.items():
            yield name, lives.pid
        for process in self._deployment.ground.processes:
            yield process.name, process.pid

    async def _group_lags(self) -> dict[str, int]:
        lags: dict[str, int] = {}
        for name, topics in group_topics(self._deployment.services).items():
            with suppress(BusError):
                lags[name] = sum((await self._bus.lag(f"vc-{name}", topics)).values())
        return lags

    async def late(self) -> str:
        """Which services are still behind; empty when none is."""
        await self.sample()
        return ", ".join(
            f"{name} is {used.lag_records} records behind"
            for name, used in self.used.items()
            if used.lag_records
        )

    def table(self, restarted: dict[str, str]) -> str:
        """One row per process; `restarted` has the result of restarts by name."""
        rows = [
            (
                name,
                f"{used.memory_bytes_max / MEGABYTE:.0f} MB",
                f"{used.cpu_seconds:.1f} s",
                f"{used.lag_records_max}" if name in self._deployment.services else "-",
                restarted.get(name, "-"),
            )
            for name, used in self.used.items()
        ]
        header = ("PROCESS", "MEMORY, MOST", "CPU", "RECORDS BEHIND, MOST", "RESTART")
        return render(header, rows, width=WIDTH)
