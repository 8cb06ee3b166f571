"""The base of all servers: a work folder, and processes that start in order and stop in reverse.

A temporary folder is removed after a clean stop, and kept if the start or the `async with` body
failed. A folder that the caller names is kept. `PYROCLAST_PARTS_LOGS` names a folder for all logs.
CI keeps logs this way, because a failed test does not raise through its fixture.
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

from vc.parts.errors import PartError
from vc.parts.process import Process

LOGS_KEY = "PYROCLAST_PARTS_LOGS"


class Server(ABC):
    """Subclasses fill `processes` in `prepare`.

    Their address attributes are valid after `start`.
    """

    def __init__(self, name: str, *, folder: Path | None = None) -> None:
        self.name = name
        self.processes: list[Process] = []
        """The processes in the order of their start."""
        self.start_seconds = 0.0
        self._folder_is_ours = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix=f"pyroclast-{name}-"))
        self._prepared = False

    @abstractmethod
    async def prepare(self) -> None:
        """Get the part, write its files and fill `processes`. Runs once, before the first start."""

    async def wait_until_usable(self) -> None:  # noqa: B027 - most servers have nothing to add
        """Establish what must hold beyond the readiness of each process.

        The default does nothing.
        """

    def log_of(self, process_name: str) -> Path:
        """The log file of a process of this server."""
        # The name of the folder keeps the logs of several servers of one kind apart.
        kept = os.environ.get(LOGS_KEY)
        if kept:
            return Path(kept).absolute() / f"{self.folder.name}-{process_name}.log"
        return self.folder / f"{process_name}.log"

    async def start(self) -> None:
        """Prepare once, then start each process and wait until it responds."""
        started = time.monotonic()
        # Only once: a restart must find the same ports, certificates and data.
        if not self._prepared:
            self.folder.mkdir(parents=True, exist_ok=True)
            await self.prepare()
            self._prepared = True
        try:
            for process in self.processes:
                await process.start()
            await self.wait_until_usable()
        except BaseException:
            # Also on cancellation: processes that were already started must not be left running.
            await self._stop_processes()
            raise
        self.start_seconds = time.monotonic() - started

    async def stop(self, *, keep_folder: bool = False) -> None:
        """Stop the processes in reverse order.

        A temporary folder is removed unless it is to be kept.
        """
        await self._stop_processes()
        if self._folder_is_ours and not keep_folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            self._prepared = False  # a later start needs the files again

    async def _stop_processes(self) -> None:
        # A process may need those before it to shut down cleanly.
        for process in reversed(self.processes):
            await process.stop()

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except PartError:
            if not any(self.folder.iterdir()):
                self.folder.rmdir()  # nothing was started, so there is no log to keep
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
    """A server with one process.

    It is prepared in a thread, because getting a part may take minutes.
    """

    @property
    def process(self) -> Process:
        """The process, for kill, pause, resume and restart."""
        return self.processes[0]

    async def prepare(self) -> None:
        self.processes = [await asyncio.to_thread(self.make_process)]

    @abstractmethod
    def make_process(self) -> Process:
        """Get the part, write its files and return the process, which is started later."""
