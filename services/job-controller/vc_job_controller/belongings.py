"""Which pods, pod groups and commands belong to which job, kept in step with the view.

The view is a table by object key; a decision wants everything of one job. Derived data only: it is
thrown away with the view.
"""

from typing import TypeVar

from vc_messages.partition import owning_key, vcjob_owner
from vc_messages.view import Change
from vc_model.job import Command
from vc_model.kinds import COMMANDS, PODS
from vc_model.meta import ApiObject
from vc_model.pod import Pod
from vc_model.scheduling import PodGroup

T = TypeVar("T")


class Belongings:
    """Pods, pod groups and commands by the key of their job."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, Pod]] = {}
        self._commands: dict[str, dict[str, Command]] = {}
        self._groups: dict[str, dict[str, PodGroup]] = {}

    def take(self, change: Change) -> set[str]:
        """Follow a change; keys of the jobs that it concerns."""
        touched: set[str] = set()
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
        """Of whatever incarnation of the job."""
        return tuple(self._pods.get(job_key, {}).values())

    def pod_count(self, job_key: str) -> int:
        """How many there are."""
        return len(self._pods.get(job_key, ()))

    def podgroups(self, job_key: str) -> tuple[PodGroup, ...]:
        """Those that name the job as their controller, and one of its name; by name."""
        found = self._groups.get(job_key, {})
        return tuple(found[key] for key in sorted(found))

    def commands(self, job_key: str) -> tuple[Command, ...]:
        """Not yet deleted."""
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
    """The job an object belongs to; empty when to none."""
    if change.kind in (PODS, COMMANDS) and vcjob_owner(obj) is None:
        return ""
    return owning_key(obj)
