"""Metrics of sessions, and one log line per decision about a job.

No decision depends on what is measured here. A refused job is logged when the stage or code of its
reason changes, but not when only the numbers change: numbers change in every session, and `vcctl
job explain` shows them.
"""

from collections.abc import Callable, Sequence

from vc.model.api.meta import ApiObject
from vc.model.api.scheduling import PodGroup
from vc.model.values.times import parse_time
from vc.runtime.applying.effects import Outcome
from vc.runtime.containment.boundaries import DECIDE
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.job_fields import fields_of
from vc.scheduler.metrics.scheduler_metrics import SchedulerMetrics
from vc.scheduler.metrics.shares import FIGURES_SECONDS, ShareMetrics
from vc.scheduler.metrics.stopwatch import SessionStopwatch
from vc.scheduler.spans import SessionTimes
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.closing.share_report import Figures, figures
from vc.scheduling.conf.model import Conf
from vc.scheduling.effects import GroupWork
from vc.scheduling.model.decisions import Decisions, Eviction, GangBind, LeftOut


class Observer:
    """Metrics and log lines of one scheduler."""

    def __init__(self, context: Context, *, group_of: Callable[[str], ApiObject | None]) -> None:
        self._context = context
        self._group_of = group_of
        self.metrics = SchedulerMetrics(context, exists=lambda key: group_of(key) is not None)
        self._shares = ShareMetrics(context.metrics)
        self._stopwatch = SessionStopwatch(context.clock)
        self._figures: Figures | None = None
        """Computed next to the last session, and exported after it ended."""
        self._figured_at = float("-inf")
        self._faults: tuple[LeftOut, ...] = ()
        """Faults of the last session; each is logged once, not in every session."""
        self._logged: dict[str, tuple[str, str]] = {}
        """Stage and code that were last logged, by waiting job."""

    def stopwatch(self) -> SessionStopwatch:
        """The stopwatch for the parts of the session that begins now."""
        self._stopwatch = SessionStopwatch(self._context.clock)
        return self._stopwatch

    def measure_shares(
        self, snapshot: Snapshot, conf: Conf, *, now: float, decisions: Decisions
    ) -> None:
        """Compute the figures of queues and jobs every few seconds, after a session decided."""
        clock = self._context.clock
        due = clock.monotonic() - self._figured_at >= FIGURES_SECONDS
        if due and not decisions.left_out:  # a plugin that raised would raise again
            with self._context.problems.contain(DECIDE, "figures", ""):
                self._figures = figures(snapshot, conf, now)
            self._figured_at = clock.monotonic()

    def session(self, decisions: Decisions, *, took_seconds: float) -> None:
        """Record a finished session."""
        self.metrics.session(decisions, took_seconds=took_seconds, parts=self._stopwatch.seconds)
        for fault in decisions.left_out:
            # A plugin usually raises in every session; only a new fault is logged.
            if fault not in self._faults:
                what = f"plugin={fault.plugin}" if fault.plugin else f"action={fault.action or '-'}"
                what = f"podgroup={fault.group}" if fault.group else what
                self._context.log.error("left out of the session %s error=%s", what, fault.why)
        self._faults = decisions.left_out
        if self._figures is not None:
            self._shares.show(self._figures)
            self._figures = None

    def refused(self, decisions: Decisions) -> None:
        """Log each job whose reason has a new stage or code."""
        said = {job.group: (job.reason.stage.value, job.reason.code) for job in decisions.reasons}
        for job in decisions.reasons:
            if self._logged.get(job.group) != said[job.group]:
                stage, code = said[job.group]
                fields = fields_of(
                    self._group_of(job.group),
                    job.group,
                    session_id=decisions.session_id,
                    queue=job.queue,
                    stage=stage,
                    code=code,
                )
                self._context.log.info("job pending reason=%s", job.reason.sentence, extra=fields)
        self._logged = said

    def assumed(self, work: GroupWork, session: SessionTimes) -> None:
        """Record that the binds of a gang are assumed and queued for its writer."""
        if work.gang is not None:
            after = self._context.clock.wall() - session.opened
            self.metrics.assumed(len(work.gang.binds), after_seconds=max(0.0, after))

    def bound(self, work: GroupWork, session: SessionTimes, *, began: float) -> None:
        """Record that all binds of a gang were acknowledged; the first one was sent at `began`."""
        if work.gang is None:
            return
        now, pods = self._context.clock.wall(), len(work.gang.binds)
        self.metrics.bound(
            pods, after_seconds=max(0.0, now - session.opened), took_seconds=max(0.0, now - began)
        )
        group = self._group_of(work.group)
        queue = group.spec.queue if isinstance(group, PodGroup) else ""
        if group is not None:
            created = parse_time(group.metadata.creation_timestamp)
            # A group without a readable creation time counts as created now, so its latency is 0.
            self._shares.bound(work.group, queue=queue, created=created or now, now=now)
        fields = fields_of(group, work.group, session_id=session.session_id, queue=queue, pods=pods)
        self._context.log.info("gang bound pods=%d", pods, extra=fields)

    def bind_failed(self, gang: GangBind, failed: Sequence[Outcome], session: SessionTimes) -> None:
        """Record failed binds of a gang, with one log line for all of them."""
        for outcome in failed:
            self.metrics.bind_failed(outcome.status.value)
        first = failed[0]
        self._context.log.warning(
            "binds failed error=%s failed=%d pods=%d",
            first.error or first.status.value,
            len(failed),
            len(gang.binds),
            extra=self._fields(gang.group, session),
        )

    def victims_stay(
        self, eviction: Eviction, stay: Sequence[Outcome], session: SessionTimes
    ) -> None:
        """Log victims that the API server refused to evict, with one line for all of them."""
        if stay:
            self._context.log.info(
                "evictions refused error=%s refused=%d victims=%d",
                stay[0].error or stay[0].status.value,
                len(stay),
                len(eviction.pods),
                extra=self._fields(eviction.group, session),
            )

    def enqueued(self, work: GroupWork, session: SessionTimes) -> None:
        """Log that a group was enqueued, so that its pods may be created."""
        if work.enqueues:
            self._context.log.info("enqueued", extra=self._fields(work.group, session))

    def preemption_cancelled(self, group: str, session: SessionTimes) -> None:
        """Log that a preemption was cancelled because the preemptor was deleted."""
        fields = self._fields(group, session)
        self._context.log.info("preemption cancelled: preemptor deleted", extra=fields)

    def releasing(self, group: str, session: SessionTimes) -> None:
        """Log that the bound members of a half-bound gang are evicted."""
        fields = self._fields(group, session)
        self._context.log.warning("releasing half-bound gang", extra=fields)

    def members_stay(self, group: str, kept: Sequence[Outcome], session: SessionTimes) -> None:
        """Log members of a half-bound gang that the API server refused to evict."""
        why = kept[0].error or kept[0].status.value
        fields = self._fields(group, session)
        self._context.log.info("release refused members=%d error=%s", len(kept), why, extra=fields)

    def reservations_taken_over(
        self, group: str, lost: Sequence[str], session: SessionTimes
    ) -> None:
        """Log that a job takes over reservations of other jobs."""
        fields = self._fields(group, session)
        self._context.log.info("reservations taken over from=%s", ",".join(lost), extra=fields)

    def claims_refused(
        self, group: str, refused: Sequence[tuple[str, str]], session: SessionTimes
    ) -> None:
        """Log claims that could not be written, with one line for all claims of a job."""
        if refused:
            claim, why = refused[0]
            fields = self._fields(group, session)
            self._context.log.info(
                "volume claims refused claims=%d first=%s error=%s",
                len(refused),
                claim,
                why,
                extra=fields,
            )

    def evicting(self, work: GroupWork, session: SessionTimes) -> None:
        """Log that pods are evicted for a job."""
        if work.eviction is not None:
            fields = fields_of(
                self._group_of(work.group),
                work.group,
                session_id=session.session_id,
                victims=len(work.eviction.pods),
            )
            self._context.log.info("evicting victims=%d", len(work.eviction.pods), extra=fields)

    def _fields(self, group: str, session: SessionTimes) -> dict[str, str | int]:
        return fields_of(self._group_of(group), group, session_id=session.session_id)
