"""`pyroclast demo`: run the example jobs through all services and watch them to their end.

On a terminal the table is redrawn in place; otherwise each change of a phase is one line. Times are
measured here by watching the jobs, as a user sees them.
"""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Final

import msgspec

from vc.cli.manifests import read_manifests
from vc.cli.pyroclast.embedded import EmbeddedStack
from vc.cli.pyroclast.submit import submit
from vc.cli.tables import render
from vc.clock import Clock
from vc.model.api.job import Job
from vc.model.api.kinds import JOBS

FINISHED: Final = frozenset({"Completed", "Failed", "Terminated", "Aborted"})
DEMO_SECONDS_MAX: Final = 120.0
_REDRAW_SECONDS: Final = 0.2
_HEADER: Final = ("JOB", "QUEUE", "PHASE", "PODS", "WAITED", "RAN")


class Watched(msgspec.Struct):
    """The observed state of one job."""

    namespace: str
    name: str
    queue: str
    pods: int
    submitted_at: float
    phase: str = "Pending"
    started_at: float | None = None
    ended_at: float | None = None

    def take(self, job: Job, now: float) -> bool:
        """Update from the API. Return whether the phase has changed."""
        phase = job.status.state.phase or "Pending"
        changed = phase != self.phase
        self.phase = phase
        # A short job may finish between two looks and never be seen Running.
        if self.started_at is None and (phase == "Running" or phase in FINISHED):
            self.started_at = now
        if self.ended_at is None and phase in FINISHED:
            self.ended_at = now
        return changed

    def row(self, now: float) -> tuple[str, ...]:
        """The table row of the job."""
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
        """The table with the current state of all jobs."""
        now = self._clock.monotonic()
        rows = [job.row(now) for job in self._jobs]
        width = shutil.get_terminal_size().columns if self._terminal else 200
        return render(_HEADER, rows, width=width, colour=self._terminal)

    def redraw(self) -> None:
        """Redraw the table in place on a terminal. Otherwise do nothing."""
        if not self._terminal:
            return
        if self._drawn_lines:
            # Move up over the previous table and clear it, so that the new one replaces it.
            print(f"\x1b[{self._drawn_lines}A\x1b[J", end="")
        text = self.table()
        self._drawn_lines = text.count("\n") + 1
        print(text, flush=True)

    def changed(self, job: Watched) -> None:
        """Print one line per change of a phase, where the table cannot be redrawn."""
        if not self._terminal:
            print(f"{job.name}: {job.phase}", flush=True)


async def run_demo(*, home: Path, manifests: list[Path]) -> int:
    """Run the demo. Returns 0 if every job has completed."""
    documents = read_manifests(manifests)
    print("starting the embedded stack: every service in this process, 8 simulated nodes")
    async with EmbeddedStack(home=home) as stack:
        # Otherwise the measured waiting times would include the start of the stack.
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
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        queue=job.spec.queue or "default",
        pods=sum(task.replicas for task in job.spec.tasks),
        submitted_at=submitted_at,
    )


async def _follow(stack: EmbeddedStack, jobs: list[Watched], board: Board) -> None:
    """Watch the jobs until all have ended or the time is over."""
    resource = stack.api.registry.for_kind(JOBS)
    deadline = stack.clock.monotonic() + DEMO_SECONDS_MAX
    while any(job.ended_at is None for job in jobs) and stack.clock.monotonic() < deadline:
        for job in jobs:
            found = stack.api.get(resource, name=job.name, namespace=job.namespace)
            seen = msgspec.convert(found, Job)
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
