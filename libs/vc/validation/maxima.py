"""Limits that an administrator may set: tasks and replicas of a job, objects per namespace.

None is set by default. Objects are counted live at each create, so concurrent creates may exceed
the limit of a namespace. Existing objects are kept: only additional ones are refused.
"""

import msgspec

from vc.model.api import kinds
from vc.model.api.job import JobSpec
from vc.model.api.kinds import Kind
from vc.validation.result import ValidationResult


class Maxima(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of sizes and counts. 0 means no limit."""

    tasks: int = 0
    replicas: int = 0
    jobs: int = 0
    podgroups: int = 0

    def of(self, kind: Kind) -> int:
        """Limit of objects of a kind in a namespace."""
        return {kinds.JOBS.short: self.jobs, kinds.PODGROUPS.short: self.podgroups}.get(
            kind.short, 0
        )


def check_count(
    found: ValidationResult, counted: int | None, *, kind: Kind, maxima: Maxima
) -> None:
    """Refuse an object if its namespace has reached the limit."""
    most = maxima.of(kind)
    if most and counted is not None and counted >= most:
        found.refuse(
            "metadata.namespace",
            f"has {counted} {kind.plural} or more and may have {most} (an administrator's maximum); "
            f"delete {kind.plural} that have finished first",
        )


def check_sizes(
    found: ValidationResult, spec: JobSpec, *, maxima: Maxima, before: JobSpec | None = None
) -> None:
    """Check the size of a job that is created or that grows."""
    if maxima.tasks and before is None and len(spec.tasks) > maxima.tasks:
        found.refuse(
            "spec.tasks",
            f"a job may have {maxima.tasks} tasks (an administrator's maximum); raise replicas instead",
            value=len(spec.tasks),
        )
    replicas = sum(task.replicas for task in spec.tasks)
    known = sum(task.replicas for task in before.tasks) if before is not None else 0
    # A job that already exceeds the limit may keep its size or shrink.
    if maxima.replicas and replicas > max(maxima.replicas, known):
        found.refuse(
            "spec.tasks[*].replicas",
            f"a job may have {maxima.replicas} replicas in all (an administrator's maximum); lower them",
            value=replicas,
        )
