"""The scheduler service: follows facts, leads, opens sessions, and applies their decisions.

Three loops share the cluster cache. All of them run on the thread of the event loop.

- *Follow* (`cache_feed.py`) applies changes to the cache. At start-up it applies the checkpoint
  first, which the leader writes.
- *Sessions* takes a snapshot, runs the pure cycle in a worker thread, and puts the decisions over
  the cache as overlays. The next session sees them without waiting for the API server.
- *Writers* (`writing/`) apply decisions and write statuses.

The *recorder* (`recorder.py`) stores decisions together with the input that led to them.
"""

import asyncio
import os
from typing import Final

from vc.clock import VirtualLoop
from vc.model.api.kinds import CONFIGMAPS, PODGROUPS, Kind
from vc.model.api.meta import ApiObject, object_key
from vc.runtime.consuming.checkpoint_writer import CheckpointWriter
from vc.runtime.consuming.warm_start import WarmStart
from vc.runtime.containment.boundaries import DECIDE, WRITE
from vc.runtime.hosting.context import Context
from vc.runtime.leading.replica import Lead
from vc.scheduler.assume import assume
from vc.scheduler.cache_feed import CacheFeed
from vc.scheduler.config import Config
from vc.scheduler.configuration.conf_source import CONF_LOOK_SECONDS, ConfSource
from vc.scheduler.configuration.extensions import load_extensions
from vc.scheduler.pacing import QueuePace, SessionPace
from vc.scheduler.recorder import RecordedSession, SessionRecorder
from vc.scheduler.session_observer import Observer
from vc.scheduler.spans import GangSpans, SessionTimes
from vc.scheduler.writing.writers import Writers
from vc.scheduling.cache.cluster_cache import KINDS, ClusterCache
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.conf.model import Conf
from vc.scheduling.cycle import check_conf, run_cycle
from vc.scheduling.effects import group_work
from vc.scheduling.framework.faults import quarantine_problem
from vc.scheduling.model.decisions import Decisions, QueueAllocated
from vc.scheduling.record.reason_log import ReasonLog, Timing

