"""`pyroclast demo`: the example jobs through all services, watched to their ends.

On a terminal the table is redrawn in place; elsewhere each change of a phase is one line. The times
are measured here, by watching the jobs, as a user would see them.
"""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Final

import msgspec

from vc_cli.embedded import EmbeddedStack
from vc_cli.manifests import read_manifests
from vc_cli.submit import submit
from vc_cli.tables import render
from vc_clock import Clock
from vc_model.job import Job
from vc_model.kinds import JOBS

FINISHED: Final = frozenset({"Completed", "Failed", "Terminated", "Aborted"})
DEMO_SECONDS_MAX: Final = 120.0
_REDRAW_SECONDS: Final = 0.2
_HEADER: Final = ("JOB", "QUEUE", "PHASE", "PODS", "WAITED", "RAN")


class Watched(msgspec.Struct):
    """One job as seen so far."""

    name: str
    queue: str
    pods: int
    submitted_at: float
    phase: str = "Pending"
    started_at: float | None = None
    ended_at: float | None = None

    def take(self, job: Job, now: float) -> bool:
        """What the API says now; whether the phase changed."""
        phase = job.status.state.phase or "Pending"
        changed = phase != self.phase
        self.phase = phase
        if self.started_at is None and (phase == "Running" or phase in FINISHED):
            self.started_at = now
        if self.ended_at is None and phase in FINISHED:
            self.ended_at = now
        return changed

    def row(self, now: float) -> tuple[str, ...]:
        """The job as a line of the table."""
        waited = (self.started_at or now) - self.submitted_at
        ran = f"{(self.ended_at or now) - self.started_at:.1f}s" if self.started_at else "-"
        return (self.name, self.queue, self.phase, str(self.pods), f"{waited:.1f}s", ran)


class Board:
    """Shows the jobs while they run."""

    def __init__(self, clock: Clock, jobs: list[Watched]) -> None:
        self._clock = clock
        self._jobs = jobs
        self._terminal = sys.stdout.isatty()
        self._drawn_lines = 0

    def table(self) -> str:
        """All jobs as they stand."""
        now = self._clock.monotonic()
        rows = [job.row(now) for job in self._jobs]
        width = shutil.get_terminal_size().columns if self._terminal else 200
        return render(_HEADER, rows, width=width, colour=self._terminal)

    def redraw(self) -> None:
        """In place on a terminal; nothing elsewhere."""
        if not self._terminal:
            return
        if self._drawn_lines:
            print(f"\x1b[{self._drawn_lines}A\x1b[J", end="")
        text = self.table()
        self._drawn_lines = text.count("\n") + 1
        print(text, flush=True)

    def changed(self, job: Watched) -> None:
        """One line per change of a phase, where nothing can be redrawn."""
        if not self._terminal:
            print(f"{job.name}: {job.phase}", flush=True)


async def run_demo(*, home: Path, manifests: list[Path]) -> int:
    """0 when every job completed."""
    documents = read_manifests(manifests)
    print("starting the embedded stack: every service in this process, 8 simulated nodes")
    async with EmbeddedStack(home=home) as stack:
        await stack.wait_until_ready()
        created = await submit(stack.api, documents)
        submitted_at = stack.clock.monotonic()
        jobs = [
            _watched(job, submitted_at)
            for job in created
            if job["kind"] == JOBS.kind and job["apiVersion"] == JOBS.api_version
        ]
        print(f"submitted {len(documents)} objects, {len(jobs)} of them jobs\n")
        board = Board(stack.clock, jobs)
        await _follow(stack, jobs, board)
        print("" if sys.stdout.isatty() else "\n" + board.table())
        return _verdict(jobs)


def _watched(created: dict[str, object], submitted_at: float) -> Watched:
    job = msgspec.convert(created, Job)
    return Watched(
        name=job.metadata.name,
        queue=job.spec.queue or "default",
        pods=sum(task.replicas for task in job.spec.tasks),
        submitted_at=submitted_at,
    )


async def _follow(stack: EmbeddedStack, jobs: list[Watched], board: Board) -> None:
    """Until all have ended or the time is up."""
    resource = stack.api.registry.for_kind(JOBS)
    deadline = stack.clock.monotonic() + DEMO_SECONDS_MAX
    while any(job.ended_at is None for job in jobs) and stack.clock.monotonic() < deadline:
        for job in jobs:
            seen = msgspec.convert(stack.api.get(resource, name=job.name, namespace="default"), Job)
            if job.take(seen, stack.clock.monotonic()):
                board.changed(job)
        board.redraw()
        await asyncio.sleep(_REDRAW_SECONDS)
    board.redraw()


def _verdict(jobs: list[Watched]) -> int:
    unfinished = [job for job in jobs if job.phase != "Completed"]
    if not unfinished:
        print(f"all {len(jobs)} jobs completed")
        return 0
    for job in unfinished:
        print(f"{job.name} did not complete: {job.phase}", file=sys.stderr)
    return 1
