"""Leader election through a Lease, without trust in the clock of another machine.

We hold the lease while the time since we *sent* the last successful renewal, by our own monotonic
clock, is less than the lease duration minus a margin for a request in flight. Another holder's
lease has expired when its record did not change, while we observed it, for its duration plus the
time-out of a request that the holder may still have in flight. The transition count of the Lease is
the epoch: it grows with every new holder and never decreases.

A missing Lease does not show that there is no leader. It may have been deleted, and its holder
leads until its next renewal. The holder creates it again in the same epoch. The other candidates
wait as for a lease that does not change, and continue from the highest epoch they have observed.
Only in a new cluster, where no leader can have existed, does the first candidate lead immediately.

An expired lease is not lost yet. While no other candidate acquires it, its holder writes nothing,
renews it in the same epoch and continues. The lease is lost when another holder is observed.
"""

import asyncio
from typing import Final

from vc.bus import BusError, TopicMissingError
from vc.cluster import AlreadyExistsError, ClusterError, ConflictError, NotFoundError
from vc.messages.topics import PROGRESS
from vc.model.api.graft import strip_nulls
from vc.model.api.kinds import LEASES, WATCHED
from vc.model.api.struct import JsonObject
from vc.model.faults import describe
from vc.model.values.backoff import delay_seconds
from vc.model.values.times import format_micro_time
from vc.runtime.hosting.context import Context

LEASE_SECONDS: Final = 15
RENEW_SECONDS: Final = 2.0
"""Interval between renewals.
If the API server is slower than this, renewals follow each other after a pause.
"""
RENEW_PAUSE_SECONDS: Final = 0.5
REQUEST_SECONDS_MAX: Final = 5.0
"""Upper bound of the duration of a write. No write is started when less of the lease remains. A
leader that cannot renew therefore stops writing after 10 s, which is the margin of Kubernetes' own
leader election.
"""

UNTIL_LEADING_POLL_SECONDS: Final = 0.05

NEW_CLUSTER_ROUNDS_MAX: Final = 30
"""Rounds of progress, about one a second, up to which a cluster counts as new. The services of a
new stack start within this time, and none of them waits for a leader that never existed.
"""


