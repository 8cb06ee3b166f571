"""What was said before, so that a session's record holds only what is new.

Sessions follow one another within milliseconds, and most jobs wait for the reason they waited for
before. A record names changed reasons; a session that changed nothing leaves no record. That a job moved
up because another left is no change: who shows the line numbers it.

A record has a bound. Those that were never spoken of come first, then those whose last word is the
oldest; the sessions that follow say the rest. So nobody is passed over for good, however many change
in every session.
"""

import itertools
from typing import Final, NamedTuple

import msgspec

from vc_messages.sessions import (
    BINDS_RECORDED_MAX,
    REASONS_RECORDED_MAX,
    Evicted,
    JobReason,
    Placement,
    QueueShare,
    SessionRecord,
    TakenOver,
)
from vc_model.meta import object_key
from vc_scheduler.logic.decisions import Decisions


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """When a session began and how long it took; the shell measures."""

    started_at: float
    took_ms: float


class _Said(NamedTuple):
    """A word on a group."""

    turn: int
    """Counts records; 0 when nothing was said yet."""
    job: JobReason | None


_NOTHING: Final = _Said(0, None)


class Ledger:
    """The reasons on record."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}
        """By group; bounded by the groups that wait."""
        self._turn = 0
        self.owes = False
        """More had changed than the last record took: another session is to say the rest."""

    def record(self, decisions: Decisions, timing: Timing) -> SessionRecord | None:
        """The record of a session, or None when it changed nothing."""
        said = self._said
        resolved = sorted(said.keys() - {job.group for job in decisions.reasons})
        changed = [job for job in decisions.reasons if _is_new(job, said.get(job.group))]
        changed.sort(key=lambda job: said.get(job.group, _NOTHING).turn)
        told = changed[:REASONS_RECORDED_MAX]
        self.owes = len(told) < len(changed)
        self._turn += 1
        self._said = {job.group: said.get(job.group, _NOTHING) for job in decisions.reasons}
        self._said |= {job.group: _Said(self._turn, job) for job in told}
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
            reasons=told,
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
        """The next record says everything again."""
        self._said = {}


def _is_new(job: JobReason, said: _Said | None) -> bool:
    """Whether something else was said, or nothing; its place in the queue does not count."""
    known = said.job if said is not None else None
    if known is None:
        return True
    return (known.uid, known.queue, known.reason) != (job.uid, job.queue, job.reason)


def _placements(decisions: Decisions) -> list[Placement]:
    binds = (bind for gang in decisions.binds for bind in gang.binds)
    return [
        Placement(pod=object_key(bind.namespace, bind.name), uid=bind.uid, node=bind.node)
        for bind in itertools.islice(binds, BINDS_RECORDED_MAX)
    ]
