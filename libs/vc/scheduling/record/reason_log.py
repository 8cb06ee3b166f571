"""Keeps the recorded reasons, so that a session record contains only changes.

Sessions follow within milliseconds, and most jobs wait for the same reason as before. A record
contains the changed reasons, and a session without any change has no record. A changed position in
the queue is not a change of the reason: the reader computes positions.

The size of a record is bounded. Jobs without any recorded reason come first, then the jobs whose
recorded reason is the oldest. The following sessions record the rest. No job is left out forever,
however many reasons change in each session.
"""

import itertools
from typing import Final, NamedTuple

import msgspec

from vc.messages.sessions import (
    BINDS_RECORDED_MAX,
    REASONS_RECORDED_MAX,
    Evicted,
    JobReason,
    Placement,
    QueueShare,
    SessionRecord,
    TakenOver,
)
from vc.model.api.meta import object_key
from vc.scheduling.model.decisions import Decisions


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Start and duration of a session, measured by the service."""

    started_at: float
    took_ms: float


class _Recorded(NamedTuple):
    """The last recorded reason of a group."""

    number: int
    """Number of the record; 0 when no reason was recorded yet."""
    job: JobReason | None


_NOTHING: Final = _Recorded(0, None)


class ReasonLog:
    """The reasons on record."""

    def __init__(self) -> None:
        self._recorded: dict[str, _Recorded] = {}
        """By group; bounded by the number of waiting groups."""
        self._number = 0
        self.incomplete = False
        """Whether the last record was full, so that another session must record the rest."""

    def record(self, decisions: Decisions, timing: Timing) -> SessionRecord | None:
        """Return the record of a session, or None when nothing changed."""
        recorded = self._recorded
        # Sorted, because the order of a set must not show in a record.
        resolved = sorted(recorded.keys() - {job.group for job in decisions.reasons})
        changed = [job for job in decisions.reasons if _is_new(job, recorded.get(job.group))]
        # The oldest recorded reasons come first. The sort is stable, so equal ones keep the job
        # order.
        changed.sort(key=lambda job: recorded.get(job.group, _NOTHING).number)
        written = changed[:REASONS_RECORDED_MAX]
        self.incomplete = len(written) < len(changed)
        self._number += 1
        # Groups that no longer wait are dropped, and groups beyond the bound keep their old entry,
        # so that they still count as changed in the next session.
        self._recorded = {job.group: recorded.get(job.group, _NOTHING) for job in decisions.reasons}
        self._recorded |= {job.group: _Recorded(self._number, job) for job in written}
        acted = (
            decisions.enqueued
            or decisions.binds
            or decisions.releases
            or decisions.evictions
            or decisions.takeovers
        )
        if not (acted or changed or resolved):
            return None
        return SessionRecord(
            session_id=decisions.session_id,
            started_at=timing.started_at,
            took_ms=timing.took_ms,
            nodes=decisions.nodes,
            groups=decisions.groups,
            enqueued=list(decisions.enqueued),
            bound_pods=decisions.bound_pods,
            placements=_placements(decisions),
            released=[
                object_key(pod.namespace, pod.name)
                for release in decisions.releases
                for pod in release.pods
            ],
            waiting=len(decisions.reasons),
            reasons=written,
            resolved=resolved,
            evicted=[
                Evicted(pod=object_key(pod.namespace, pod.name), uid=pod.uid, group=eviction.group)
                for eviction in decisions.evictions
                for pod in eviction.pods
            ],
            taken_over=[
                TakenOver(group=group, by=takeover.group)
                for takeover in decisions.takeovers
                for group in takeover.lost
            ],
            queues=[QueueShare(queue=q.queue, allocated=q.allocated) for q in decisions.queues],
        )

    def forget(self) -> None:
        """Drop all entries, so that the next record contains all reasons."""
        self._recorded = {}


def _is_new(job: JobReason, recorded: _Recorded | None) -> bool:
    """Whether the reason differs from the recorded one; the position in the queue does not count."""
    known = recorded.job if recorded is not None else None
    if known is None:
        return True
    return (known.uid, known.queue, known.reason) != (job.uid, job.queue, job.reason)


def _placements(decisions: Decisions) -> list[Placement]:
    """Return the placements of the binds, up to the bound of a record."""
    binds = (bind for gang in decisions.binds for bind in gang.binds)
    return [
        Placement(pod=object_key(bind.namespace, bind.name), uid=bind.uid, node=bind.node)
        for bind in itertools.islice(binds, BINDS_RECORDED_MAX)
    ]
