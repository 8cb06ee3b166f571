"""Who may write: leadership through a Lease, without trusting anybody's clock.

A lease is ours while our own monotonic clock says that less time has passed since we *sent* the last
successful renewal than the lease lasts, minus a margin for a request under way. Someone else's lease
is over when we have watched its record stand still for as long as it lasts plus the time-out of a
request its holder may still have in flight. The transition count of the Lease is the epoch: it
grows with every new holder, and never goes back.
"""

import asyncio
from typing import Final

from vc_cluster import (
    AlreadyExistsError,
    ClusterError,
    ConflictError,
    NotFoundError,
)
from vc_model.graft import strip_nulls
from vc_model.kinds import LEASES
from vc_model.struct import JsonObject
from vc_model.times import format_micro_time
from vc_runtime.backoff import delay_seconds
from vc_runtime.context import Context

LEASE_SECONDS: Final = 6
RENEW_SECONDS: Final = 2.0
REQUEST_SECONDS_MAX: Final = 2.0
"""A write takes at most this long; nobody starts one when less of the lease remains."""

UNTIL_LEADING_POLL_SECONDS: Final = 0.05


class Leadership:
    """One service's claim to be the one that writes."""

    def __init__(self, context: Context, *, name: str = "") -> None:
        self._context = context
        self.name = name or f"vc-{context.name}"
        self.epoch = 0
        """The Lease's transition count when we last held it."""
        self._renewed_at: float | None = None
        self._observed: tuple[str, object] = ("", None)
        self._observed_at = 0.0
        self._failures = 0

    @property
    def leading(self) -> bool:
        """Whether a write begun now ends before anybody else can lead. Ask before each write."""
        if self._renewed_at is None:
            return False
        age = self._context.clock.monotonic() - self._renewed_at
        return age < LEASE_SECONDS - REQUEST_SECONDS_MAX

    async def run(self) -> None:
        """Acquire and renew until cancelled, then release, so that another need not wait."""
        try:
            while True:
                await self._step()
        finally:
            await asyncio.shield(self.release())

    async def _step(self) -> None:
        try:
            await self._acquire_or_renew()
            self._failures = 0
        except ClusterError as error:
            self._failures += 1
            self._context.log.warning("lease %s: %s", self.name, error)
        wait = RENEW_SECONDS
        if self._failures:
            wait = delay_seconds(self._failures, self._context.chance, longest_seconds=wait)
        await self._context.clock.sleep(wait)

    async def wait_until_leading(self) -> None:
        """Return when we lead."""
        while not self.leading:
            await self._context.clock.sleep(UNTIL_LEADING_POLL_SECONDS)

    async def _acquire_or_renew(self) -> None:
        sent_at = self._context.clock.monotonic()
        try:
            lease = await self._get()
        except NotFoundError:
            await self._create(sent_at)
            return
        spec = lease.get("spec", {})
        if spec.get("holderIdentity") == self._context.identity and self._renewed_at is not None:
            await self._write(lease, sent_at, transitions=int(spec.get("leaseTransitions", 0)))
        elif self._is_over(lease):
            await self._write(lease, sent_at, transitions=int(spec.get("leaseTransitions", 0)) + 1)
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

    async def _create(self, sent_at: float) -> None:
        body = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self.name, "namespace": self._context.namespace},
            "spec": self._spec(1),
        }
        try:
            await self._context.cluster.create(LEASES, body, namespace=self._context.namespace)
        except AlreadyExistsError:
            return
        self.epoch, self._renewed_at = 1, sent_at

    async def _write(self, lease: JsonObject, sent_at: float, *, transitions: int) -> None:
        spec = self._spec(transitions)
        if transitions == self.epoch and self._renewed_at is not None:
            spec["acquireTime"] = lease["spec"].get("acquireTime", spec["acquireTime"])
        body = {**lease, "spec": spec}
        try:
            await self._context.cluster.replace(LEASES, body, namespace=self._context.namespace)
        except (ConflictError, NotFoundError):
            return  # somebody was faster; look again
        self.epoch, self._renewed_at = transitions, sent_at

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
        self._renewed_at = None
        try:
            lease = await self._get()
            if lease.get("spec", {}).get("holderIdentity") == self._context.identity:
                spec = {**lease["spec"], "holderIdentity": ""}
                await self._context.cluster.replace(
                    LEASES, {**lease, "spec": spec}, namespace=self._context.namespace
                )
        except ClusterError as error:
            self._context.log.info("lease %s not released: %s", self.name, error)
