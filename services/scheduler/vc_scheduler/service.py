"""The shell: follow facts, lead, open a session when something can change, apply what it decides.

Three loops share the columns, all on the event loop's thread. *Follow* applies changes (at a start,
those of the checkpoint first, which the leader writes). *Sessions*
takes a copy, runs the pure cycle (in a worker thread), and lays what was decided over the columns at
once, so that the next session sees it without waiting for anybody. *Writers* carry decisions out:
work of one group goes to one writer, so its writes keep their order. A bind whose fate is unknown is
settled by a live read, never by a timer (protocol 13).
"""

import asyncio
import zlib
from typing import Final, NamedTuple

from vc_bus import BusError
from vc_clock import VirtualLoop
from vc_cluster import ClusterError, NotFoundError
from vc_messages.codec import encode
from vc_messages.effects import BindPod, PublishMessage
from vc_messages.sessions import SessionRecord, session_message
from vc_model.kinds import PODGROUPS, PODS
from vc_model.meta import ApiObject, object_key
from vc_runtime.backoff import delay_seconds
from vc_runtime.checkpoint_writer import CheckpointWriter
from vc_runtime.context import Context
from vc_runtime.effects import EffectApplier, Outcome, OutcomeStatus
from vc_runtime.follower import Follower
from vc_runtime.leader import Leadership
from vc_runtime.takeover import Takeover
from vc_runtime.warm_start import WarmStart
from vc_scheduler.conf_source import CONF_LOOK_SECONDS, ConfSource
from vc_scheduler.config import Config
from vc_scheduler.extensions import load_extensions
from vc_scheduler.logic.columns import KINDS, Assumed, Columns
from vc_scheduler.logic.commands import (
    GroupWork,
    eviction_effects,
    eviction_events,
    group_work,
    queue_effect,
    release_effects,
    status_effect,
    telling_effects,
)
from vc_scheduler.logic.cycle import check_conf, run_cycle
from vc_scheduler.logic.decisions import Decisions, Eviction, GangBind, QueueAllocated, StatusChange
from vc_scheduler.logic.ledger import Ledger, Timing
from vc_scheduler.logic.snapshot import Snapshot
from vc_scheduler.meters import Meters
from vc_scheduler.spans import GangSpans, SessionTimes
from vc_snapshot import SnapshotUnavailableError

CHECKPOINT: Final = "scheduler"
"""The checkpoint's name in the snapshot store."""
POLL_SECONDS: Final = 0.25
BREATH_CHANGES: Final = 500
BREATH_GROUPS: Final = 20
"""Changes applied, and groups counted or carried out, before others may run: neither a backlog nor
a large session makes the loop stand still."""
UNREADY_POLL_SECONDS: Final = 0.05
WRITERS: Final = 8
WORK_QUEUED_MAX: Final = 1_000
"""Per writer; a session waits when its writer is that far behind."""
QUEUE_STATUS_SECONDS: Final = 1.0
"""Between two writes of one queue's `status.allocated`."""


class _SessionWork(NamedTuple):
    """A group's work, and the session that wants it."""

    work: GroupWork
    session: SessionTimes


_Work = _SessionWork | QueueAllocated | SessionRecord


