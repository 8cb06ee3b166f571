"""The scheduler service: follows facts, leads, opens sessions, and applies their decisions.

Three loops share the cluster cache. All of them run on the thread of the event loop.

- *Follow* applies changes to the cache. At start-up it applies the checkpoint first, which the
  leader writes.
- *Sessions* takes a snapshot, runs the pure cycle in a worker thread, and puts the decisions over
  the cache as overlays. The next session sees them without waiting for the API server.
- *Writers* (`writers.py`) apply decisions and write statuses.

The *recorder* (`recorder.py`) stores decisions together with the input that led to them.
"""

import asyncio
import os
from collections.abc import Iterable
from typing import Final

from vc.clock import VirtualLoop
from vc.messages.view import Change
from vc.model.api.kinds import CONFIGMAPS, PODGROUPS, Kind
from vc.model.api.meta import ApiObject, object_key
from vc.runtime.consuming.checkpoint_writer import CheckpointWriter
from vc.runtime.consuming.warm_start import WarmStart
from vc.runtime.containment.boundaries import APPLY, DECIDE, WRITE
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.long_lived import LongLived
from vc.runtime.leading.replica import Lead
from vc.scheduler.cache_refill import changes_of
from vc.scheduler.conf_source import CONF_LOOK_SECONDS, ConfSource
from vc.scheduler.config import Config
from vc.scheduler.extensions import load_extensions
from vc.scheduler.overlay import lay_over
from vc.scheduler.pacing import QueuePace, SessionPace
from vc.scheduler.recorder import Held, SessionRecorder
from vc.scheduler.session_observer import Observer
from vc.scheduler.spans import GangSpans, SessionTimes
from vc.scheduler.writers import Writers
from vc.scheduling.cache.cluster_cache import KINDS, Columns
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.conf.model import Conf
from vc.scheduling.cycle import check_conf
from vc.scheduling.effects import group_work
from vc.scheduling.framework.faults import quarantine_problem
from vc.scheduling.model.decisions import Decisions, QueueAllocated
from vc.scheduling.record.reason_log import Ledger, Timing

FOLLOWED: Final = (*KINDS, CONFIGMAPS)
"""The kinds from which sessions are made, and the ConfigMaps with the configuration."""
CHECKPOINT: Final = "scheduler"
"""Name of the checkpoint in the snapshot store."""
POLL_SECONDS: Final = 0.25
REST_SECONDS: Final = 0.02
"""Pause between two reads of facts; the debounce of sessions is longer."""
BREATH_CHANGES: Final = 200
BREATH_GROUPS: Final = 20
"""Number of changes to apply, and of groups to count or write, before other tasks of the loop run.

Neither a backlog nor a large session may block the event loop.
"""
UNREADY_POLL_SECONDS: Final = 0.05
OWED_SECONDS: Final = 1.0
"""Seconds until the next session when a record could not contain all changed reasons."""


