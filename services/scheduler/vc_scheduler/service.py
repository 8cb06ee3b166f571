"""The shell: follow facts, lead, open a session when something can change, apply what it decides.

Three loops share the columns, all on the event loop's thread. *Follow* applies changes (at a start,
those of the checkpoint first, which the leader writes). *Sessions*
takes a copy, runs the pure cycle (in a worker thread), and lays what was decided over the columns at
once, so that the next session sees it without waiting for anybody. *Writers* (`writers.py`) carry
decisions out and tell of them; the *recorder* (`recorder.py`) keeps what they were and what they were
made of.
"""

import asyncio
import os
from collections.abc import Iterable
from typing import Final

from vc_clock import VirtualLoop
from vc_messages.view import Change
from vc_model.kinds import CONFIGMAPS, PODGROUPS, Kind
from vc_model.meta import ApiObject, object_key
from vc_runtime.boundaries import APPLY, DECIDE, WRITE
from vc_runtime.checkpoint_writer import CheckpointWriter
from vc_runtime.context import Context
from vc_runtime.lead import Lead
from vc_runtime.long_lived import LongLived
from vc_runtime.warm_start import WarmStart
from vc_scheduler.conf_source import CONF_LOOK_SECONDS, ConfSource
from vc_scheduler.config import Config
from vc_scheduler.extensions import load_extensions
from vc_scheduler.logic.columns import KINDS, Columns
from vc_scheduler.logic.commands import group_work
from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.cycle import check_conf
from vc_scheduler.logic.decisions import Decisions, QueueAllocated
from vc_scheduler.logic.faults import set_aside_problem
from vc_scheduler.logic.ledger import Ledger, Timing
from vc_scheduler.logic.snapshot import Snapshot
from vc_scheduler.observing import Observer
from vc_scheduler.overlaying import lay_over
from vc_scheduler.pacing import QueuePace, SessionPace
from vc_scheduler.recorder import Held, SessionRecorder
from vc_scheduler.refilling import changes_of
from vc_scheduler.spans import GangSpans, SessionTimes
from vc_scheduler.writers import Writers

FOLLOWED: Final = (*KINDS, CONFIGMAPS)
"""What sessions are made of, and what they are told to do."""
CHECKPOINT: Final = "scheduler"
"""The checkpoint's name in the snapshot store."""
POLL_SECONDS: Final = 0.25
REST_SECONDS: Final = 0.02
"""Between two reads of news; a session waits longer for its own debounce."""
BREATH_CHANGES: Final = 200
BREATH_GROUPS: Final = 20
"""Changes applied, and groups counted or carried out, before others may run: neither a backlog nor
a large session makes the loop stand still."""
UNREADY_POLL_SECONDS: Final = 0.05
OWED_SECONDS: Final = 1.0
"""Until the next session when a record was too short for all that has changed."""


