"""Index of pods, PodGroups and Commands by job, updated with the view.

The view is a table by object key, and a decision needs all objects of one job. The index is derived
data and is discarded with the view.
"""

from typing import TypeVar

from vc.messages.partition import owning_key, vcjob_owner
from vc.messages.view import Change, View
from vc.model.api.job import Command, Job
from vc.model.api.kinds import COMMANDS, PODS
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup
from vc.model.values.bounded import read_version

T = TypeVar("T")


class Ownership:
    """Pods, PodGroups and Commands by the key of their job."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, Pod]] = {}
        self._commands: dict[str, dict[str, Command]] = {}
        self._groups: dict[str, dict[str, PodGroup]] = {}

    def take(self, change: Change) -> set[str]:
        """Apply a change, and return the keys of the affected jobs."""
        touched: set[str] = set()
        # The old state first: an object may have moved to another job.
        for obj in (change.before, change.after):
            if obj is None:
                continue
            key = _job_key(change, obj)
            if key:
                touched.add(key)
                self._put(key, change, obj, present=obj is change.after)
        return touched

    def _put(self, job_key: str, change: Change, obj: ApiObject, *, present: bool) -> None:
        if isinstance(obj, Pod):
            _store(self._pods, job_key, change.key, obj if present else None)
        elif isinstance(obj, Command):
            _store(self._commands, job_key, change.key, obj if present else None)
        elif isinstance(obj, PodGroup):
            _store(self._groups, job_key, change.key, obj if present else None)

    def pods(self, job_key: str) -> tuple[Pod, ...]:
        """Pods of all jobs with this key, whatever their uid."""
        return tuple(self._pods.get(job_key, {}).values())

    def pod_count(self, job_key: str) -> int:
        """Number of pods of the job key."""
        return len(self._pods.get(job_key, ()))

    def podgroups(self, job_key: str) -> tuple[PodGroup, ...]:
        """PodGroups whose controller has this key or that have the job's name, sorted by name."""
        found = self._groups.get(job_key, {})
        return tuple(found[key] for key in sorted(found))

    def commands(self, job_key: str) -> tuple[Command, ...]:
        """Commands for the job that are not deleted yet."""
        return tuple(self._commands.get(job_key, {}).values())


def _store(tables: dict[str, dict[str, T]], job_key: str, key: str, obj: T | None) -> None:
    table = tables.setdefault(job_key, {})
    if obj is None:
        table.pop(key, None)
    else:
        table[key] = obj
    if not table:
        del tables[job_key]


def _job_key(change: Change, obj: ApiObject) -> str:
    """The key of the job that an object belongs to, or empty."""
    # A PodGroup counts by its name as well, because one of another owner can block ours.
    if change.kind in (PODS, COMMANDS) and vcjob_owner(obj) is None:
        return ""
    return owning_key(obj)


def pods_as_new_as(job: Job, view: View) -> bool:
    """Whether the observed pods are at least as new as the job.

    Topics are read independently. While the pods are behind, a pod may only seem gone.
    """
    progress = view.progress(PODS)
    reached = read_version(progress.resource_version if progress else "")
    wanted = read_version(job.metadata.resource_version)
    # Without both versions nothing can be compared, and decisions must go on.
    return not reached or not wanted or reached >= wanted
