"""Which tasks the arguments of a plugin name. A job may lack them.

A task that the user named must exist. A task that only the default names may be
missing, unless the plugin needs it.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from vc.jobplugin.arguments import Parsed
from vc.jobplugin.hosts import no_such_task, task_named
from vc.model.api.job import Job, TaskSpec


class Tasks(NamedTuple):
    """Tasks by the argument that names them, or the problem of the arguments."""

    tasks: Mapping[str, TaskSpec] = {}
    problem: str = ""


def roles_of(job: Job, parsed: Parsed, roles: Iterable[str], *, needed: Collection[str]) -> Tasks:
    """The task of each role. A role is the name of the argument whose
    value is the name of the task."""
    if parsed.problem:
        return Tasks(problem=parsed.problem)
    found: dict[str, TaskSpec] = {}
    for role in roles:
        task = task_named(job, parsed.text(role))
        if task is not None:
            found[role] = task
        # A default name may be missing, because not every job has all tasks of a plugin.
        elif role in needed or role in parsed.given:
            return Tasks(problem=no_such_task(job, parsed.text(role), argument=role))
    return Tasks(found)
