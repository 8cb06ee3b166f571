"""CPU and memory of processes on this machine, by the pids that were given."""

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

from bench.cluster.results import ProcessUse
from bench.processes import CpuCount
from vc.cli.pyroclast.processes import resident_bytes, start_id_of

SAMPLE_SECONDS: Final = 0.5


def parse_pids(text: str) -> dict[str, int]:
    """Of `scheduler=123,controller=456`; ValueError names the part that is wrong."""
    pids: dict[str, int] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, _, number = part.partition("=")
        if not name or not number.isascii() or not number.isdecimal():
            raise ValueError(f"pids {part!r}: write name=pid, such as scheduler=123")
        if name in pids:
            raise ValueError(f"pids: {name} is named twice; give each process a name of its own")
        if not start_id_of(int(number)):
            raise ValueError(f"pids {part!r}: no such process runs on this machine")
        pids[name] = int(number)
    return pids


class UseMeter:
    """From entering until `used`."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = pids
        self._memory = dict.fromkeys(pids, 0)
        self._sampling: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._cpu = CpuCount(self._pids)
        self._sampling = asyncio.create_task(self._sample())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._sampling is not None
        self._sampling.cancel()
        await asyncio.gather(self._sampling, return_exceptions=True)

    async def _sample(self) -> None:
        while self._pids:
            self._look()
            await asyncio.sleep(SAMPLE_SECONDS)

    def _look(self) -> None:
        for name, pid in self._pids.items():
            self._memory[name] = max(self._memory[name], resident_bytes(pid))

    def used(self) -> dict[str, ProcessUse]:
        """By name, in the order in which they were given."""
        self._look()
        return {
            name: ProcessUse(cpu_seconds=round(seconds, 2), memory_bytes_max=self._memory[name])
            for name, seconds in self._cpu.used().items()
        }
