"""What people see of sessions: meters, and one log line per decision about a job.

The shell tells what it does; nothing that is decided depends on what is measured here. A job that is
refused is logged when the stage or code of its reason changes, not when its numbers do: numbers
change with every session, and `vcctl job explain` has them.
"""

from collections.abc import Callable, Sequence

from vc_model.meta import ApiObject
from vc_model.scheduling import PodGroup
from vc_model.times import parse_time
from vc_runtime.boundaries import DECIDE
from vc_runtime.context import Context
from vc_runtime.effects import Outcome
from vc_runtime.job_fields import fields_of
from vc_scheduler.logic.commands import GroupWork
from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.cycle import run_cycle
from vc_scheduler.logic.decisions import Decisions, Eviction, GangBind, LeftOut
from vc_scheduler.logic.figures import Figures, figures
from vc_scheduler.logic.snapshot import Snapshot
from vc_scheduler.meters import Meters
from vc_scheduler.share_meters import FIGURES_SECONDS, ShareMeters
from vc_scheduler.spans import SessionTimes
from vc_scheduler.stopwatch import SessionStopwatch


class Observer:
    """Meters and log lines of one scheduler."""

    def __init__(self, context: Context, *, group_of: Callable[[str], ApiObject | None]) -> None:
        self._context = context
        self._group_of = group_of
        self.meters = Meters(context, lives=lambda key: group_of(key) is not None)
        self._shares = ShareMeters(context.metrics)
        self._stopwatch = SessionStopwatch(context.clock)
        self._figures: Figures | None = None
        """Made beside the last session, to be shown when it has ended."""
        self._figured_at = float("-inf")
        self._faults: tuple[LeftOut, ...] = ()
        """Of the last session; said once, not with every session."""
        self._refused: dict[str, tuple[str, str]] = {}
        """Stage and code last logged of each job that waits."""

    def run_cycle(self, snapshot: Snapshot, conf: Conf, now: float) -> Decisions:
        """The pure cycle with a stopwatch beside it; called in the session's thread."""
        clock = self._context.clock
        self._stopwatch = SessionStopwatch(clock)
        decisions = run_cycle(snapshot, conf, now, self._stopwatch)
        due = clock.monotonic() - self._figured_at >= FIGURES_SECONDS
        if due and not decisions.left_out:  # what raised in the session would raise again
            with self._context.problems.contain(DECIDE, "figures", ""):
                self._figures = figures(snapshot, conf, now)
            self._figured_at = clock.monotonic()
        return decisions

    def session(self, decisions: Decisions, *, took_seconds: float) -> None:
        """A session has decided."""
        self.meters.session(decisions, took_seconds=took_seconds, parts=self._stopwatch.seconds)
        for fault in decisions.left_out:
            if fault not in self._faults:
                what = f"plugin {fault.plugin}" if fault.plugin else f"action {fault.action or '-'}"
                what = f"podgroup {fault.group}" if fault.group else what
                self._context.log.error("%s raised and is left out: %s", what, fault.why)
        self._faults = decisions.left_out
        if self._figures is not None:
            self._shares.show(self._figures)
            self._figures = None

    def refused(self, decisions: Decisions) -> None:
        """One line per job that waits for another kind of reason than before."""
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
        """A gang lies over the columns and goes to its writer."""
        if work.gang is not None:
            after = self._context.clock.wall() - session.opened
            self.meters.assumed(len(work.gang.binds), after_seconds=max(0.0, after))

    def bound(self, work: GroupWork, session: SessionTimes, *, began: float) -> None:
        """All binds of a gang are acknowledged; the first was sent when it `began`."""
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
            self._shares.bound(work.group, queue=queue, created=created or now, now=now)
        fields = fields_of(group, work.group, session_id=session.session_id, queue=queue, pods=pods)
        self._context.log.info("bound %d pods", pods, extra=fields)

    def bind_failed(self, gang: GangBind, failed: Sequence[Outcome], session: SessionTimes) -> None:
        """Some binds of a gang did not succeed: one line for all of them."""
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
        """The API server keeps some victims (a disruption budget): one line for all of them."""
        if stay:
            self._context.log.info(
                "%d of %d victims stay: %s",
                len(stay),
                len(eviction.pods),
                stay[0].error or stay[0].status.value,
                extra=self._fields(eviction.group, session),
            )

    def let_in(self, work: GroupWork, session: SessionTimes) -> None:
        """A job may make its pods."""
        if work.let_in:
            self._context.log.info("let in", extra=self._fields(work.group, session))

    def nobody_leaves(self, group: str, session: SessionTimes) -> None:
        """A job left before its victims were asked to."""
        fields = self._fields(group, session)
        self._context.log.info("nobody is evicted for it: it has left", extra=fields)

    def releasing(self, group: str, session: SessionTimes) -> None:
        """A gang that is not complete gives its nodes back."""
        fields = self._fields(group, session)
        self._context.log.warning("released: its gang is not complete", extra=fields)

    def members_stay(self, group: str, kept: Sequence[Outcome], session: SessionTimes) -> None:
        """The API server keeps some members of a gang that was to be released."""
        why = kept[0].error or kept[0].status.value
        fields = self._fields(group, session)
        self._context.log.info("%d members stay: %s", len(kept), why, extra=fields)

    def takes_over(self, group: str, lost: Sequence[str], session: SessionTimes) -> None:
        """Room that was promised to others goes to a job."""
        fields = self._fields(group, session)
        self._context.log.info("takes over the room promised to %s", ", ".join(lost), extra=fields)

    def claims_refused(
        self, group: str, refused: Sequence[tuple[str, str]], session: SessionTimes
    ) -> None:
        """Claims that get no place, and why the first does not: one line for all of a job's."""
        if refused:
            claim, why = refused[0]
            fields = self._fields(group, session)
            self._context.log.info(
                "%d claims get no place: %s: %s", len(refused), claim, why, extra=fields
            )

    def evicting(self, work: GroupWork, session: SessionTimes) -> None:
        """Pods make room for a job."""
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
