"""Which task plays which part: arguments name tasks, and a job may lack them.

A task that the user named must be there. One that only the default names may be missing, unless the
plugin cannot do without it.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from vc_jobplugin.arguments import Parsed
from vc_jobplugin.hosts import no_such_task, task_named
from vc_model.job import Job, TaskSpec


class Roles(NamedTuple):
    """Tasks by the argument that names them; or what is wrong with the arguments."""

    tasks: Mapping[str, TaskSpec] = {}
    problem: str = ""


def roles_of(job: Job, parsed: Parsed, roles: Iterable[str], *, needed: Collection[str]) -> Roles:
    """Each role is the name of the argument whose value is the task's name."""
    if parsed.problem:
        return Roles(problem=parsed.problem)
    found: dict[str, TaskSpec] = {}
    for role in roles:
        task = task_named(job, parsed.text(role))
        if task is not None:
            found[role] = task
        elif role in needed or role in parsed.given:
            return Roles(problem=no_such_task(job, parsed.text(role), argument=role))
    return Roles(found)
