"""Runs the commands of a transcript with real kubectl."""

import asyncio
import os
import shlex
import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.integration.kubectl.backends import Backend
from tests.integration.kubectl.transcript import Step, shown_output
from vc.parts import obtain, require_or_skip_reason

COMMAND_SECONDS_MAX: Final = 30.0
FIRST_OUTPUT_SECONDS_MAX: Final = 10.0
SETTLE_SECONDS: Final = 0.5
"""How long a watch may take to show the last change before it is stopped."""


def find_kubectl() -> str:
    """The program from KUBECTL, the PATH or the parts; without one the test is skipped."""
    found = os.environ.get("KUBECTL") or shutil.which("kubectl")
    if found:
        return found
    reason = require_or_skip_reason("kubectl")
    if reason:
        pytest.skip(f"kubectl is neither on the PATH nor named in KUBECTL: {reason}")
    return str(obtain("kubectl").path)


class Shell:
    """One folder, one cluster, at most one command in the background."""

    def __init__(self, backend: Backend, *, folder: Path) -> None:
        self._backend = backend
        self._folder = folder
        self._kubectl = find_kubectl()
        self._environment = {
            "HOME": str(folder),
            "KUBECONFIG": str(backend.kubeconfig),
            "KUBE_EDITOR": "sed -i s/high/low/",
            "PATH": os.environ.get("PATH", ""),
        }
        self._background: asyncio.subprocess.Process | None = None
        self._first_line = b""

    async def run(self, step: Step) -> list[str]:
        """What the step gives."""
        match step.mode:
            case "$&":
                await self._start_background(step.command)
                return []
            case "$.":
                return await self._stop_background()
            case _:
                return await self._run(step.command)

    async def _run(self, command: str) -> list[str]:
        process = await self._spawn(command)
        async with asyncio.timeout(COMMAND_SECONDS_MAX):
            out, err = await process.communicate()
        return shown_output(out=out.decode(), err=err.decode(), code=process.returncode or 0)

    async def _start_background(self, command: str) -> None:
        assert self._background is None
        self._background = await self._spawn(command)
        assert self._background.stdout is not None
        async with asyncio.timeout(FIRST_OUTPUT_SECONDS_MAX):
            self._first_line = await self._background.stdout.readline()

    async def _stop_background(self) -> list[str]:
        process, self._background = self._background, None
        assert process is not None
        await asyncio.sleep(SETTLE_SECONDS)
        if process.returncode is None:
            process.terminate()
        out, err = await process.communicate()
        return shown_output(out=(self._first_line + out).decode(), err=err.decode(), code=0)

    async def _spawn(self, command: str) -> asyncio.subprocess.Process:
        program, *arguments = shlex.split(command)
        assert program == "kubectl", f"only kubectl is run here, not {program}"
        return await asyncio.create_subprocess_exec(
            self._kubectl,
            *arguments,
            cwd=self._folder,
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def close(self) -> None:
        """Leave no process behind."""
        if self._background is not None and self._background.returncode is None:
            self._background.terminate()
            await self._background.communicate()
