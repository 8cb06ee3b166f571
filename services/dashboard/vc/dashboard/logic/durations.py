"""When running jobs are expected to end, as far as this is known.

The sources are, in this order: the job's own `runningEstimate`; the `activeDeadlineSeconds` of its
pods, which is an upper limit; the median duration of finished jobs whose name differs only in the
number at its end. A job without any of these has no expected end.
"""

import heapq
import re
from typing import Final

import msgspec

from vc.dashboard.logic.cluster_index import ClusterIndex
from vc.model.api.job import Job
from vc.model.api.outline import pod_spec_of
from vc.model.values.times import format_duration, parse_duration, parse_time

HISTORY_MIN: Final = 3
"""Number of finished jobs that make a history."""
HISTORY_MAX: Final = 50
"""Limit of jobs of one name, the newest first. Others are not used."""
_NUMBER: Final = re.compile(r"(-[0-9]+|-[bcdfghjklmnpqrstvwxz2456789]{5}|[0-9]+)$")
"""A number, or the suffix that the API server appends to `generateName`.

Its alphabet has no vowels, so names like `daily-train` and `daily-clean` are not shortened.
"""


class End(msgspec.Struct, frozen=True, kw_only=True):
    """When a job ends, and the source of that time."""

    job: str
    at: float
    basis: str


class Durations:
    """Expected durations of jobs."""

    def __init__(self, cluster_index: ClusterIndex) -> None:
        self._jobs = cluster_index.jobs
        self._history = _history(cluster_index)

    def ends(self, *, now: float) -> list[End]:
        """Expected ends of running jobs, as far as they are known. All are in the future."""
        ends: list[End] = []
        for job in self._jobs.values():
            began = _phase_time(job, "Running")
            if job.status.state.phase == "Running" and began is not None:
                end = self.end(job.key, began=began, now=now)
                ends += [end] if end is not None else []
        return ends

    def end(self, key: str, *, began: float, now: float) -> End | None:
        """When a job that began at that time ends, or None if it is unknown or already passed."""
        job = self._jobs.get(key)
        if job is None:
            return None
        for seconds, basis in (_estimate(job), _deadline(job), _usual(job, self._history)):
            # A passed time was wrong, so the next source is used.
            if seconds is not None and began + seconds > now:
                return End(job=key, at=began + seconds, basis=basis)
        return None


def stem_of(name: str) -> str:
    """A name without the number or the random characters at its end."""
    return _NUMBER.sub("", name)


def _estimate(job: Job) -> tuple[float | None, str]:
    written = job.spec.running_estimate or ""
    try:
        return (parse_duration(written) if written else None), f"its runningEstimate of {written}"
    except ValueError:
        return None, ""


def _deadline(job: Job) -> tuple[float | None, str]:
    """The longest deadline, if every task has one."""
    specs = [pod_spec_of(task.template) for task in job.spec.tasks]
    found = [spec.get("activeDeadlineSeconds") for spec in specs]
    numbers = [float(n) for n in found if isinstance(n, int) and n > 0]
    # A task without a deadline may run for ever, and so may the job.
    if not numbers or len(numbers) < len(found):
        return None, ""
    return max(numbers), f"its activeDeadlineSeconds of {max(numbers):.0f}"


def _usual(job: Job, history: dict[tuple[str, str], list[float]]) -> tuple[float | None, str]:
    stem = stem_of(job.metadata.name)
    took = sorted(history.get((job.metadata.namespace, stem), []))
    if len(took) < HISTORY_MIN:
        return None, ""
    # The median is robust against single runs that were unusually short or long.
    median = took[len(took) // 2]
    return median, f"{len(took)} finished jobs {stem}* took {format_duration(round(median))}"


def _history(cluster_index: ClusterIndex) -> dict[tuple[str, str], list[float]]:
    """Durations of completed jobs, by namespace and name without number; only the newest."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for job in cluster_index.jobs.values():
        began, ended = _phase_time(job, "Running"), _phase_time(job, "Completed")
        # Failed jobs say nothing about the time that a complete run takes.
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
