"""Extension points that decide on jobs: enqueue, valid, ready, pipelined and starving.

docs/behaviour.md 5.3 has the rules of votes.
"""

from typing import TYPE_CHECKING, Final, Protocol

from vc.messages.sessions import Reason
from vc.scheduling.framework.extension_point import Combine, ConfiguredPlugins, ExtensionPoint
from vc.scheduling.model.rows import GroupRow

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

PERMIT: Final = 1
ABSTAIN: Final = 0
REJECT: Final = -1

MissingMembers = list[tuple[str | None, int]]
"""Pairs of a task (None for any task) and a number of pods."""


class JobEnqueueable(Protocol):
    """Whether a pod group may be enqueued."""

    def job_enqueueable_refusal(self, session: "Session", group: GroupRow) -> Reason | None: ...


class JobEnqueueablePermit(Protocol):
    """Whether a pod group is enqueued regardless of later tiers."""

    def job_enqueueable_permit(self, session: "Session", group: GroupRow) -> bool: ...


class JobValid(Protocol):
    """Whether a job may be tried at all."""

    def job_valid_refusal(self, session: "Session", group: GroupRow) -> Reason | None: ...


class JobReady(Protocol):
    """How many pods of a job must still be bound together."""

    def job_ready_missing(self, group: GroupRow) -> MissingMembers:
        """The missing members by task; empty if the job has its minimum. It may depend on the row
        alone, because the framework caches it by row."""
        ...


class JobPipelined(Protocol):
    """Whether a job that cannot start now keeps a reservation until it can."""

    def job_pipelined_vote(self, session: "Session", group: GroupRow, *, whole: bool) -> int:
        """PERMIT, ABSTAIN or REJECT. `whole` means that the whole gang will fit."""
        ...


class JobStarving(Protocol):
    """Whether pods may be evicted for a job."""

    def job_starving(self, session: "Session", group: GroupRow) -> bool: ...


JOB_ENQUEUEABLE: Final = ExtensionPoint[JobEnqueueable](
    JobEnqueueable, Combine.FIRST_REFUSAL, "jobenqueued"
)
JOB_ENQUEUEABLE_PERMIT: Final = ExtensionPoint[JobEnqueueablePermit](
    JobEnqueueablePermit, Combine.PERMIT_BY_TIER, "jobenqueued"
)
# Volcano has no switch for this point.
JOB_VALID: Final = ExtensionPoint[JobValid](JobValid, Combine.FIRST_REFUSAL)
JOB_READY: Final = ExtensionPoint[JobReady](JobReady, Combine.FIRST_ANSWER, "jobready")
JOB_PIPELINED: Final = ExtensionPoint[JobPipelined](
    JobPipelined, Combine.VOTES_BY_TIER, "jobpipelined"
)
JOB_STARVING: Final = ExtensionPoint[JobStarving](
    JobStarving, Combine.FIRST_TIER_AGREES, "jobstarving"
)


class JobPoints:
    """Decisions on jobs over all plugins of a configuration."""

    def __init__(self, plugins: ConfiguredPlugins) -> None:
        self._enqueueable = list(
            zip(
                plugins.by_tier(JOB_ENQUEUEABLE),
                plugins.by_tier(JOB_ENQUEUEABLE_PERMIT),
                strict=True,
            )
        )
        self._valid = plugins.all(JOB_VALID)
        self._ready = plugins.all(JOB_READY)
        self._pipelined = plugins.by_tier(JOB_PIPELINED)
        self._starving = plugins.by_tier(JOB_STARVING)
        self._missing: dict[str, tuple[GroupRow, MissingMembers]] = {}
        """By group: the cached result of `missing`. It is needed many times in a session, and rows
        are immutable."""

    def job_enqueueable_refusal(self, session: "Session", group: GroupRow) -> Reason | None:
        """The first refusal; None if a tier permits the group or no plugin refuses it."""
        for refusing, permitting in self._enqueueable:
            for plugin in refusing:
                reason = plugin.job_enqueueable_refusal(session, group)
                if reason is not None:
                    return reason
            # A permit ends the vote after its own tier, so refusals of the same tier still count.
            if any(plugin.job_enqueueable_permit(session, group) for plugin in permitting):
                return None
        return None

    def job_valid_refusal(self, session: "Session", group: GroupRow) -> Reason | None:
        """Why a job may not be tried; None if no plugin refuses it."""
        for plugin in self._valid:
            reason = plugin.job_valid_refusal(session, group)
            if reason is not None:
                return reason
        return None

    def missing(self, group: GroupRow) -> MissingMembers:
        """The pods that the gang still needs, by task; empty if no plugin requires a minimum."""
        known = self._missing.get(group.key)
        # Another row may have the same key, so the cached result counts only for the same row.
        if known is None or known[0] is not group:
            known = self._missing[group.key] = (group, self._job_ready_missing(group))
        return known[1]

    def _job_ready_missing(self, group: GroupRow) -> MissingMembers:
        for plugin in self._ready:
            missing = plugin.job_ready_missing(group)
            if missing:
                return missing
        return []

    def job_pipelined(self, session: "Session", group: GroupRow, *, whole: bool) -> bool:
        """Whether the job keeps a reservation. Without a vote it does if the whole gang will fit."""
        for tier in self._pipelined:
            votes = [plugin.job_pipelined_vote(session, group, whole=whole) for plugin in tier]
            # A Reject wins over a Permit of the same tier.
            if REJECT in votes:
                return False
            if PERMIT in votes:
                return True
        return whole

    def job_starving(self, session: "Session", group: GroupRow) -> bool:
        """Whether pods may be evicted for the job; False if no plugin has an opinion."""
        for tier in self._starving:
            # A tier without such a plugin has no opinion.
            if tier:
                return all(plugin.job_starving(session, group) for plugin in tier)
        return False
