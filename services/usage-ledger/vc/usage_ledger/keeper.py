"""Keeps the usage ledger: closes hours, publishes rows on the bus, and stores the state.

The keeper observes every pod, leading or not, so a new leader knows what its predecessor knew. A
new leader joins this with the stored state (`LedgerStore`). Then, in each period, it closes hours
that are over, publishes changed rows, and stores the state. These steps are independent: while
writes of ConfigMaps are refused, the bus and the cache are still updated. After a wipe of the bus
everything is published again, including closed hours.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from vc.bus import BusError
from vc.cluster import ClusterError
from vc.messages.partition import vcjob_owner
from vc.messages.record import Message
from vc.messages.usage import HOUR_SECONDS, no_usage_message, usage_message
from vc.messages.view import Change, View
from vc.model.api.job import Job
from vc.model.api.keys import DEFAULT_QUEUE
from vc.model.api.kinds import JOBS, PODGROUPS, PODS, Kind
from vc.model.api.meta import ApiObject, object_key
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup
from vc.runtime.containment.boundaries import APPLY
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.off_loop import run_off_loop
from vc.snapshot import SnapshotUnavailableError
from vc.usage_ledger.config import Config
from vc.usage_ledger.logic.documents import (
    DocumentError,
    day_of,
    days_before,
    entry_name,
    pack_hour,
    unpack_hour,
)
from vc.usage_ledger.logic.ledger import UsageLedger
from vc.usage_ledger.logic.pod_account import PodAccount
from vc.usage_ledger.logic.rows import Rows, rows_of_hour, usage_row
from vc.usage_ledger.metrics import ignored_labels
from vc.usage_ledger.store import LedgerStore, LostLeadershipError

OPEN_PERIOD_SECONDS: Final = 60.0
"""Time between two writes of the open hours to the API server, if anything changed."""
BATCH_MESSAGES_MAX: Final = 500
"""Limit of messages in one batch."""
QUEUE_NAMING_KINDS: Final = (PODGROUPS, JOBS)
"""Kinds that determine the queue of a pod."""
GRACE_DAYS: Final = 3
"""How many days beyond the retention are searched for days to drop."""


class LedgerKeeper:
    """Observes pods into the ledger, and as leader publishes and stores it."""

    def __init__(
        self,
        context: Context,
        config: Config,
        *,
        view: Callable[[], View],
        may_write: Callable[[], bool],
        epoch: Callable[[], int],
    ) -> None:
        """`may_write`: this replica leads, and the view includes the writes of the last leader."""
        self._context = context
        self._config = config
        self._view = view
        self._may_write = may_write
        self._epoch = epoch
        self.ledger = UsageLedger(scheduler_names=config.scheduler_names)
        self._ignored = ignored_labels(context)
        self._store = LedgerStore(context, may_write=may_write)
        self._loaded: int | None = None
        """Epoch in which the stored state was read."""
        self._published: dict[int, Rows] = {}
        """Rows of open hours, as published."""
        self._closed_published = False
        """Whether the closed hours are published."""
        self._stored_changes = -1
        """Number of changes of the ledger at its last write to the API server."""
        self._store_at = 0.0
        """Monotonic time of the next such write, at the earliest."""
        self._before: dict[tuple[Kind, str], ApiObject] = {}
        """PodGroups and jobs before the changes that are being applied."""
        self._warnings: frozenset[str] = frozenset()
        """Warnings of this period so far."""
        self._last_warnings: frozenset[str] = frozenset()
        """Warnings of the last period, which are not logged again."""

    # -- observing -------------------------------------------------------------------------------

    def apply(self, changes: Iterable[Change], *, rebuilt: bool, ready: bool) -> None:
        """Apply the changes of a poll."""
        now = self._context.clock.now()
        if rebuilt:
            self.ledger.begin_rebuild()
            self._reset_published()
        seen: dict[str, None] = {}
        for change in changes:
            if change.kind is PODS:
                # One pod that cannot be processed must not stop the others.
                with self._context.problems.contain(APPLY, PODS, change.key):
                    self._apply_pod(change, now)
                seen |= {obj.metadata.uid: None for obj in (change.before, change.after) if obj}
            elif change.before is not None and change.kind in QUEUE_NAMING_KINDS:
                # A PodGroup may be deleted in the same batch as its pods,
                # whose queue is still needed.
                self._before[change.kind, change.key] = change.before
        self._name_queues(seen)
        self._before.clear()
        self._count_ignored_labels()
        if ready:
            # Only a complete view proves that a missing pod is gone.
            self.ledger.view_is_complete(now=now)

    def _apply_pod(self, change: Change, now: float) -> None:
        before, after = change.before, change.after
        if isinstance(after, Pod):
            self.ledger.observe(after, now=now)
        # A pod of the same name with another uid replaces the old one.
        if before is not None and (after is None or after.metadata.uid != before.metadata.uid):
            self.ledger.observe_deleted(before.metadata.uid, now=now)

    def _count_ignored_labels(self) -> None:
        for label, pods in self.ledger.labels_ignored.items():
            self._ignored.labels(label).inc(pods)
        self.ledger.labels_ignored.clear()

    def _reset_published(self) -> None:
        """Publish every row again, because it is unknown what the topic has."""
        self._published, self._closed_published = {}, False

    # -- periods ---------------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep the ledger until cancelled."""
        while True:
            await self._context.clock.sleep(self._config.period_seconds)
            self._last_warnings, self._warnings = self._warnings, frozenset()
            try:
                await self.run_period()
            except (ClusterError, LostLeadershipError) as error:
                self._warn(f"usage write failed, will retry error={error}")

    def _warn(self, warning: str) -> None:
        """Log each warning once, however many periods it lasts."""
        if warning not in self._warnings | self._last_warnings:
            self._context.log.warning("%s", warning)
        self._warnings |= {warning}

    async def run_period(self) -> None:
        """Run one period. Raises if nothing can be read or another replica leads."""
        now = self._context.clock.now()
        if not self._may_write():
            # The next term must read the state again, because another leader may have written.
            self._loaded = None
            self._reset_published()
            self.ledger.drop_as_standby(now=now)
            return
        if self._loaded != self._epoch():
            await self._load(now)
        self._name_queues([account.uid for account in self.ledger.unnamed()])
        self._count_ignored_labels()
        # Hours are closed first, so that their final rows are the ones
        # that are published and saved.
        for step in (
            self._close_hours,
            self._publish_closed,
            self._publish_open,
            self._store_open,
            self._save_checkpoint,
        ):
            await self._try(step, now)

    async def _try(self, step: Callable[[float], Awaitable[None]], now: float) -> None:
        """Run one step. If it fails, the others still run, and the next period tries again."""
        try:
            await step(now)
        except SnapshotUnavailableError as error:
            self._warn(f"usage checkpoint not saved error={error}")
        except (ClusterError, BusError) as error:
            if isinstance(error, BusError):
                # It is unknown what the bus received, so all rows are published again.
                self._reset_published()
            self._warn(f"usage write failed, will retry error={error}")

    async def _load(self, now: float) -> None:
        """Read the state of predecessors. The stored days show up to when hours are closed."""
        epoch = self._epoch()
        saved = await self._store.saved()
        stored = await self._store.open()
        # Joining is commutative and idempotent, so the order of the two sources does not matter.
        for state in (saved, *stored):
            if state is not None:
                self.ledger.adopt(state)
        # The newest day with entries shows the last closed hour.
        for day in days_before(now, self._config.days):
            entries = await self._store.day(day)
            if entries:
                self.ledger.close_until(max(entries) + HOUR_SECONDS)
                break
        self.ledger.start_if_new(now=now)
        # The first period of a term writes the open hours whatever the predecessor wrote.
        self._stored_changes = -1
        self._store_at = 0.0
        self._loaded = epoch

    def _name_queues(self, uids: Iterable[str]) -> None:
        """Set the queues of accounts without one. Labels of the pod are not trusted."""
        for uid in uids:
            account = self.ledger.accounts.get(uid)
            if account is not None and not account.queue:
                self.ledger.name_queue(uid, self._queue_of(account))

    def _queue_of(self, account: PodAccount) -> str:
        """The queue of the pod's PodGroup, or if that is gone of its vcjob, or empty if unknown."""
        hints = self.ledger.queue_hints.get(account.uid)
        job_uid = hints.job_uid if hints is not None else ""
        for group in self._known(PODGROUPS, account.namespace, account.group):
            owner = vcjob_owner(group)
            # A PodGroup of another job with the same name must not be charged for this pod.
            if isinstance(group, PodGroup) and not (owner and job_uid and owner.uid != job_uid):
                return group.spec.queue or DEFAULT_QUEUE
        for job in self._known(JOBS, account.namespace, account.job):
            if isinstance(job, Job) and job.metadata.uid == job_uid:
                return job.spec.queue or DEFAULT_QUEUE
        return ""

    def _known(self, kind: Kind, namespace: str, name: str) -> Iterable[ApiObject]:
        """The object as it is, and as it was before the changes of the same batch."""
        key = object_key(namespace, name)
        found = (self._view().get(kind, key), self._before.get((kind, key)))
        return (obj for obj in found if obj is not None)

    async def _close_hours(self, now: float) -> None:
        while (hour := self.ledger.closable(now=now)) is not None:
            accounts = tuple(self.ledger.accounts.values())
            rows = await run_off_loop(rows_of_hour, accounts, hour=hour, now=now)
            ours, packed = await run_off_loop(pack_hour, rows, jobs_max=self._config.jobs_per_hour)
            stored = await self._store.add_hour(hour, packed)
            # If another leader has closed this hour before, its entry counts and ours is dropped.
            rows = ours if stored == packed else self._unpacked(stored, hour)
            await self._publish(_replaced(self._published.pop(hour, {}), rows, hour, closed=True))
            self.ledger.close_until(hour + HOUR_SECONDS)
            self._context.log.info(
                "usage hour closed day=%s hour=%s", day_of(hour), entry_name(hour)
            )
            await self._drop_old_days(now)

    def _unpacked(self, packed: bytes, hour: int) -> Rows:
        try:
            return unpack_hour(packed)
        except DocumentError as error:
            self._warn(
                f"usage hour unreadable day={day_of(hour)} hour={entry_name(hour)} error={error}"
            )
            return {}

    # -- the topic -------------------------------------------------------------------------------

    async def _publish_closed(self, now: float) -> None:
        """Publish the closed hours once, and again after the bus lost them."""
        if self._closed_published:
            return
        for day in days_before(now, self._config.days):
            entries = await self._store.day(day)
            for hour, packed in entries.items():
                rows = self._unpacked(packed, hour)
                await self._publish(_replaced({}, rows, hour, closed=True))
        self._closed_published = True

    async def _publish_open(self, now: float) -> None:
        accounts = tuple(self.ledger.accounts.values())
        for hour in self.ledger.open_hours(now=now):
            rows = await run_off_loop(rows_of_hour, accounts, hour=hour, now=now)
            before = self._published.get(hour, {})
            await self._publish(_replaced(before, rows, hour, closed=False))
            self._published[hour] = rows

    async def _publish(self, messages: list[Message]) -> None:
        for at in range(0, len(messages), BATCH_MESSAGES_MAX):
            # Leadership may end during a long publication.
            if not self._may_write():
                raise LostLeadershipError("no longer leading")
            await self._context.bus.publish(messages[at : at + BATCH_MESSAGES_MAX])

    async def _drop_old_days(self, now: float) -> None:
        days = self._config.days
        for day in days_before(now, days + GRACE_DAYS)[days:]:
            entries = await self._store.day(day)
            for hour, packed in entries.items():
                gone = self._unpacked(packed, hour)
                # Tombstones remove the rows from the compacted topic.
                await self._publish([no_usage_message(key, hour) for key in sorted(gone)])
            if entries:
                await self._store.drop_day(day)

    # -- stored state ----------------------------------------------------------------------------

    async def _store_open(self, _: float) -> None:
        """Store the accounts of deleted pods. Those of existing pods can be derived again."""
        changes = self.ledger.changes
        monotonic = self._context.clock.monotonic()
        # Writes to the API server are rarer than saves to the cache.
        if self._stored_changes == changes or monotonic < self._store_at:
            return
        left_out = await self._store.store_open(self.ledger.state(gone_only=True))
        if left_out:
            self._warn(f"usage of deleted pods only in snapshot cache pods={left_out}")
        self._stored_changes, self._store_at = changes, monotonic + OPEN_PERIOD_SECONDS

    async def _save_checkpoint(self, _: float) -> None:
        await self._store.save(self.ledger.state(), epoch=self._epoch())


def _replaced(before: Rows, rows: Rows, hour: int, *, closed: bool) -> list[Message]:
    """Messages that turn one set of rows into the other."""
    # Closed rows are always published, because their flag differs from the open ones.
    changed = [key for key in sorted(rows) if closed or before.get(key) != rows[key]]
    gone = [key for key in sorted(before) if key not in rows]
    return [
        *(usage_message(usage_row(key, rows[key], hour=hour, closed=closed)) for key in changed),
        *(no_usage_message(key, hour) for key in gone),
    ]
