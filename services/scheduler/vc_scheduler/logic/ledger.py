"""What was said before, so that a session's record holds only what is new.

Sessions follow one another within milliseconds, and most jobs wait for the reason they waited for
before. A record names changed reasons; a session that changed nothing leaves no record.
"""

import itertools

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


class Ledger:
    """The reasons on record."""

    def __init__(self) -> None:
        self._reasons: dict[str, JobReason | None] = {}
        """By group, as it was last said, None for one that was never; bounded by the groups that
        wait."""

    def record(self, decisions: Decisions, timing: Timing) -> SessionRecord | None:
        """The record of a session, or None when it changed nothing."""
        now = {job.group: job for job in decisions.reasons}
        changed = [job for job in decisions.reasons if self._reasons.get(job.group) != job]
        resolved = sorted(group for group in self._reasons if group not in now)
        unsaid = changed[REASONS_RECORDED_MAX:]
        self._reasons = {**now, **{job.group: self._reasons.get(job.group) for job in unsaid}}
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
            reasons=changed[:REASONS_RECORDED_MAX],
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
        self._reasons = {}


def _placements(decisions: Decisions) -> list[Placement]:
    binds = (bind for gang in decisions.binds for bind in gang.binds)
    return [
        Placement(pod=object_key(bind.namespace, bind.name), uid=bind.uid, node=bind.node)
        for bind in itertools.islice(binds, BINDS_RECORDED_MAX)
    ]
