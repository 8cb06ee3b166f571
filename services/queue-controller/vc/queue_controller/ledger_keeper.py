"""Keeps the usage ledger: publishes rows on the bus, saves the state in the
cache, and stores closed hours.

The keeper observes every pod while it runs, leading or not, so a successor knows what its
predecessor knew. A new leader joins this with the stored state (`LedgerStore`). Then, in each
period, it closes hours that are over, publishes changed rows, and saves the state. These steps are
independent: while ConfigMaps are refused, the bus and the cache are still updated. After a wipe of
the bus everything is published again, including closed hours.
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
from vc.queue_controller.config import Config
from vc.queue_controller.ledger_store import LedgerStore, LostLeadershipError
from vc.queue_controller.logic.ledger import Ledger
from vc.queue_controller.logic.ledger_accounts import Account
from vc.queue_controller.logic.ledger_documents import (
    DocumentError,
    day_of,
    days_before,
    pack_hour,
    unpack_hour,
)
from vc.queue_controller.logic.ledger_rows import Rows, rows_of_hour, usage_row
from vc.queue_controller.metrics import ignored_labels
from vc.runtime.containment.boundaries import APPLY
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.off_loop import run_off_loop
from vc.snapshot import SnapshotUnavailableError

OPEN_PERIOD_SECONDS: Final = 60.0
"""Time between two writes of the open hours to the API server, if anything changed."""
PUBLISHED_TOGETHER_MAX: Final = 500
"""Limit of messages in one batch."""
NAMING_KINDS: Final = (PODGROUPS, JOBS)
"""Kinds that determine the queue of a pod."""
GRACE_DAYS: Final = 3
"""How many days beyond the retention are searched for days to drop."""


class LedgerKeeper:
    """The shell of the ledger."""

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
        self.ledger = Ledger(scheduler_names=config.scheduler_names)
        self._ignored = ignored_labels(context)
        self._store = LedgerStore(context, may_write=may_write)
        self._loaded: int | None = None
        """Epoch in which the stored state was read."""
        self._published: dict[int, Rows] = {}
        """Rows of open hours, as published."""
        self._told_closed = False
        """Whether the closed hours are published."""
        self._kept = -1
        """Number of changes of the ledger at its last write to the API server."""
        self._keep_at = 0.0
        self._before: dict[tuple[Kind, str], ApiObject] = {}
        """PodGroups and jobs before the changes that are being applied."""
        self._troubles: frozenset[str] = frozenset()
        """Errors in this period so far."""
        self._troubles_before: frozenset[str] = frozenset()
        """Errors in the last period, which are not logged again."""

    # -- observing -------------------------------------------------------------------------------

    def take(self, changes: Iterable[Change], *, rebuilt: bool, ready: bool) -> None:
        """Apply the changes of a poll."""
        now = self._context.clock.now()
        if rebuilt:
            self.ledger.reread()
            self._forget_published()
        seen: dict[str, None] = {}
        for change in changes:
            if change.kind is PODS:
                # One pod that cannot be processed must not stop the others.
                with self._context.problems.contain(APPLY, PODS, change.key):
                    self._take_pod(change, now)
                seen |= {obj.metadata.uid: None for obj in (change.before, change.after) if obj}
            elif change.before is not None and change.kind in NAMING_KINDS:
                # A PodGroup may be deleted in the same batch as its pods,
                # whose queue is still needed.
                self._before[change.kind, change.key] = change.before
        self._name_queues(seen)
        self._before.clear()
        self._tell_ignored()
        if ready:
            # Only a complete view proves that a missing pod is gone.
            self.ledger.looking(now=now)

    def _take_pod(self, change: Change, now: float) -> None:
        before, after = change.before, change.after
        if isinstance(after, Pod):
            self.ledger.see(after, now=now)
        # A pod of the same name with another uid replaces the old one.
        if before is not None and (after is None or after.metadata.uid != before.metadata.uid):
            self.ledger.miss(before.metadata.uid, now=now)

    def _tell_ignored(self) -> None:
        for label, pods in self.ledger.labels_ignored.items():
            self._ignored.labels(label).inc(pods)
        self.ledger.labels_ignored.clear()

    def _forget_published(self) -> None:
        self._published, self._told_closed = {}, False

    # -- keeping ---------------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep the ledger until cancelled."""
        while True:
            await self._context.clock.sleep(self._config.usage_period_seconds)
            self._troubles_before, self._troubles = self._troubles, frozenset()
            try:
                await self.keep()
            except (ClusterError, LostLeadershipError) as error:
                self._say(f"usage is written later: {error}")

    def _say(self, trouble: str) -> None:
        """Log each error once, however many periods it lasts."""
        if trouble not in self._troubles | self._troubles_before:
            self._context.log.warning("%s", trouble)
        self._troubles |= {trouble}

    async def keep(self) -> None:
        """Run one period. Raises if nothing can be read or another replica leads."""
        now = self._context.clock.now()
        if not self._may_write():
            # The next term must read the state again, because another leader may have written.
            self._loaded = None
            self._forget_published()
            self.ledger.forget_as_standby(now=now)
            return
        if self._loaded != self._epoch():
            await self._load(now)
        self._name_queues([account.uid for account in self.ledger.unnamed()])
        self._tell_ignored()
        # Hours are closed first, so that their final rows are the ones
        # that are published and saved.
        for step in (
            self._close_hours,
            self._tell_closed,
            self._tell_open,
            self._keep_open,
            self._save,
        ):
            await self._try(step, now)

    async def _try(self, step: Callable[[float], Awaitable[None]], now: float) -> None:
        """Run one step. If it fails, the others still run, and the next period tries again."""
        try:
            await step(now)
        except SnapshotUnavailableError as error:
            self._say(f"usage is not in the snapshot cache: {error}")
        except (ClusterError, BusError) as error:
            if isinstance(error, BusError):
                # It is unknown what the bus received, so all rows are published again.
                self._forget_published()
            self._say(f"usage is written later: {error}")

    async def _load(self, now: float) -> None:
        """Read the state of predecessors. The stored days show up to when hours are closed."""
        epoch = self._epoch()
        saved = await self._store.saved()
        kept = await self._store.open()
        for state in (saved, *kept):
            if state is not None:
                self.ledger.adopt(state)
        # The newest day with entries shows the last closed hour.
        for day in days_before(now, self._config.usage_days):
            entries = await self._store.day(day)
            if entries:
                self.ledger.close_until(max(entries) + HOUR_SECONDS)
                break
        self.ledger.begin(now=now)
        self._kept = -1
        self._keep_at = 0.0
        self._loaded = epoch

    def _name_queues(self, uids: Iterable[str]) -> None:
        """Set the queues of accounts without one. Labels of the pod are not trusted."""
        for uid in uids:
            account = self.ledger.accounts.get(uid)
            if account is not None and not account.queue:
                self.ledger.name_queue(uid, self._queue_of(account))

    def _queue_of(self, account: Account) -> str:
        """The queue of the pod's PodGroup, or if that is gone of its vcjob, or empty if unknown."""
        naming = self.ledger.namings.get(account.uid)
        job_uid = naming.job_uid if naming is not None else ""
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
            ours, packed = await run_off_loop(
                pack_hour, rows, jobs_max=self._config.usage_jobs_per_hour
            )
            kept = await self._store.add_hour(hour, packed)
            # If another leader has closed this hour before, its entry counts and ours is dropped.
            rows = ours if kept == packed else self._unpacked(kept, hour)
            await self._publish(_replaced(self._published.pop(hour, {}), rows, hour, closed=True))
            self.ledger.close_until(hour + HOUR_SECONDS)
            self._context.log.info("usage of %s %02d h is closed", day_of(hour), hour // 3600 % 24)
            await self._drop_old_days(now)

    def _unpacked(self, packed: bytes, hour: int) -> Rows:
        try:
            return unpack_hour(packed)
        except DocumentError as error:
            self._say(f"usage of {day_of(hour)} cannot be read: {error}")
            return {}

    # -- the topic -------------------------------------------------------------------------------

    async def _tell_closed(self, now: float) -> None:
        """Publish the closed hours once, and again after the bus lost them."""
        if self._told_closed:
            return
        for day in days_before(now, self._config.usage_days):
            entries = await self._store.day(day)
            for hour, packed in entries.items():
                rows = self._unpacked(packed, hour)
                await self._publish(_replaced({}, rows, hour, closed=True))
        self._told_closed = True

    async def _tell_open(self, now: float) -> None:
        accounts = tuple(self.ledger.accounts.values())
        for hour in self.ledger.open_hours(now=now):
            rows = await run_off_loop(rows_of_hour, accounts, hour=hour, now=now)
            before = self._published.get(hour, {})
            await self._publish(_replaced(before, rows, hour, closed=False))
            self._published[hour] = rows

    async def _publish(self, messages: list[Message]) -> None:
        for at in range(0, len(messages), PUBLISHED_TOGETHER_MAX):
            # Leadership may end during a long publication.
            if not self._may_write():
                raise LostLeadershipError("no longer leading")
            await self._context.bus.publish(messages[at : at + PUBLISHED_TOGETHER_MAX])

    async def _drop_old_days(self, now: float) -> None:
        days = self._config.usage_days
        for day in days_before(now, days + GRACE_DAYS)[days:]:
            entries = await self._store.day(day)
            for hour, packed in entries.items():
                gone = self._unpacked(packed, hour)
                # Tombstones remove the rows from the compacted topic.
                await self._publish([no_usage_message(key, hour) for key in sorted(gone)])
            if entries:
                await self._store.drop_day(day)

    # -- saving ----------------------------------------------------------------------------------

    async def _keep_open(self, _: float) -> None:
        """Store the accounts of deleted pods. Those of existing pods can be derived again."""
        changes = self.ledger.changes
        monotonic = self._context.clock.monotonic()
        # Writes to the API server are rarer than saves to the cache.
        if self._kept == changes or monotonic < self._keep_at:
            return
        left_out = await self._store.keep_open(self.ledger.state(gone_only=True))
        if left_out:
            self._say(f"usage of {left_out} pods that are gone is only in the snapshot cache")
        self._kept, self._keep_at = changes, monotonic + OPEN_PERIOD_SECONDS

    async def _save(self, _: float) -> None:
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