class Scheduler:
    """One replica; only the leader opens sessions."""

    def __init__(self, context: Context, config: Config) -> None:
        check_conf(config.conf)
        self.name = context.name
        self._context = context
        self._config = config
        self._conf = ConfSource(config.conf, config.conf_path, context.log)
        self._conf.look()
        self._follower = Follower(context, KINDS, warm_start=WarmStart(context, CHECKPOINT))
        self._leadership = Leadership(context)
        self._checkpoints = CheckpointWriter(
            context,
            CHECKPOINT,
            view=lambda: self._follower.view,
            may_write=lambda: self._leadership.leading and not self._follower.unready(),
        )
        self._takeover = Takeover(context, self._leadership)
        self._applier = EffectApplier(context, may_write=lambda: self._leadership.leading)
        self._columns = Columns(config.scheduler_names)
        self._ledger = Ledger()
        self._meters = Meters(context)
        self._spans = GangSpans(context)
        self._wanted = asyncio.Event()
        """Something arrived that can change the outcome of a session."""
        self._due_at: float | None = None
        """When a session is wanted even if nothing arrives; wall time, as in decisions."""
        self._ended_at = float("-inf")
        self._sessions = 0
        self._new_view = True
        self._applied = asyncio.Event()
        """The columns hold all that the view does; only then the view's word counts for them."""
        self._work: list[asyncio.Queue[_Work]] = [
            asyncio.Queue(WORK_QUEUED_MAX) for _ in range(WRITERS)
        ]
        self._doubts: asyncio.Queue[BindPod] = asyncio.Queue()
        """Binds whose fate is unknown; bounded by the pods we assumed."""
        self._queues_written_at: dict[str, float] = {}
        self._problems: dict[str, str] = {}

    def unready(self) -> str:
        return self._follower.unready()

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._leadership.run())
                group.create_task(self._follow())
                group.create_task(self._schedule())
                group.create_task(self._settle_doubts())
                group.create_task(self._look_at_conf())
                group.create_task(self._checkpoints.run())
                for queue in self._work:
                    group.create_task(self._write_all(queue))
        finally:
            await self._follower.close()

    async def _look_at_conf(self) -> None:
        """A changed file counts from the next session on."""
        while self._config.conf_path:
            await self._context.clock.sleep(CONF_LOOK_SECONDS)
            if self._conf.look():
                self._wanted.set()

    # -- facts -----------------------------------------------------------------------------------

    async def _follow(self) -> None:
        while True:
            batch = await self._follower.poll(wait_seconds=POLL_SECONDS)
            self._applied.clear()
            if batch.rebuilt:
                self._columns.rebuild()
                self._ledger.forget()
                self._new_view = True
                self._wanted.set()
            for at, change in enumerate(batch.changes, start=1):
                if self._columns.apply(change):
                    self._wanted.set()
                if at % BREATH_CHANGES == 0:
                    await self._context.clock.sleep(0)
            if batch.changes:
                self._report_problems()
            self._applied.set()

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
        rest = self._ended_at + self._config.debounce_seconds - self._context.clock.monotonic()
        if rest > 0:
            await self._context.clock.sleep(rest)
        due = None if self._due_at is None else self._due_at - self._context.clock.now()
        try:
            async with asyncio.timeout(None if due is None else max(0.0, due)):
                await self._wanted.wait()
        except TimeoutError:
            self._wanted.set()

    async def _may_decide(self) -> bool:
        """Leading, complete and fresh (protocol 6, 7, 11)."""
        await self._applied.wait()
        return not self._follower.unready() and await self._takeover.over(self._follower.view)

    async def _session(self) -> None:
        clock = self._context.clock
        self._wanted.clear()
        self._due_at = None
        if self._new_view:
            self._columns.forget_absent()
            self._spans.recover(self._follower.view)
            self._new_view = False
        while self._columns.refresh(now=clock.now(), groups_max=BREATH_GROUPS):
            await clock.sleep(0)
            if self._new_view:  # the columns are being filled anew
                self._wanted.set()
                return
        started_at, began = clock.now(), clock.monotonic()
        self._sessions += 1
        session_id = f"{self._takeover.epoch}-{self._sessions}"
        snapshot = self._columns.snapshot(session_id, now=started_at)
        decisions = await self._run_cycle(snapshot, started_at)
        self._ended_at = clock.monotonic()
        took = self._ended_at - began
        self._meters.session(decisions, took_seconds=took)
        if not self._leadership.leading or self._takeover.epoch != self._leadership.epoch:
            self._wanted.set()
            return
        self._due_at = decisions.wake_at
        await self._carry_out(decisions, Timing(started_at=started_at, took_ms=took * 1000))

    async def _run_cycle(self, snapshot: Snapshot, now: float) -> Decisions:
        inline = isinstance(asyncio.get_running_loop(), VirtualLoop)
        if inline or not self._config.threads:
            return run_cycle(snapshot, self._conf.conf, now)
        return await asyncio.to_thread(run_cycle, snapshot, self._conf.conf, now)

    async def _carry_out(self, decisions: Decisions, timing: Timing) -> None:
        """Group by group: lay it over the columns, then hand it to its writer."""
        opened, decided = timing.started_at, timing.started_at + timing.took_ms / 1000
        session = SessionTimes(session_id=decisions.session_id, opened=opened, decided=decided)
        self._spans.session(decisions, session)
        for at, work in enumerate(group_work(decisions), start=1):
            if self._lay_over(work, now=timing.started_at):
                self._spans.decided(work, self._group(work), times=session)
                await self._hand_over(work.group, _SessionWork(work, session))
            if at % BREATH_GROUPS == 0:
                await self._context.clock.sleep(0)
        for queue in decisions.queues:
            if self._queue_is_due(queue):
                await self._hand_over(queue.queue, queue)
        record = self._ledger.record(decisions, timing)
        if record is not None:
            await self._hand_over("sessions", record)
            self._context.log.info(
                "session %s: %d let in, %d pods bound, %d jobs wait",
                record.session_id, len(record.enqueued), record.bound_pods, record.waiting,
            )  # fmt: skip

    def _lay_over(self, work: GroupWork, *, now: float) -> bool:
        """Assume the binds and note the status; False when a member left since the snapshot."""
        gang = work.gang.binds if work.gang is not None else ()
        if not all(self._columns.bindable(_pod_key(bind), bind.uid) for bind in gang):
            self._wanted.set()
            return False
        for bind in gang:
            self._columns.assume(Assumed(key=_pod_key(bind), uid=bind.uid, node=bind.node))
        if work.eviction is not None:
            for pod in work.eviction.pods:
                self._columns.evict(object_key(pod.namespace, pod.name), pod.uid)
            self._columns.evictions.nominate(work.group, now=now)
        if gang:
            self._columns.evictions.settled(work.group)
        if work.status is not None:
            self._columns.note_status(work.group, work.uid, status=work.status.status, now=now)
        return True

    def _group(self, work: GroupWork) -> ApiObject | None:
        return self._follower.view.get(PODGROUPS, work.group)

    def _queue_is_due(self, queue: QueueAllocated) -> bool:
        now = self._context.clock.now()
        due_at = self._queues_written_at.get(queue.queue, 0.0) + QUEUE_STATUS_SECONDS
        if now < due_at:
            self._due_at = due_at if self._due_at is None else min(self._due_at, due_at)
            return False
        self._queues_written_at[queue.queue] = now
        return True

    async def _hand_over(self, key: str, work: _Work) -> None:
        await self._work[zlib.crc32(key.encode()) % WRITERS].put(work)

    # -- writes ----------------------------------------------------------------------------------

    async def _write_all(self, queue: asyncio.Queue[_Work]) -> None:
        while True:
            match await queue.get():
                case _SessionWork(work, session):
                    await self._write_group(work, session)
                case QueueAllocated() as allocated:
                    await self._applier.apply([queue_effect(allocated)])
                case SessionRecord() as record:
                    await self._write_record(record)

    async def _write_group(self, work: GroupWork, session: SessionTimes) -> None:
        """Binds, then the status that speaks of them, then who is to be told."""
        began = self._context.clock.now()
        bound = work.gang is None or await self._bind(work.gang)
        if work.status is not None:
            if bound:
                self._spans.bound(work, self._group(work), times=session, began=began)
                await self._write_status(work.group, work.status)
            else:
                self._columns.status_failed(work.group, work.uid)
        if work.release is not None:
            self._context.log.warning("releasing %s: its gang is not complete", work.group)
            await self._applier.apply(release_effects(work.release))
            self._wanted.set()
        if work.eviction is not None:
            await self._evict(work.eviction)

    async def _evict(self, eviction: Eviction) -> None:
        """Victims that the API server keeps (a disruption budget) stay, and others are looked for."""
        outcomes = await self._applier.apply(eviction_effects(eviction))
        for pod, outcome in zip(eviction.pods, outcomes, strict=True):
            if outcome.status is not OutcomeStatus.DONE:
                key, now = object_key(pod.namespace, pod.name), self._context.clock.now()
                self._context.log.info("%s stays: %s", key, outcome.error or outcome.status.value)
                self._columns.unevict(key, pod.uid, now=now)
                self._wanted.set()
        await self._applier.apply(eviction_events(eviction))

    async def _bind(self, gang: GangBind) -> bool:
        """Whether the whole gang was bound."""
        outcomes = await self._applier.apply(gang.binds)
        failed = [outcome for outcome in outcomes if outcome.status is not OutcomeStatus.DONE]
        for outcome in failed:
            self._doubt(outcome)
        return not failed

    def _doubt(self, outcome: Outcome) -> None:
        assert isinstance(outcome.effect, BindPod)
        bind = outcome.effect
        self._meters.bind_failed(outcome.status.value)
        self._context.log.info("bind of %s: %s %s", bind.name, outcome.status.value, outcome.error)
        self._doubts.put_nowait(bind)

    async def _write_status(self, key: str, change: StatusChange) -> None:
        outcome = (await self._applier.apply([status_effect(change)]))[0]
        if outcome.status is OutcomeStatus.DONE and outcome.written is not None:
            version = outcome.written["metadata"].get("resourceVersion", "")
            self._columns.status_written(key, change.uid, version=version)
        else:
            self._columns.status_failed(key, change.uid)
            self._wanted.set()
        for effect in telling_effects(change):
            await self._applier.apply([effect])

    async def _write_record(self, record: SessionRecord) -> None:
        """To the bus and to the ring; a cache that is away loses a record, never a decision."""
        try:
            await self._applier.apply([PublishMessage(message=session_message(record))])
            await self._context.snapshot.append_session(record.session_id, encode(record))
        except (SnapshotUnavailableError, BusError) as error:
            self._context.log.info("session %s not kept: %s", record.session_id, error)

    # -- binds whose fate is unknown -------------------------------------------------------------

    async def _settle_doubts(self) -> None:
        while True:
            bind = await self._doubts.get()
            attempt = 0
            while not await self._settle(bind):
                attempt += 1
                await self._context.clock.sleep(delay_seconds(attempt, self._context.chance))
            self._wanted.set()

    async def _settle(self, bind: BindPod) -> bool:
        """Ask the API server; False when it does not answer, and then the bind stays assumed."""
        key = _pod_key(bind)
        try:
            pod = await self._context.cluster.get(PODS, name=bind.name, namespace=bind.namespace)
        except NotFoundError:
            pod = {}
        except ClusterError as error:
            self._context.log.info("cannot look at %s: %s", key, error)
            return False
        same = pod.get("metadata", {}).get("uid") == bind.uid
        node = pod.get("spec", {}).get("nodeName", "") if same else ""
        if node:
            self._columns.assume(Assumed(key=key, uid=bind.uid, node=node))
        else:
            self._columns.unassume(key, bind.uid, now=self._context.clock.now())
        return True


def _pod_key(bind: BindPod) -> str:
    return object_key(bind.namespace, bind.name)


def build(context: Context, config: Config | None = None) -> Scheduler:
    """The service on its adapters, with the extensions that are installed."""
    load_extensions(context.log)
    return Scheduler(context, config or Config())
