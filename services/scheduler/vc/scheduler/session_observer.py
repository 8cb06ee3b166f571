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
from vc.scheduler.metrics import SchedulerMetrics
from vc.scheduler.metrics_shares import FIGURES_SECONDS, ShareMetrics
from vc.scheduler.spans import SessionTimes
from vc.scheduler.stopwatch import SessionStopwatch
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.closing.share_report import Figures, figures
from vc.scheduling.conf.model import Conf
from vc.scheduling.cycle import run_cycle
from vc.scheduling.effects import GroupWork
from vc.scheduling.model.decisions import Decisions, Eviction, GangBind, LeftOut


class Observer:
    """Metrics and log lines of one scheduler."""

    def __init__(self, context: Context, *, group_of: Callable[[str], ApiObject | None]) -> None:
        self._context = context
        self._group_of = group_of
        self.meters = SchedulerMetrics(context, lives=lambda key: group_of(key) is not None)
        self._shares = ShareMetrics(context.metrics)
        self._stopwatch = SessionStopwatch(context.clock)
        self._figures: Figures | None = None
        """Computed next to the last session, and exported after it ended."""
        self._figured_at = float("-inf")
        self._faults: tuple[LeftOut, ...] = ()
        """Faults of the last session; each is logged once, not in every session."""
        self._refused: dict[str, tuple[str, str]] = {}
        """Stage and code that were last logged, by waiting job."""

    def run_cycle(self, snapshot: Snapshot, conf: Conf, now: float) -> Decisions:
        """Run the pure cycle with a stopwatch; called in the thread of the session."""
        clock = self._context.clock
        self._stopwatch = SessionStopwatch(clock)
        decisions = run_cycle(snapshot, conf, now, self._stopwatch)
        # The figures iterate over all groups, so they are computed here, in the thread of the
        # session, and not on the event loop.
        due = clock.monotonic() - self._figured_at >= FIGURES_SECONDS
        if due and not decisions.left_out:  # a plugin that raised would raise again
            with self._context.problems.contain(DECIDE, "figures", ""):
                self._figures = figures(snapshot, conf, now)
            self._figured_at = clock.monotonic()
        return decisions

    def session(self, decisions: Decisions, *, took_seconds: float) -> None:
        """Record a finished session."""
        self.meters.session(decisions, took_seconds=took_seconds, parts=self._stopwatch.seconds)
        for fault in decisions.left_out:
            # A plugin usually raises in every session; only a new fault is logged.
            if fault not in self._faults:
                what = f"plugin {fault.plugin}" if fault.plugin else f"action {fault.action or '-'}"
                what = f"podgroup {fault.group}" if fault.group else what
                self._context.log.error("%s raised and is left out: %s", what, fault.why)
        self._faults = decisions.left_out
        if self._figures is not None:
            self._shares.show(self._figures)
            self._figures = None

    def refused(self, decisions: Decisions) -> None:
        """Log each job whose reason has a new stage or code."""
        said = {job.group: (job.reason.stage.value, job.reason.code) for job in decisions.reasons}
        for job in decisions.reasons:
            if self._refused.get(job.group) != said[job.group]:
                stage, code = said[job.group]
                fields = fields_of(
                    self._group_of(job.group),
                    job.group,
                    session_id=decisions.session_id,
                    queue=job.queue,
                    stage=stage,
                    code=code,
                )
                self._context.log.info("waits: %s", job.reason.sentence, extra=fields)
        self._refused = said

    def assumed(self, work: GroupWork, session: SessionTimes) -> None:
        """Record that the binds of a gang are assumed and queued for its writer."""
        if work.gang is not None:
            after = self._context.clock.wall() - session.opened
            self.meters.assumed(len(work.gang.binds), after_seconds=max(0.0, after))

    def bound(self, work: GroupWork, session: SessionTimes, *, began: float) -> None:
        """Record that all binds of a gang were acknowledged; the first one was sent at `began`."""
        if work.gang is None:
            return
        now, pods = self._context.clock.wall(), len(work.gang.binds)
        self.meters.bound(
            pods, after_seconds=max(0.0, now - session.opened), took_seconds=max(0.0, now - began)
        )
        group = self._group_of(work.group)
        queue = group.spec.queue if isinstance(group, PodGroup) else ""
        if group is not None:
            created = parse_time(group.metadata.creation_timestamp)
            # A group without a readable creation time counts as created now, so its latency is 0.
            self._shares.bound(work.group, queue=queue, created=created or now, now=now)
        fields = fields_of(group, work.group, session_id=session.session_id, queue=queue, pods=pods)
        self._context.log.info("bound %d pods", pods, extra=fields)

    def bind_failed(self, gang: GangBind, failed: Sequence[Outcome], session: SessionTimes) -> None:
        """Record failed binds of a gang, with one log line for all of them."""
        for outcome in failed:
            self.meters.bind_failed(outcome.status.value)
        first = failed[0]
        self._context.log.warning(
            "%d of %d binds not done: %s",
            len(failed),
            len(gang.binds),
            first.error or first.status.value,
            extra=self._fields(gang.group, session),
        )

    def victims_stay(
        self, eviction: Eviction, stay: Sequence[Outcome], session: SessionTimes
    ) -> None:
        """Log victims that the API server refused to evict, with one line for all of them."""
        if stay:
            self._context.log.info(
                "%d of %d victims stay: %s",
                len(stay),
                len(eviction.pods),
                stay[0].error or stay[0].status.value,
                extra=self._fields(eviction.group, session),
            )

    def enqueued_groups(self, work: GroupWork, session: SessionTimes) -> None:
        """Log that a group was enqueued, so that its pods may be created."""
        if work.enqueued_groups:
            self._context.log.info("let in", extra=self._fields(work.group, session))

    def no_eviction_line(self, group: str, session: SessionTimes) -> None:
        """Log that a preemption was cancelled because the preemptor was deleted."""
        fields = self._fields(group, session)
        self._context.log.info("nobody is evicted for it: it has left", extra=fields)

    def releasing(self, group: str, session: SessionTimes) -> None:
        """Log that the bound members of a half-bound gang are evicted."""
        fields = self._fields(group, session)
        self._context.log.warning("released: its gang is not complete", extra=fields)

    def members_stay(self, group: str, kept: Sequence[Outcome], session: SessionTimes) -> None:
        """Log members of a half-bound gang that the API server refused to evict."""
        why = kept[0].error or kept[0].status.value
        fields = self._fields(group, session)
        self._context.log.info("%d members stay: %s", len(kept), why, extra=fields)

    def takes_over(self, group: str, lost: Sequence[str], session: SessionTimes) -> None:
        """Log that a job takes over reservations of other jobs."""
        fields = self._fields(group, session)
        self._context.log.info("takes over the room promised to %s", ", ".join(lost), extra=fields)

    def claims_refused(
        self, group: str, refused: Sequence[tuple[str, str]], session: SessionTimes
    ) -> None:
        """Log claims that could not be written, with one line for all claims of a job."""
        if refused:
            claim, why = refused[0]
            fields = self._fields(group, session)
            self._context.log.info(
                "%d claims get no place: %s: %s", len(refused), claim, why, extra=fields
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
            self._context.log.info("evicts %d pods", len(work.eviction.pods), extra=fields)

    def _fields(self, group: str, session: SessionTimes) -> dict[str, str | int]:
        return fields_of(self._group_of(group), group, session_id=session.session_id)