class Scheduler:
    """One replica of the scheduler; only the leader opens sessions."""

    def __init__(self, context: Context, config: Config) -> None:
        check_conf(config.conf)
        self.name = context.name
        self._context = context
        self._config = config
        self._conf = ConfSource(config.conf, config.conf_path, context.log, key=config.conf_key)
        # The file is read before the first session, so that no session runs with the defaults.
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
            # Only a view that sessions may decide on is worth restoring.
            may_write=lambda: self._lead.goes_on and not self._lead.unready(),
        )
        self._columns = Columns(config.scheduler_names)
        self._columns.pod_condition_seconds = config.pod_condition_seconds
        self._long_lived = LongLived()
        self._ledger = Ledger()
        self._observer = Observer(context, group_of=self._group_of)
        self._spans = GangSpans(context)
        self._wanted = asyncio.Event()
        """Set when a change arrived that can affect the outcome of a session."""
        self._due_at: float | None = None
        """Time of the next session if nothing arrives; wall time, as in decisions."""
        self._pace = SessionPace(config.debounce_seconds)
        self._sessions = 0
        self._new_view = True
        self._applied = asyncio.Event()
        """Set while the cache contains everything in the view.

        Only then does the readiness of the view apply to the cache.
        """
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
        """Objects of the view, by kind and key, that are not in the cache until they change."""

    def unready(self) -> str:
        """Return why the replica is not ready; empty when it is."""
        return self._lead.unready()

    async def run(self) -> None:
        """Run all loops until cancelled."""
        await self._lead.run(
            self._follow(),
            self._schedule(),
            self._writers.run(),
            self._recorder.run(),
            self._look_at_conf(),
            self._checkpoints.run(),
        )

    async def _look_at_conf(self) -> None:
        """Poll the configuration file; a change is in force from the next session on."""
        while self._config.conf_path:
            await self._context.clock.sleep(CONF_LOOK_SECONDS)
            if self._conf.look():
                self._wanted.set()

    async def _look_at_conf_map(self) -> None:
        """Read the ConfigMap from the view at the start of a session; the leader writes the events."""
        if self._config.conf_map:
            key = object_key(self._context.namespace, self._config.conf_map)
            self._conf.see(self._lead.view.get(CONFIGMAPS, key))
        self._observer.meters.conf_refused(self._conf.refused)
        for event in self._conf.untold():
            self._writers.tellers.event(event, epoch=self._lead.epoch)

    # -- facts -----------------------------------------------------------------------------------

    async def _follow(self) -> None:
        while True:
            # Between the poll and the last change the view is ahead of the cache, so no session may
            # open.
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
        """Empty the cache, and record all reasons again."""
        self._columns.rebuild()
        self._ledger.forget()
        self._new_view = True
        self._wanted.set()

    async def _apply_all(self, changes: Iterable[Change]) -> bool:
        """Apply changes one by one; False when an error left the cache inconsistent."""
        sound = True
        for at, change in enumerate(changes, start=1):
            place = (change.kind.short, change.key)
            self._left_out.discard(place)
            # ConfigMaps are not part of the cache; the next session reads the configuration from
            # the view.
            if change.kind is CONFIGMAPS:
                self._wanted.set()
                continue
            obj = change.after or change.before
            uid = obj.metadata.uid if obj is not None else ""
            problems = self._context.problems
            with (contained := problems.contain(APPLY, change.kind, change.key, uid=uid)):
                if self._columns.apply(change):
                    self._wanted.set()
            # An exception may have changed some parts of the cache and not others. Only a rebuild
            # restores a consistent state.
            if contained.failed:
                # The object is left out of the rebuild, or it would raise again and the rebuild
                # would never end.
                self._left_out.add(place)
                sound = False
            if at % BREATH_CHANGES == 0:
                await self._context.clock.sleep(0)
        return sound

    async def _fill_anew(self) -> bool:
        """Rebuild the cache from the view, without the objects that raised."""
        self._rebuild()
        news = list(changes_of(self._lead.view, without=self._left_out))
        return await self._apply_all(news)

    def _report_problems(self) -> None:
        """Log each problem of an object once."""
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
        """Wait until a session is wanted: at once when idle, otherwise at most once per debounce."""
        rest = self._pace.rest_seconds(self._context.clock.monotonic())
        if rest > 0:
            await self._context.clock.sleep(rest)
        self._follow_clock()
        # The pause comes before the wait, so changes that arrive during it share one session.
        due = None if self._due_at is None else self._due_at - self._context.clock.now()
        try:
            async with asyncio.timeout(None if due is None else max(0.0, due)):
                await self._wanted.wait()
        except TimeoutError:
            self._wanted.set()

    def _follow_clock(self) -> None:
        """Shift registered times when the clock is set; they are times of the API server's clock."""
        moved = self._context.clock_moved_seconds() - self._clock_moved
        if moved:
            self._clock_moved += moved
            self._columns.shift(moved)
            self._due_at = None if self._due_at is None else self._due_at + moved

    async def _may_decide(self) -> bool:
        """Whether this replica leads with a complete and fresh view (docs/protocol.md 6, 7, 11)."""
        await self._applied.wait()
        return await self._lead.may_decide()

    async def _session(self) -> None:
        """Run one session: snapshot, cycle, overlays, writes, record."""
        clock = self._context.clock
        opening = clock.monotonic()
        # Cleared before the snapshot: a change that arrives during the session opens the next one.
        self._wanted.clear()
        self._follow_clock()
        self._due_at = None
        await self._look_at_conf_map()
        if self._new_view:
            self._columns.forget_absent()
            # After a start, binds of the predecessor may have no span yet.
            self._spans.recover(self._lead.view)
            self._new_view = False
        # Counting changed groups is done in portions, because a large cluster would block the loop.
        while self._columns.refresh(now=clock.now(), groups_max=BREATH_GROUPS):
            await clock.sleep(0)
            if self._new_view:  # the cache is being rebuilt
                self._wanted.set()
                return
        started_at, began, opened = clock.now(), clock.monotonic(), clock.wall()
        self._sessions += 1
        # The epoch is fixed here. Effects of this session are applied under it or not at all, even
        # if the lease is lost and acquired again meanwhile.
        epoch = self._lead.epoch
        session_id = f"{epoch}-{self._sessions}"
        snapshot = self._columns.snapshot(session_id, now=started_at)
        self._observer.meters.opened(clock.monotonic() - opening)
        conf = self._conf.conf
        decisions = await self._run_cycle(snapshot, conf, started_at)
        took = self._pace.ended(clock.monotonic(), began=began)
        self._observer.session(decisions, took_seconds=took)
        self._set_aside(decisions, snapshot)
        if self._lead.lease.passed_on(epoch):  # the writers wait for a lease that only ran out
            self._wanted.set()
            return
        self._due_at = decisions.wake_at
        timing = Timing(started_at=started_at, took_ms=took * 1000)
        times = SessionTimes(
            session_id=session_id, opened=opened, decided=opened + took, epoch=epoch
        )
        await self._carry_out(decisions, times, now=started_at)
        record = self._ledger.record(decisions, timing)
        # The record was full. Another session must record the rest even if nothing else changes.
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
        """Quarantine groups that no session can decide on until they change, and report them."""
        problems = self._context.problems
        for fault in decisions.left_out:
            row = snapshot.everybody.get(fault.group)
            if row is not None:
                self._columns.set_aside.put(row, quarantine_problem(fault))
                problems.caught(DECIDE, PODGROUPS, row.key, uid=row.uid, error=fault.why)
        # A group that left the quarantine changed or was deleted, so its problem is closed.
        for known in problems.rows():
            if (
                known.kind == PODGROUPS.short
                and known.boundary == DECIDE
                and known.key not in self._columns.set_aside
            ):
                problems.resolved(DECIDE, known.kind, known.key)

    async def _run_cycle(self, snapshot: Snapshot, conf: Conf, now: float) -> Decisions:
        """Run the cycle in a worker thread; inline on a virtual loop, which has no real time."""
        # The worker thread keeps the event loop responsive: the lease must be renewed during a
        # session.
        inline = isinstance(asyncio.get_running_loop(), VirtualLoop)
        if inline or not self._config.threads:
            return self._observer.run_cycle(snapshot, conf, now)
        return await asyncio.to_thread(self._observer.run_cycle, snapshot, conf, now)

    async def _carry_out(self, decisions: Decisions, session: SessionTimes, *, now: float) -> None:
        """Per group, put the decision over the cache and hand it to its writer."""
        self._spans.session(decisions, session)
        self._observer.refused(decisions)
        for group in decisions.enqueued_groups:
            self._columns.enqueued_groups.put(group.group, group.uid, group.claim, now=now)
        for at, work in enumerate(group_work(decisions), start=1):
            # The cache may have changed while the cycle ran in its thread. Work that no longer
            # applies is dropped, and the next session decides again.
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
            # The overlay comes first, so that the next session does not decide the same condition
            # again.
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
        """Whether the status of a queue may be written now; otherwise a wake-up is registered."""
        rest = self._queue_pace.rest_seconds(queue.queue, now=self._context.clock.monotonic())
        if rest > 0:
            self._wake_by(self._context.clock.now() + rest)
        return rest <= 0

    def _wake_by(self, due_at: float) -> None:
        """Register a wake-up; the earliest one counts."""
        self._due_at = due_at if self._due_at is None else min(self._due_at, due_at)


def build(context: Context, config: Config | None = None) -> Scheduler:
    """Return the service with the installed extensions loaded."""
    load_extensions(context.log)
    return Scheduler(context, config or Config.from_env(os.environ))
