"""What every server of ours is: a work folder and processes that start in order and stop in reverse order.

A folder of our own making is removed after a clean stop and kept when the `async with` body failed or the start did;
one that the caller names is never removed. `PYROCLAST_PARTS_LOGS` names a folder that gets every log in any case:
a failed test does not raise through its fixture, so this is how CI keeps logs.
"""

import asyncio
import os
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

from vc_parts.errors import PartError
from vc_parts.process import Process

LOGS_KEY = "PYROCLAST_PARTS_LOGS"


class Server(ABC):
    """Subclasses fill `processes` in `prepare`; after `start` their address attributes hold."""

    def __init__(self, name: str, *, folder: Path | None = None) -> None:
        self.name = name
        self.processes: list[Process] = []
        """In the order in which they start."""
        self.start_seconds = 0.0
        self._folder_is_ours = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix=f"pyroclast-{name}-"))
        self._prepared = False

    @abstractmethod
    async def prepare(self) -> None:
        """Gets the part, writes its files, fills `processes`; runs once, before the first start."""

    async def settle(self) -> None:  # noqa: B027 - most servers have nothing to add
        """What must hold beyond each process being ready; nothing by default."""

    def log_of(self, process_name: str) -> Path:
        """Where a process of this server writes its output."""
        kept = os.environ.get(LOGS_KEY)
        if kept:
            return Path(kept).absolute() / f"{self.folder.name}-{process_name}.log"
        return self.folder / f"{process_name}.log"

    async def start(self) -> None:
        """Prepares once, then starts each process and waits until it answers."""
        started = time.monotonic()
        if not self._prepared:
            self.folder.mkdir(parents=True, exist_ok=True)
            await self.prepare()
            self._prepared = True
        try:
            for process in self.processes:
                await process.start()
            await self.settle()
        except BaseException:
            await self._stop_processes()
            raise
        self.start_seconds = time.monotonic() - started

    async def stop(self, *, keep_folder: bool = False) -> None:
        """Stops the processes in reverse order; removes the folder when it is ours and not to be kept."""
        await self._stop_processes()
        if self._folder_is_ours and not keep_folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            self._prepared = False  # a later start would need the files again

    async def _stop_processes(self) -> None:
        for process in reversed(self.processes):
            await process.stop()

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except PartError:
            if not any(self.folder.iterdir()):
                self.folder.rmdir()  # nothing was started: there is no log to keep
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop(keep_folder=error is not None)


class OneProcess(Server):
    """Most servers are one process, made beside the event loop: getting a part may take minutes."""

    @property
    def process(self) -> Process:
        """For kill, pause, resume and restart."""
        return self.processes[0]

    async def prepare(self) -> None:
        self.processes = [await asyncio.to_thread(self.make_process)]

    @abstractmethod
    def make_process(self) -> Process:
        """Gets the part and writes its files; it is started later."""
