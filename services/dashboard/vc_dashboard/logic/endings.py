"""When running jobs are expected to end, as far as anything says so.

In this order: the job's own `runningEstimate`; the `activeDeadlineSeconds` of its pods, which ends it
at the latest; how long finished jobs of the same name, but for the number at its end, took (their
median). What has none of these has no expected end, and nobody guesses one.
"""

import heapq
import re
from typing import Final

import msgspec

from vc_dashboard.logic.picture import Picture
from vc_model.job import Job
from vc_model.outline import pod_spec_of
from vc_model.times import format_duration, parse_duration, parse_time

HISTORY_MIN: Final = 3
"""Finished jobs that make a history."""
HISTORY_MAX: Final = 50
"""Of one name, the newest; the others are not looked at."""
_NUMBER: Final = re.compile(r"(-[0-9]+|-[bcdfghjklmnpqrstvwxz2456789]{5}|[0-9]+)$")
"""A number, or what the API server appends to `generateName`: its alphabet has no vowels, so that
`daily-train` and `daily-clean` keep their names."""


class End(msgspec.Struct, frozen=True, kw_only=True):
    """When a job ends, and who says so."""

    job: str
    at: float
    basis: str


class Durations:
    """How long jobs take."""

    def __init__(self, picture: Picture) -> None:
        self._jobs = picture.jobs
        self._history = _history(picture)

    def ends(self, *, now: float) -> list[End]:
        """Of jobs that run and of which something is known; none of them lies in the past."""
        ends: list[End] = []
        for job in self._jobs.values():
            began = _phase_time(job, "Running")
            if job.status.state.phase == "Running" and began is not None:
                end = self.end(job.key, began=began, now=now)
                ends += [end] if end is not None else []
        return ends

    def end(self, key: str, *, began: float, now: float) -> End | None:
        """When a job that began then ends; None when nothing says so, or it is over that already."""
        job = self._jobs.get(key)
        if job is None:
            return None
        for seconds, basis in (_estimate(job), _deadline(job), _usual(job, self._history)):
            if seconds is not None and began + seconds > now:
                return End(job=key, at=began + seconds, basis=basis)
        return None


def stem_of(name: str) -> str:
    """A name without the number or the random letters at its end."""
    return _NUMBER.sub("", name)


def _estimate(job: Job) -> tuple[float | None, str]:
    written = job.spec.running_estimate or ""
    try:
        return (parse_duration(written) if written else None), f"its runningEstimate of {written}"
    except ValueError:
        return None, ""


def _deadline(job: Job) -> tuple[float | None, str]:
    """All tasks must have one; the longest counts."""
    specs = [pod_spec_of(task.template) for task in job.spec.tasks]
    found = [spec.get("activeDeadlineSeconds") for spec in specs]
    numbers = [float(n) for n in found if isinstance(n, int) and n > 0]
    if not numbers or len(numbers) < len(found):
        return None, ""
    return max(numbers), f"its activeDeadlineSeconds of {max(numbers):.0f}"


def _usual(job: Job, history: dict[tuple[str, str], list[float]]) -> tuple[float | None, str]:
    stem = stem_of(job.metadata.name)
    took = sorted(history.get((job.metadata.namespace, stem), []))
    if len(took) < HISTORY_MIN:
        return None, ""
    median = took[len(took) // 2]
    return median, f"{len(took)} finished jobs {stem}* took {format_duration(round(median))}"


def _history(picture: Picture) -> dict[tuple[str, str], list[float]]:
    """How long jobs ran that completed, by namespace and stem; the newest of them."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for job in picture.jobs.values():
        began, ended = _phase_time(job, "Running"), _phase_time(job, "Completed")
        if job.status.state.phase == "Completed" and began is not None and ended is not None:
            took = found.setdefault((job.metadata.namespace, stem_of(job.metadata.name)), [])
            took.append((ended, max(0.0, ended - began)))
    return {
        stem: [seconds for _, seconds in heapq.nlargest(HISTORY_MAX, took)]
        for stem, took in found.items()
    }


def _phase_time(job: Job, phase: str) -> float | None:
    """When the job last entered a phase."""
    times = [c.last_transition_time for c in job.status.conditions if c.status == phase]
    try:
        return parse_time(times[-1]) if times else None
    except ValueError:
        return None