FOLLOWED: Final = (*KINDS, CONFIGMAPS)
"""The kinds from which sessions are made, and the ConfigMaps with the configuration."""
CHECKPOINT: Final = "scheduler"
"""Name of the checkpoint in the snapshot store."""
REST_SECONDS: Final = 0.02
"""Pause between two reads of facts; the debounce of sessions is longer."""
YIELD_GROUPS: Final = 20
"""Number of groups to count or write before other tasks of the loop run.

A large session must not block the event loop.
"""
UNREADY_POLL_SECONDS: Final = 0.05
REST_OF_RECORD_SECONDS: Final = 1.0
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
        self._cache = ClusterCache(config.scheduler_names)
        self._cache.pod_condition_seconds = config.pod_condition_seconds
        self._reasons = ReasonLog()
        self._observer = Observer(context, group_of=self._group_of)
        self._spans = GangSpans(context)
        self._wanted = asyncio.Event()
        """Set when a change arrived that can affect the outcome of a session."""
        self._due_at: float | None = None
        """Time of the next session if nothing arrives; wall time, as in decisions."""
        self._pace = SessionPace(config.debounce_seconds)
        self._sessions = 0
        self._feed = CacheFeed(
            context,
            self._lead,
            self._cache,
            wanted=self._wanted,
            # After a rebuild all reasons are recorded again.
            rebuilt=self._reasons.forget,
        )
        self._recorder = SessionRecorder(context, self._lead.applier, threads=config.threads)
        self._writers = Writers(
            context,
            self._cache,
            lease=self._lead.lease,
            observer=self._observer,
            spans=self._spans,
            wanted=self._wanted,
            view=self._object,
            pod_events=config.pod_events,
        )
        self._queue_pace = QueuePace()
        self._clock_moved = context.clock_moved_seconds()

    def unready(self) -> str:
        """Return why the replica is not ready; empty when it is."""
        return self._lead.unready()

    async def run(self) -> None:
        """Run all loops until cancelled."""
        await self._lead.run(
            self._feed.run(),
            self._schedule(),
            self._writers.run(),
            self._recorder.run(),
            self._poll_conf_file(),
            self._checkpoints.run(),
        )

    async def _poll_conf_file(self) -> None:
        """Poll the configuration file; a change is in force from the next session on."""
        while self._config.conf_path:
            await self._context.clock.sleep(CONF_LOOK_SECONDS)
            if self._conf.look():
                self._wanted.set()

    async def _read_conf_map(self) -> None:
        """Read the ConfigMap from the view at the start of a session; the leader writes the events."""
        if self._config.conf_map:
            key = object_key(self._context.namespace, self._config.conf_map)
            self._conf.see(self._lead.view.get(CONFIGMAPS, key))
        self._observer.metrics.conf_refused(self._conf.refused)
        for event in self._conf.take_events():
            self._writers.statuses.event(event, epoch=self._lead.epoch)

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
        # A time that is due counts like a change, so the session has one condition to clear.
        except TimeoutError:
            self._wanted.set()

    def _follow_clock(self) -> None:
        """Shift registered times when the clock is set; they are times of the API server's clock."""
        moved = self._context.clock_moved_seconds() - self._clock_moved
        if moved:
            self._clock_moved += moved
            self._cache.shift(moved)
            self._due_at = None if self._due_at is None else self._due_at + moved

    async def _may_decide(self) -> bool:
        """Whether this replica leads with a complete and fresh view (docs/protocol.md 6, 7, 11)."""
        await self._feed.applied.wait()
        return await self._lead.may_decide()

    async def _session(self) -> None:
        """Run one session: snapshot, cycle, overlays, writes, record."""
        clock = self._context.clock
        opening = clock.monotonic()
        # Cleared before the snapshot: a change that arrives during the session opens the next one.
        self._wanted.clear()
        self._follow_clock()
        # This session registers its own wake-up; an older one would open a session without a cause.
        self._due_at = None
        await self._read_conf_map()
        if self._feed.new_view:
            self._cache.forget_absent()
            # After a start, binds of the predecessor may have no span yet.
            self._spans.recover(self._lead.view)
            self._feed.new_view = False
        # Counting changed groups is done in portions, because a large cluster would block the loop.
        while self._cache.refresh(now=clock.now(), groups_max=YIELD_GROUPS):
            await clock.sleep(0)
            if self._feed.new_view:  # the cache is being rebuilt
                self._wanted.set()
                return
        started_at, began, opened = clock.now(), clock.monotonic(), clock.wall()
        self._sessions += 1
        # The epoch is fixed here. Effects of this session are applied under it or not at all, even
        # if the lease is lost and acquired again meanwhile.
        epoch = self._lead.epoch
        session_id = f"{epoch}-{self._sessions}"
        snapshot = self._cache.snapshot(session_id, now=started_at)
        self._observer.metrics.opened(clock.monotonic() - opening)
        conf = self._conf.conf
        decisions = await self._run_cycle(snapshot, conf, started_at)
        took = self._pace.ended(clock.monotonic(), began=began)
        self._observer.session(decisions, took_seconds=took)
        # Also if the term has ended: a fault of the cycle does not depend on the lease.
        self._quarantine(decisions, snapshot)
        if self._lead.lease.passed_on(epoch):  # the writers wait for a lease that only ran out
            self._wanted.set()
            return
        self._due_at = decisions.wake_at
        timing = Timing(started_at=started_at, took_ms=took * 1000)
        times = SessionTimes(
            session_id=session_id, opened=opened, decided=opened + took, epoch=epoch
        )
        await self._apply(decisions, times, now=started_at)
        record = self._reasons.record(decisions, timing)
        # The record was full. Another session must record the rest even if nothing else changes.
        if self._reasons.incomplete:
            self._wake_by(clock.now() + REST_OF_RECORD_SECONDS)
        if record is not None:
            await self._recorder.keep(
                RecordedSession(record, decisions, snapshot, conf, started_at, epoch)
            )
            self._context.log.info(
                "session=%s enqueued=%d bound=%d pending=%d",
                record.session_id, len(record.enqueued), record.bound_pods, record.waiting,
                extra={"session_id": record.session_id},
            )  # fmt: skip

    def _quarantine(self, decisions: Decisions, snapshot: Snapshot) -> None:
        """Quarantine groups that no session can decide on until they change, and report them."""
        problems = self._context.problems
        for fault in decisions.left_out:
            row = snapshot.all_groups.get(fault.group)
            if row is not None:
                self._cache.overlays.quarantine.put(row, quarantine_problem(fault))
                problems.caught(DECIDE, PODGROUPS, row.key, uid=row.uid, error=fault.why)
        # A group that left the quarantine changed or was deleted, so its problem is closed.
        for known in problems.rows():
            if (
                known.kind == PODGROUPS.short
                and known.boundary == DECIDE
                and known.key not in self._cache.overlays.quarantine
            ):
                problems.resolved(DECIDE, known.kind, known.key)

    async def _run_cycle(self, snapshot: Snapshot, conf: Conf, now: float) -> Decisions:
        """Run the cycle in a worker thread; inline on a virtual loop, which has no real time."""
        # The worker thread keeps the event loop responsive: the lease must be renewed during a
        # session.
        inline = isinstance(asyncio.get_running_loop(), VirtualLoop)
        if inline or not self._config.threads:
            return self._cycle(snapshot, conf, now)
        return await asyncio.to_thread(self._cycle, snapshot, conf, now)

    def _cycle(self, snapshot: Snapshot, conf: Conf, now: float) -> Decisions:
        """One session, in the thread of the session."""
        decisions = run_cycle(snapshot, conf, now, self._observer.stopwatch())
        # The shares iterate over all groups, so they are computed here and not on the event loop.
        self._observer.measure_shares(snapshot, conf, now=now, decisions=decisions)
        return decisions

    async def _apply(self, decisions: Decisions, session: SessionTimes, *, now: float) -> None:
        """Per group, put the decision over the cache and hand it to its writer."""
        self._spans.session(decisions, session)
        self._observer.refused(decisions)
        # Enqueued resources count at once. If they counted only with the written status, the next
        # session could enqueue other groups for the same resources.
        for group in decisions.enqueued_groups:
            self._cache.overlays.enqueued.put(group.group, group.uid, group.claim, now=now)
        for at, work in enumerate(group_work(decisions), start=1):
            # The cache may have changed while the cycle ran in its thread. Work that no longer
            # applies is dropped, and the next session decides again.
            if not assume(self._cache, work, self._group_of(work.group), now=now):
                self._wanted.set()
            else:
                with self._context.problems.contain(WRITE, PODGROUPS, work.group, uid=work.uid):
                    self._spans.decided(work, self._group_of(work.group), times=session)
                    self._observer.assumed(work, session)
                await self._writers.hand_over(work, session)
            if at % YIELD_GROUPS == 0:
                await self._context.clock.sleep(0)
        for waiting in decisions.waiting:
            # The overlay comes first, so that the next session does not decide the same condition
            # again.
            self._cache.overlays.conditions.put(waiting, now=now)
            self._writers.pods_wait(waiting, epoch=session.epoch)
            await self._context.clock.sleep(0)
        for queue in decisions.queues:
            if self._queue_is_due(queue):
                self._writers.statuses.queue(queue, epoch=session.epoch)

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