class Leadership:
    """The election of one service: at most one replica holds the lease and writes."""

    def __init__(self, context: Context, *, name: str = "") -> None:
        self._context = context
        self.name = name or f"vc-{context.name}"
        self.epoch = 0
        """The transition count of the Lease when we last held it."""
        self._renewed_at: float | None = None
        """When the last successful renewal was sent; None if another holder was observed since."""
        self._held: JsonObject | None = None
        """The Lease as we last wrote it.
        It is renewed with a single request while no other client writes it.
        """
        self._news = asyncio.Event()
        """Set and replaced whenever the lease was renewed or lost."""
        self._ran_out = False
        """Whether the expiry of the lease was logged."""
        self.outwaited = False
        """Whether we observed the previous holder's lease unchanged
        until none of its writes could be in flight.
        """
        self._observed: tuple[str, object] = ("", None)
        self._observed_at = 0.0
        self._seen = False
        """Whether the Lease was ever observed, created by us or by another candidate."""
        self._epoch_seen = 0
        """The highest epoch of any holder;
        a candidate that creates the Lease again continues from it.
        """
        self._missing_since: float | None = None
        """When the Lease was first found missing; None while it exists."""
        self._first_epoch = 0
        """The epoch that we began as first leader of a new cluster; 0 if we did not."""
        self._failures = 0

    @property
    def leading(self) -> bool:
        """Whether a write that starts now ends before another replica can lead.
        Check it before each write.
        """
        if self._renewed_at is None:
            return False
        # Measured from the time of sending, so that we stop early, never late.
        age = self._context.clock.monotonic() - self._renewed_at
        return age < LEASE_SECONDS - REQUEST_SECONDS_MAX

    def holds(self, epoch: int) -> bool:
        """Whether a decision of that epoch may be written now."""
        return self.leading and self.epoch == epoch

    def passed_on(self, epoch: int) -> bool:
        """Whether another replica has led since;
        no decision of that epoch may be written any more.
        """
        return self._renewed_at is None or self.epoch != epoch

    async def regained(self, epoch: int) -> bool:
        """Wait while the lease has expired and no other replica holds it;
        returns whether we hold it in that epoch.
        """
        while not self.holds(epoch):
            if self.passed_on(epoch):
                return False
            await self._news.wait()
        return True

    @property
    def has_no_predecessor(self) -> bool:
        """Whether no leader existed before us,
        so that no write of a predecessor can be in flight.
        """
        return self.epoch == self._first_epoch > 0

    async def run(self) -> None:
        """Acquire and renew until cancelled,
        then release the lease so that another replica need not wait.
        """
        try:
            while True:
                await self._step()
        finally:
            # The release must finish even though this task is being cancelled.
            await asyncio.shield(self.release())

    async def _step(self) -> None:
        began = self._context.clock.monotonic()
        # Also before the request, because a request that hangs would delay the log line.
        self._notice()
        try:
            await self._acquire_or_renew(began)
            self._failures = 0
        except ClusterError as error:
            self._failures += 1
            self._context.log.warning("lease request failed lease=%s error=%s", self.name, error)
        self._notice()
        self._wake_waiters()
        took = self._context.clock.monotonic() - began
        wait = max(RENEW_SECONDS - took, RENEW_PAUSE_SECONDS)
        # After a failure retry sooner than the renewal interval: the lease is running out.
        if self._failures:
            wait = delay_seconds(self._failures, self._context.rng, longest_seconds=wait)
        await self._context.clock.sleep(wait)

    def _notice(self) -> None:
        """Log once that the lease expired, and once that it was renewed."""
        ran_out = not self.leading and not self.passed_on(self.epoch)
        if ran_out and not self._ran_out:
            self._context.log.warning("lease expired, writes wait lease=%s", self.name)
        elif self._ran_out and not ran_out and self.leading:
            self._context.log.info("leading again lease=%s epoch=%d", self.name, self.epoch)
        self._ran_out = ran_out

    def _wake_waiters(self) -> None:
        """Wake the callers that wait for a change of the lease."""
        # A new event per change, so that each waiter is woken exactly once per change.
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def wait_until_leading(self) -> None:
        """Return as soon as we lead."""
        while not self.leading:
            await self._context.clock.sleep(UNTIL_LEADING_POLL_SECONDS)

    async def _acquire_or_renew(self, sent_at: float) -> None:
        if self._held is not None and not self.passed_on(self.epoch):
            # The cached Lease is used for one attempt only: after a conflict it must be read again.
            held, self._held = self._held, None
            if await self._write(held, sent_at, transitions=self.epoch):
                return  # no other client has written it since
            # The failed write took time. The lease counts from the request that succeeds.
            sent_at = self._context.clock.monotonic()
        try:
            lease = await self._get()
        except NotFoundError:
            await self._make(sent_at)
            return
        spec = lease.get("spec", {})
        self._seen, self._missing_since = True, None
        self._epoch_seen = max(self._epoch_seen, self.epoch, int(spec.get("leaseTransitions", 0)))
        # Our own name alone does not make us the holder: after a loss it may be left from an
        # earlier term, whose writes may be in flight like those of any other holder.
        if spec.get("holderIdentity") == self._context.identity and self._renewed_at is not None:
            await self._write(lease, sent_at, transitions=self._epoch_seen)
        # Only a lease that was still held can have writes in flight; a released one has none.
        elif self._is_over(lease):
            outwaited = bool(spec.get("holderIdentity"))
            if await self._write(lease, sent_at, transitions=self._epoch_seen + 1):
                self.outwaited = outwaited
                self._context.log.info("leading lease=%s epoch=%d", self.name, self.epoch)
        else:
            if self._renewed_at is not None:
                self._context.log.warning(
                    "leadership lost lease=%s epoch=%d holder=%s",
                    self.name, self.epoch, spec.get("holderIdentity"),
                )  # fmt: skip
            self._renewed_at = None

    def _is_over(self, lease: JsonObject) -> bool:
        """Whether the lease has no holder,
        or its record did not change during our observation period.
        """
        if not lease.get("spec", {}).get("holderIdentity"):
            return True
        # The uid distinguishes a Lease that was deleted and created again.
        version = (lease["metadata"]["uid"], lease["metadata"]["resourceVersion"])
        now = self._context.clock.monotonic()
        # The timestamps in the Lease are the holder's; only changes that we observe are timed.
        if version != self._observed:
            self._observed, self._observed_at = version, now
        lasts = float(lease["spec"].get("leaseDurationSeconds") or LEASE_SECONDS)
        return now - self._observed_at > lasts + REQUEST_SECONDS_MAX

    async def _get(self) -> JsonObject:
        lease = await self._context.cluster.get(
            LEASES, name=self.name, namespace=self._context.namespace
        )
        plain: JsonObject = strip_nulls(lease)
        return plain

    def _spec(self, transitions: int) -> JsonObject:
        now = format_micro_time(self._context.clock.now())
        return {
            "holderIdentity": self._context.identity,
            "leaseDurationSeconds": LEASE_SECONDS,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }

    async def _make(self, sent_at: float) -> None:
        """Handles a missing Lease: it was never created,
        or it was deleted while a replica held it.
        """
        # Only the holder may create it in the same epoch; its earlier decisions stay valid.
        if self.leading:
            self._context.log.warning("lease deleted, creating it again lease=%s", self.name)
            await self._create(sent_at, transitions=self.epoch)
        elif await self._is_new_cluster():
            await self._create(sent_at, transitions=1)
            self._first_epoch = self.epoch
        elif self._missing_for(sent_at) > LEASE_SECONDS + REQUEST_SECONDS_MAX:
            await self._create(sent_at, transitions=max(self._epoch_seen, self.epoch) + 1)
            self.outwaited = True
            self._context.log.info(
                "lease created again lease=%s leading=%s", self.name, self.leading
            )

    def _missing_for(self, now: float) -> float:
        """Seconds since the Lease was first found missing; its last holder may not know yet."""
        if self._missing_since is None:
            self._missing_since = now
            self._context.log.info("lease missing, waiting for its holder lease=%s", self.name)
        return now - self._missing_since

    async def _is_new_cluster(self) -> bool:
        """Whether the cluster is new: we never observed the Lease, and hardly any progress was
        published, without which no service decides.

        If the bus does not answer, the cluster counts as not new, because the topic may hold any
        amount.
        """
        # A Lease that existed once may have a holder that does not know of its deletion.
        if self._seen:
            return False
        try:
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                # No service decides without progress, so no leader can have decided much.
                published = sum(await self._context.bus.end_offsets(PROGRESS.name))
        except TopicMissingError:
            return True
        except (BusError, TimeoutError) as error:
            self._context.log.info(
                "age of the cluster unknown lease=%s error=%s", self.name, describe(error)
            )
            return False
        return published <= NEW_CLUSTER_ROUNDS_MAX * len(WATCHED)

    async def _create(self, sent_at: float, *, transitions: int) -> None:
        body = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self.name, "namespace": self._context.namespace},
            "spec": self._spec(transitions),
        }
        try:
            made = await self._context.cluster.create(
                LEASES, body, namespace=self._context.namespace
            )
        except AlreadyExistsError:
            self._renewed_at = None  # another candidate was faster; the next step reads the Lease
            return
        self._seen, self._held = True, strip_nulls(made)
        self.epoch, self._renewed_at = transitions, sent_at

    async def _write(self, lease: JsonObject, sent_at: float, *, transitions: int) -> bool:
        """Write the Lease; returns whether it was unchanged since the given version."""
        spec = self._spec(transitions)
        # A renewal keeps the acquire time; only a new term sets it.
        if transitions == self.epoch and self._renewed_at is not None:
            spec["acquireTime"] = lease["spec"].get("acquireTime", spec["acquireTime"])
        body = {**lease, "spec": spec}
        try:
            written = await self._context.cluster.replace(
                LEASES, body, namespace=self._context.namespace
            )
        except (ConflictError, NotFoundError):
            return False  # another client was faster; the next step reads the Lease
        self._held = strip_nulls(written)
        # Set together, without an await between: `holds` must not see a new epoch with an
        # old renewal.
        self.epoch, self._renewed_at = transitions, sent_at
        return True

    async def raise_epoch(self, above: int) -> None:
        """Raise the epoch above one observed elsewhere, after the Lease was created again.

        The write has the Lease's version as precondition, so it fails if another replica leads.
        """
        sent_at = self._context.clock.monotonic()
        lease = await self._get()
        if lease.get("spec", {}).get("holderIdentity") == self._context.identity:
            await self._write(lease, sent_at, transitions=above + 1)

    async def release(self) -> None:
        """Release the lease if we hold it, so that a waiting replica may lead at once."""
        if self._renewed_at is None:
            return
        # Stop writing before the Lease shows it: afterwards another replica may lead.
        self._renewed_at = self._held = None
        self._wake_waiters()
        try:
            lease = await self._get()
            if lease.get("spec", {}).get("holderIdentity") == self._context.identity:
                # The transition count stays, so that the next holder continues from our epoch.
                spec = {**lease["spec"], "holderIdentity": ""}
                await self._context.cluster.replace(
                    LEASES, {**lease, "spec": spec}, namespace=self._context.namespace
                )
        except ClusterError as error:
            self._context.log.info("lease not released lease=%s error=%s", self.name, error)