class Scheduler:
    """One replica; only the leader opens sessions."""

    def __init__(self, context: Context, config: Config) -> None:
        check_conf(config.conf)
        self.name = context.name
        self._context = context
        self._config = config
        self._conf = ConfSource(config.conf, config.conf_path, context.log, key=config.conf_key)
        self._conf.look()
        self._lead = Lead(
            context,
            FOLLOWED,
            warm_start=WarmStart(context, CHECKPOINT),
            rest_seconds=REST_SECONDS,
        )
        self._checkpoints = CheckpointWriter(
            context,
            CHECKPOINT,
            view=lambda: self._lead.view,
            may_write=lambda: self._lead.goes_on and not self._lead.unready(),
        )
        self._columns = Columns(config.scheduler_names)
        self._columns.pod_condition_seconds = config.pod_condition_seconds
        self._long_lived = LongLived()
        self._ledger = Ledger()
        self._observer = Observer(context, group_of=self._group_of)
        self._spans = GangSpans(context)
        self._wanted = asyncio.Event()
        """Something arrived that can change the outcome of a session."""
        self._due_at: float | None = None
        """When a session is wanted even if nothing arrives; wall time, as in decisions."""
        self._pace = SessionPace(config.debounce_seconds)
        self._sessions = 0
        self._new_view = True
        self._applied = asyncio.Event()
        """The columns hold all that the view does; only then the view's word counts for them."""
        self._recorder = SessionRecorder(context, self._lead.applier, threads=config.threads)
        self._writers = Writers(
            context,
            self._columns,
            lease=self._lead.lease,
            observer=self._observer,
            spans=self._spans,
            wanted=self._wanted,
            view=self._object,
            pod_events=config.pod_events,
        )
        self._queue_pace = QueuePace()
        self._clock_moved = context.clock_moved_seconds()
        self._problems: dict[str, str] = {}
        self._left_out: set[tuple[str, str]] = set()
        """Objects of the view, by kind and key, that are not in the columns until they change."""

    def unready(self) -> str:
        return self._lead.unready()

    async def run(self) -> None:
        await self._lead.run(
            self._follow(),
            self._schedule(),
            self._writers.run(),
            self._recorder.run(),
            self._look_at_conf(),
            self._checkpoints.run(),
        )

    async def _look_at_conf(self) -> None:
        """A changed file counts from the next session on."""
        while self._config.conf_path:
            await self._context.clock.sleep(CONF_LOOK_SECONDS)
            if self._conf.look():
                self._wanted.set()

    async def _look_at_conf_map(self) -> None:
        """As the view has it at the start of a session; what is to be told, the leader tells."""
        if self._config.conf_map:
            key = object_key(self._context.namespace, self._config.conf_map)
            self._conf.see(self._lead.view.get(CONFIGMAPS, key))
        self._observer.meters.conf_refused(self._conf.refused)
        for event in self._conf.untold():
            self._writers.tellers.event(event, epoch=self._lead.epoch)

    # -- facts -----------------------------------------------------------------------------------

    async def _follow(self) -> None:
        while True:
            batch = await self._lead.follower.poll(wait_seconds=POLL_SECONDS)
            self._applied.clear()
            if batch.rebuilt:
                self._rebuild()
                self._context.problems.forget(APPLY)
                self._left_out.clear()
            sound = await self._apply_all(batch.changes)
            while not sound:
                sound = await self._fill_anew()
            if batch.changes:
                self._report_problems()
                self._long_lived.took(len(batch.changes))
            self._applied.set()

    def _rebuild(self) -> None:
        self._columns.rebuild()
        self._ledger.forget()
        self._new_view = True
        self._wanted.set()

    async def _apply_all(self, changes: Iterable[Change]) -> bool:
        """One by one; False when one of them left the columns half changed."""
        sound = True
        for at, change in enumerate(changes, start=1):
            place = (change.kind.short, change.key)
            self._left_out.discard(place)
            if change.kind is CONFIGMAPS:
                self._wanted.set()
                continue
            obj = change.after or change.before
            uid = obj.metadata.uid if obj is not None else ""
            problems = self._context.problems
            with (contained := problems.contain(APPLY, change.kind, change.key, uid=uid)):
                if self._columns.apply(change):
                    self._wanted.set()
            if contained.failed:
                self._left_out.add(place)
                sound = False
            if at % BREATH_CHANGES == 0:
                await self._context.clock.sleep(0)
        return sound

    async def _fill_anew(self) -> bool:
        """The columns are derived from the view: made again, without the objects that broke them."""
        self._rebuild()
        news = list(changes_of(self._lead.view, without=self._left_out))
        return await self._apply_all(news)

    def _report_problems(self) -> None:
        """Say once what is wrong with an object."""
        for what, problem in self._columns.problems.items():
            if self._problems.get(what) != problem:
                self._context.log.warning("left out: %s: %s", what, problem)
        self._problems = dict(self._columns.problems)

    # -- sessions --------------------------------------------------------------------------------

    async def _schedule(self) -> None:
        while True:
            await self._until_wanted()
            if await self._may_decide():
                await self._session()
            else:
                await self._context.clock.sleep(UNREADY_POLL_SECONDS)

    async def _until_wanted(self) -> None:
        """At once when idle, then at most once per debounce."""
        rest = self._pace.rest_seconds(self._context.clock.monotonic())
        if rest > 0:
            await self._context.clock.sleep(rest)
        self._follow_clock()
        due = None if self._due_at is None else self._due_at - self._context.clock.now()
        try:
            async with asyncio.timeout(None if due is None else max(0.0, due)):
                await self._wanted.wait()
        except TimeoutError:
            self._wanted.set()

    def _follow_clock(self) -> None:
        """Our own timers are times of the API server's clock: they go with it when it is set."""
        moved = self._context.clock_moved_seconds() - self._clock_moved
        if moved:
            self._clock_moved += moved
            self._columns.shift(moved)
            self._due_at = None if self._due_at is None else self._due_at + moved

    async def _may_decide(self) -> bool:
        """Leading, complete and fresh (protocol 6, 7, 11)."""
        await self._applied.wait()
        return await self._lead.may_decide()

    async def _session(self) -> None:
        clock = self._context.clock
        opening = clock.monotonic()
        self._wanted.clear()
        self._follow_clock()
        self._due_at = None
        await self._look_at_conf_map()
        if self._new_view:
            self._columns.forget_absent()
            self._spans.recover(self._lead.view)
            self._new_view = False
        while self._columns.refresh(now=clock.now(), groups_max=BREATH_GROUPS):
            await clock.sleep(0)
            if self._new_view:  # the columns are being filled anew
                self._wanted.set()
                return
        started_at, began, opened = clock.now(), clock.monotonic(), clock.wall()
        self._sessions += 1
        epoch = self._lead.epoch
        session_id = f"{epoch}-{self._sessions}"
        snapshot = self._columns.snapshot(session_id, now=started_at)
        self._observer.meters.opened(clock.monotonic() - opening)
        conf = self._conf.conf
        decisions = await self._run_cycle(snapshot, conf, started_at)
        took = self._pace.ended(clock.monotonic(), began=began)
        self._observer.session(decisions, took_seconds=took)
        self._set_aside(decisions, snapshot)
        if self._lead.lease.passed_on(epoch):  # one that ran out is waited for by the writers
            self._wanted.set()
            return
        self._due_at = decisions.wake_at
        timing = Timing(started_at=started_at, took_ms=took * 1000)
        times = SessionTimes(
            session_id=session_id, opened=opened, decided=opened + took, epoch=epoch
        )
        await self._carry_out(decisions, times, now=started_at)
        record = self._ledger.record(decisions, timing)
        if self._ledger.owes:
            self._wake_by(clock.now() + OWED_SECONDS)
        if record is not None:
            await self._recorder.keep(Held(record, decisions, snapshot, conf, started_at, epoch))
            self._context.log.info(
                "session %s: %d let in, %d pods bound, %d jobs wait",
                record.session_id, len(record.enqueued), record.bound_pods, record.waiting,
                extra={"session_id": record.session_id},
            )  # fmt: skip

    def _set_aside(self, decisions: Decisions, snapshot: Snapshot) -> None:
        """Groups that no session can decide on wait until they change, and are told of."""
        problems = self._context.problems
        for fault in decisions.left_out:
            row = snapshot.everybody.get(fault.group)
            if row is not None:
                self._columns.set_aside.put(row, set_aside_problem(fault))
                problems.caught(DECIDE, PODGROUPS, row.key, uid=row.uid, error=fault.why)
        for known in problems.rows():
            if (
                known.kind == PODGROUPS.short
                and known.boundary == DECIDE
                and known.key not in self._columns.set_aside
            ):
                problems.settled(DECIDE, known.kind, known.key)

    async def _run_cycle(self, snapshot: Snapshot, conf: Conf, now: float) -> Decisions:
        inline = isinstance(asyncio.get_running_loop(), VirtualLoop)
        if inline or not self._config.threads:
            return self._observer.run_cycle(snapshot, conf, now)
        return await asyncio.to_thread(self._observer.run_cycle, snapshot, conf, now)

    async def _carry_out(self, decisions: Decisions, session: SessionTimes, *, now: float) -> None:
        """Group by group: lay it over the columns, then hand it to its writer."""
        self._spans.session(decisions, session)
        self._observer.refused(decisions)
        for group in decisions.let_in:
            self._columns.let_in.put(group.group, group.uid, group.claim, now=now)
        for at, work in enumerate(group_work(decisions), start=1):
            if not lay_over(self._columns, work, self._group_of(work.group), now=now):
                self._wanted.set()
            else:
                with self._context.problems.contain(WRITE, PODGROUPS, work.group, uid=work.uid):
                    self._spans.decided(work, self._group_of(work.group), times=session)
                    self._observer.assumed(work, session)
                await self._writers.hand_over(work, session)
            if at % BREATH_GROUPS == 0:
                await self._context.clock.sleep(0)
        for waiting in decisions.waiting:
            self._columns.conditions.put(waiting, now=now)
            self._writers.pods_wait(waiting, epoch=session.epoch)
            await self._context.clock.sleep(0)
        for queue in decisions.queues:
            if self._queue_is_due(queue):
                self._writers.tellers.queue(queue, epoch=session.epoch)

    def _object(self, kind: Kind, key: str) -> ApiObject | None:
        return self._lead.view.get(kind, key)

    def _group_of(self, key: str) -> ApiObject | None:
        return self._object(PODGROUPS, key)

    def _queue_is_due(self, queue: QueueAllocated) -> bool:
        rest = self._queue_pace.rest_seconds(queue.queue, now=self._context.clock.monotonic())
        if rest > 0:
            self._wake_by(self._context.clock.now() + rest)
        return rest <= 0

    def _wake_by(self, due_at: float) -> None:
        self._due_at = due_at if self._due_at is None else min(self._due_at, due_at)


def build(context: Context, config: Config | None = None) -> Scheduler:
    """The service on its adapters, with the extensions that are installed."""
    load_extensions(context.log)
    return Scheduler(context, config or Config.from_env(os.environ))
