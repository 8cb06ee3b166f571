"""Which tasks the arguments of a plugin name. A job may lack them.

A task that the user named must exist. A task that only the default names may be
missing, unless the plugin needs it.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from vc.jobs.hosts import no_such_task, task_named
from vc.jobs.plugins.flags import Parsed
from vc.model.api.job import Job, TaskSpec


class NamedTasks(NamedTuple):
    """Tasks by the argument that names them, or the problem of the arguments."""

    tasks: Mapping[str, TaskSpec] = {}
    problem: str = ""


def named_tasks(
    job: Job, parsed: Parsed, arguments: Iterable[str], *, needed: Collection[str]
) -> NamedTasks:
    """The task that each of these arguments names."""
    if parsed.problem:
        return NamedTasks(problem=parsed.problem)
    found: dict[str, TaskSpec] = {}
    for argument in arguments:
        task = task_named(job, parsed.text(argument))
        if task is not None:
            found[argument] = task
        # A default name may be missing, because not every job has all tasks of a plugin.
        elif argument in needed or argument in parsed.given:
            return NamedTasks(problem=no_such_task(job, parsed.text(argument), argument=argument))
    return NamedTasks(found)
