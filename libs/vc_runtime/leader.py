"""Who may write: leadership through a Lease, without trusting anybody's clock.

A lease is ours while our own monotonic clock says that less time has passed since we *sent* the last
successful renewal than the lease lasts, minus a margin for a request under way. Someone else's lease
is over when we have watched its record stand still for as long as it lasts plus the time-out of a
request its holder may still have in flight. The transition count of the Lease is the epoch: it
grows with every new holder, and never goes back.

A Lease that is not there says nothing about its holder: somebody may have deleted it, and whoever held
it leads on until its next renewal. Its holder makes it again, in the same epoch. Everybody else waits
as for a lease that stands still, and goes on counting from the highest epoch it has seen. Only at the
birth of a cluster, when nobody can have led, the first candidate leads at once.

A lease that ran out is not lost yet: as long as nobody else took it, its holder writes nothing, renews it
in the same epoch, and goes on where it stopped. It is lost when another holder was seen.
"""

import asyncio
from typing import Final

from vc_bus import BusError, TopicMissingError
from vc_cluster import (
    AlreadyExistsError,
    ClusterError,
    ConflictError,
    NotFoundError,
)
from vc_messages.topics import PROGRESS
from vc_model.faults import describe
from vc_model.graft import strip_nulls
from vc_model.kinds import LEASES, WATCHED
from vc_model.struct import JsonObject
from vc_model.times import format_micro_time
from vc_runtime.backoff import delay_seconds
from vc_runtime.context import Context

LEASE_SECONDS: Final = 15
RENEW_SECONDS: Final = 2.0
"""From one renewal to the next; of an API server that takes longer, one follows the other."""
RENEW_PAUSE_SECONDS: Final = 0.5
REQUEST_SECONDS_MAX: Final = 5.0
"""A write takes at most this long; nobody starts one when less of the lease remains. So a leader that
cannot renew stops writing after 10 s: the margins of Kubernetes' own leader election."""

UNTIL_LEADING_POLL_SECONDS: Final = 0.05

BIRTH_ROUNDS_MAX: Final = 30
"""Of progress, about one a second: a cluster whose watcher has told more of them is not being born.
The services of a new stack come up within these, and none of them waits for a leader that never was."""


