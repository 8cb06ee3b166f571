"""Maxima that an administrator may set: tasks and replicas of a job, objects of a namespace. None by default.

Objects are counted live when one is created, so a namespace may exceed its maximum by those that are
created in the same moment. What is there stays: only what adds to it is refused.
"""

import msgspec

from vc_admission.logic.endpoints import CREATE, Endpoint
from vc_admission.logic.findings import Findings
from vc_admission.logic.wire import Request
from vc_model import kinds
from vc_model.job import JobSpec
from vc_model.kinds import Kind


class Maxima(msgspec.Struct, frozen=True, kw_only=True):
    """0: there is none."""

    tasks: int = 0
    replicas: int = 0
    jobs: int = 0
    podgroups: int = 0

    def of(self, kind: Kind) -> int:
        """Objects of a kind in a namespace."""
        return {kinds.JOBS.short: self.jobs, kinds.PODGROUPS.short: self.podgroups}.get(
            kind.short, 0
        )


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """Objects to be counted live, up to a number."""

    kind: Kind
    namespace: str
    most: int


def to_count(request: Request, maxima: Maxima, *, endpoint: Endpoint) -> Count | None:
    """What must be counted before a request can be answered."""
    most = maxima.of(endpoint.kind)
    if not most or endpoint.mutates or request.operation != CREATE:
        return None
    return Count(kind=endpoint.kind, namespace=request.namespace, most=most)


def check_count(found: Findings, counted: int | None, *, kind: Kind, maxima: Maxima) -> None:
    """Whether the namespace takes one more."""
    most = maxima.of(kind)
    if most and counted is not None and counted >= most:
        found.refuse(
            "metadata.namespace",
            f"has {counted} {kind.plural} or more and may have {most} (an administrator's maximum); "
            f"delete {kind.plural} that have finished first",
        )


def check_sizes(
    found: Findings, spec: JobSpec, *, maxima: Maxima, before: JobSpec | None = None
) -> None:
    """Of a job that is created, or that becomes larger."""
    if maxima.tasks and before is None and len(spec.tasks) > maxima.tasks:
        found.refuse(
            "spec.tasks",
            f"a job may have {maxima.tasks} tasks (an administrator's maximum); raise replicas instead",
            value=len(spec.tasks),
        )
    replicas = sum(task.replicas for task in spec.tasks)
    known = sum(task.replicas for task in before.tasks) if before is not None else 0
    if maxima.replicas and replicas > max(maxima.replicas, known):
        found.refuse(
            "spec.tasks[*].replicas",
            f"a job may have {maxima.replicas} replicas in all (an administrator's maximum); lower them",
            value=replicas,
        )