class Leadership:
    """One service's claim to be the one that writes."""

    def __init__(self, context: Context, *, name: str = "") -> None:
        self._context = context
        self.name = name or f"vc-{context.name}"
        self.epoch = 0
        """The Lease's transition count when we last held it."""
        self._renewed_at: float | None = None
        """When the last successful renewal was sent; None when another holder was seen since."""
        self._held: JsonObject | None = None
        """The Lease as we last wrote it: renewed by one request while nobody else writes it."""
        self._news = asyncio.Event()
        """Set, and replaced, when the lease was renewed or lost."""
        self._ran_out = False
        """Whether it was said that the lease ran out."""
        self.outwaited = False
        """Whether we watched the last holder's lease stand still until no write of it could be left."""
        self._observed: tuple[str, object] = ("", None)
        self._observed_at = 0.0
        self._seen = False
        """Whether the Lease was ever there, made by us or by others."""
        self._epoch_seen = 0
        """The highest, whoever held it: who makes the Lease anew counts on from here."""
        self._missing_since: float | None = None
        """When we first looked and found no Lease; None while there is one."""
        self._first_epoch = 0
        """The one that we began at the birth of the cluster; 0 if we did not."""
        self._failures = 0

    @property
    def leading(self) -> bool:
        """Whether a write begun now ends before anybody else can lead. Ask before each write."""
        if self._renewed_at is None:
            return False
        age = self._context.clock.monotonic() - self._renewed_at
        return age < LEASE_SECONDS - REQUEST_SECONDS_MAX

    def holds(self, epoch: int) -> bool:
        """Whether what was decided under that epoch may be written now."""
        return self.leading and self.epoch == epoch

    def passed_on(self, epoch: int) -> bool:
        """Whether somebody else led since: nothing that was decided under that epoch is written any more."""
        return self._renewed_at is None or self.epoch != epoch

    async def regained(self, epoch: int) -> bool:
        """Wait while the lease has run out and nobody else has it; whether we hold it in that epoch."""
        while not self.holds(epoch):
            if self.passed_on(epoch):
                return False
            await self._news.wait()
        return True

    @property
    def follows_nobody(self) -> bool:
        """Whether nobody can have led before us: what they had under way need not be waited for."""
        return self.epoch == self._first_epoch > 0

    async def run(self) -> None:
        """Acquire and renew until cancelled, then release, so that another need not wait."""
        try:
            while True:
                await self._step()
        finally:
            await asyncio.shield(self.release())

    async def _step(self) -> None:
        began = self._context.clock.monotonic()
        self._notice()
        try:
            await self._acquire_or_renew(began)
            self._failures = 0
        except ClusterError as error:
            self._failures += 1
            self._context.log.warning("lease %s: %s", self.name, error)
        self._notice()
        self._tell()
        took = self._context.clock.monotonic() - began
        wait = max(RENEW_SECONDS - took, RENEW_PAUSE_SECONDS)
        if self._failures:
            wait = delay_seconds(self._failures, self._context.chance, longest_seconds=wait)
        await self._context.clock.sleep(wait)

    def _notice(self) -> None:
        """Say once that the lease ran out, and that it was renewed."""
        ran_out = not self.leading and not self.passed_on(self.epoch)
        if ran_out and not self._ran_out:
            self._context.log.warning("lease %s ran out: nothing is written meanwhile", self.name)
        elif self._ran_out and not ran_out and self.leading:
            self._context.log.info("lease %s: leading in epoch %d again", self.name, self.epoch)
        self._ran_out = ran_out

    def _tell(self) -> None:
        """Wake those who wait for the lease."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def wait_until_leading(self) -> None:
        """Return when we lead."""
        while not self.leading:
            await self._context.clock.sleep(UNTIL_LEADING_POLL_SECONDS)

    async def _acquire_or_renew(self, sent_at: float) -> None:
        if self._held is not None and not self.passed_on(self.epoch):
            held, self._held = self._held, None
            if await self._write(held, sent_at, transitions=self.epoch):
                return  # nobody wrote it since we did
            sent_at = self._context.clock.monotonic()
        try:
            lease = await self._get()
        except NotFoundError:
            await self._make(sent_at)
            return
        spec = lease.get("spec", {})
        self._seen, self._missing_since = True, None
        self._epoch_seen = max(self._epoch_seen, self.epoch, int(spec.get("leaseTransitions", 0)))
        if spec.get("holderIdentity") == self._context.identity and self._renewed_at is not None:
            await self._write(lease, sent_at, transitions=self._epoch_seen)
        elif self._is_over(lease):
            outwaited = bool(spec.get("holderIdentity"))
            if await self._write(lease, sent_at, transitions=self._epoch_seen + 1):
                self.outwaited = outwaited
                self._context.log.info("leading %s, epoch %d", self.name, self.epoch)
        else:
            self._renewed_at = None

    def _is_over(self, lease: JsonObject) -> bool:
        """Nobody holds it, or its record stood still while we watched for long enough."""
        if not lease.get("spec", {}).get("holderIdentity"):
            return True
        version = (lease["metadata"]["uid"], lease["metadata"]["resourceVersion"])
        now = self._context.clock.monotonic()
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
        """There is no Lease: nobody made one yet, or somebody deleted it under its holder."""
        if self.leading:
            self._context.log.warning("lease %s was deleted: it is made again", self.name)
            await self._create(sent_at, transitions=self.epoch)
        elif await self._at_birth():
            await self._create(sent_at, transitions=1)
            self._first_epoch = self.epoch
        elif self._missing_for(sent_at) > LEASE_SECONDS + REQUEST_SECONDS_MAX:
            await self._create(sent_at, transitions=max(self._epoch_seen, self.epoch) + 1)
            self.outwaited = True
            self._context.log.info("lease %s was made anew: leading %s", self.name, self.leading)

    def _missing_for(self, now: float) -> float:
        """Since when we know of no Lease, in seconds; who held it last may not know yet."""
        if self._missing_since is None:
            self._missing_since = now
            self._context.log.info("lease %s is not there: its holder is waited for", self.name)
        return now - self._missing_since

    async def _at_birth(self) -> bool:
        """Whether we never saw the Lease, and hardly any progress was told: without it nobody decides.

        A bus that does not answer could hold any amount.
        """
        if self._seen:
            return False
        try:
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                told = sum(await self._context.bus.end_offsets(PROGRESS.name))
        except TopicMissingError:
            return True
        except (BusError, TimeoutError) as error:
            self._context.log.info(
                "lease %s: the age of the cluster is unknown: %s", self.name, describe(error)
            )
            return False
        return told <= BIRTH_ROUNDS_MAX * len(WATCHED)

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
            self._renewed_at = None  # somebody was faster; look again
            return
        self._seen, self._held = True, strip_nulls(made)
        self.epoch, self._renewed_at = transitions, sent_at

    async def _write(self, lease: JsonObject, sent_at: float, *, transitions: int) -> bool:
        """Whether nobody wrote it since the version that is given."""
        spec = self._spec(transitions)
        if transitions == self.epoch and self._renewed_at is not None:
            spec["acquireTime"] = lease["spec"].get("acquireTime", spec["acquireTime"])
        body = {**lease, "spec": spec}
        try:
            written = await self._context.cluster.replace(
                LEASES, body, namespace=self._context.namespace
            )
        except (ConflictError, NotFoundError):
            return False  # somebody was faster; look again
        self._held = strip_nulls(written)
        self.epoch, self._renewed_at = transitions, sent_at
        return True

    async def raise_epoch(self, above: int) -> None:
        """Grow past an epoch that was seen elsewhere: the Lease was deleted and made anew.

        The write is guarded by the Lease's version, so it fails if anybody else leads.
        """
        sent_at = self._context.clock.monotonic()
        lease = await self._get()
        if lease.get("spec", {}).get("holderIdentity") == self._context.identity:
            await self._write(lease, sent_at, transitions=above + 1)

    async def release(self) -> None:
        """Give the lease up, if it is ours; whoever waits may lead at once."""
        if self._renewed_at is None:
            return
        self._renewed_at = self._held = None
        self._tell()
        try:
            lease = await self._get()
            if lease.get("spec", {}).get("holderIdentity") == self._context.identity:
                spec = {**lease["spec"], "holderIdentity": ""}
                await self._context.cluster.replace(
                    LEASES, {**lease, "spec": spec}, namespace=self._context.namespace
                )
        except ClusterError as error:
            self._context.log.info("lease %s not released: %s", self.name, error)
