"""Storage of the ledger: ConfigMaps for good, the snapshot cache for a fast start.

Names are derived from days, so nothing is listed: a day is read by getting its parts until one is
missing. Entries of closed hours are added with the resourceVersion of the ConfigMap as
precondition. A second writer finds the entry and uses it.
"""

from collections.abc import Callable
from typing import Final

from vc.cluster import NotFoundError, Preconditions
from vc.model.api.kinds import CONFIGMAPS
from vc.model.api.struct import JsonObject
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.off_loop import run_off_loop
from vc.snapshot import Checkpoint, SnapshotUnavailableError, chunk_digest, digest_of_digests
from vc.usage_ledger.logic.documents import (
    DAY_PARTS_MAX,
    OPEN_NAME,
    OPEN_PARTS_MAX,
    PREFIX,
    DocumentError,
    day_of,
    document,
    encoded,
    entries_of,
    entry_name,
    first_part_with_space,
    hours_of,
    pack_parts,
    pack_state,
    part_name,
    unpack_state,
)
from vc.usage_ledger.logic.ledger import LedgerState

CHECKPOINT: Final = "usage"
_ENTRY: Final = "accounts"


class LostLeadershipError(Exception):
    """Another replica may write now."""


class LedgerStore:
    """Reads and writes the state that outlives a process."""

    def __init__(self, context: Context, *, may_write: Callable[[], bool]) -> None:
        self._context = context
        self._may_write = may_write
        self._open_parts = 0
        """Number of ConfigMaps of open hours that may contain data."""

    # -- closed hours ----------------------------------------------------------------------------

    async def day(self, day: str) -> dict[int, bytes]:
        """Entries of a day by hour."""
        entries: dict[str, bytes] = {}
        for _, part in await self._day_parts(day):
            entries.update(entries_of(part))
        return hours_of(day, entries)

    async def add_hour(self, hour: int, packed: bytes) -> bytes:
        """Store the entry of an hour, and return it or the one that existed before.

        Raises ConflictError on a concurrent write.
        """
        day, entry = day_of(hour), entry_name(hour)
        parts = await self._day_parts(day)
        found = [entries_of(part) for _, part in parts]
        for entries in found:
            if entry in entries:
                return entries[entry]
        # Checked immediately before the write, because the reads before it may have taken long.
        self._check()
        number = first_part_with_space(found, len(packed))
        if number >= len(parts):
            await self._create(part_name(PREFIX + day, number), {entry: packed})
        else:
            name, known = parts[number]
            await self._context.cluster.patch(
                CONFIGMAPS,
                {"binaryData": encoded({entry: packed})},
                name=name,
                namespace=self._context.namespace,
                preconditions=Preconditions(
                    uid=known["metadata"]["uid"],
                    resource_version=known["metadata"]["resourceVersion"],
                ),
            )
        return packed

    async def drop_day(self, day: str) -> None:
        """Delete a day that is older than the retention."""
        # The last part first: parts are read until one is missing, so after a crash the rest is
        # still found and deleted by the next attempt.
        for name, part in reversed(await self._day_parts(day)):
            self._check()
            await self._context.cluster.delete(
                CONFIGMAPS,
                name=name,
                namespace=self._context.namespace,
                preconditions=Preconditions(uid=part["metadata"]["uid"]),
            )

    # -- open hours ------------------------------------------------------------------------------

    async def store_open(self, state: LedgerState) -> int:
        """Store the open hours in as many parts as needed. Returns
        how many accounts did not fit."""
        parts, left_out = await run_off_loop(pack_parts, state)
        # Parts that are no longer needed are emptied, or their accounts would be read again.
        empty: list[bytes] = [b""] * max(self._open_parts - len(parts), 0)
        for number, packed in enumerate([*parts, *empty]):
            self._check()
            await self._put(part_name(OPEN_NAME, number), packed)
        self._open_parts = len(parts)
        return left_out

    async def open(self) -> list[LedgerState]:
        """The stored open hours, part by part."""
        found = await self._parts(OPEN_NAME, at_most=OPEN_PARTS_MAX)
        self._open_parts = len(found)
        states: list[LedgerState] = []
        for name, part in found:
            packed = entries_of(part).get(_ENTRY, b"")
            try:
                states += [unpack_state(packed)] if packed else []
            except DocumentError as error:
                self._context.log.warning(
                    "usage state unreadable configmap=%s error=%s", name, error
                )
        return states

    async def _put(self, name: str, packed: bytes) -> None:
        try:
            await self._context.cluster.patch(
                CONFIGMAPS,
                {"binaryData": encoded({_ENTRY: packed})},
                name=name,
                namespace=self._context.namespace,
            )
        except NotFoundError:
            # Created on first use, so that a cluster without usage has no ConfigMap.
            await self._create(name, {_ENTRY: packed})

    # -- the cache -------------------------------------------------------------------------------

    async def save(self, state: LedgerState, *, epoch: int) -> None:
        """Save the whole state to the cache. Errors of the cache are raised."""
        packed = await run_off_loop(pack_state, state)
        self._check()
        await self._context.snapshot.save(
            CHECKPOINT,
            Checkpoint(
                incarnation="",
                epoch=epoch,
                offsets={},
                row_counts={_ENTRY: len(state.accounts)},
                chunks={_ENTRY: packed},
                digest=digest_of_digests(
                    incarnation="", epoch=epoch, offsets={}, digests={_ENTRY: chunk_digest(packed)}
                ),
                written_at=self._context.clock.now(),
            ),
        )

    async def saved(self) -> LedgerState | None:
        """The state from the cache, or None if it has none or is unavailable."""
        try:
            checkpoint = await self._context.snapshot.load(CHECKPOINT)
            if checkpoint is None:
                return None
            return await run_off_loop(unpack_state, checkpoint.chunks[_ENTRY])
        except (SnapshotUnavailableError, DocumentError, KeyError) as error:
            self._context.log.warning("usage checkpoint unusable error=%s", error)
            return None

    # -- internals -------------------------------------------------------------------------------

    async def _day_parts(self, day: str) -> list[tuple[str, JsonObject]]:
        return await self._parts(PREFIX + day, at_most=DAY_PARTS_MAX)

    async def _parts(self, stem: str, *, at_most: int) -> list[tuple[str, JsonObject]]:
        found: list[tuple[str, JsonObject]] = []
        for number in range(at_most):
            name = part_name(stem, number)
            try:
                part = await self._context.cluster.get(
                    CONFIGMAPS, name=name, namespace=self._context.namespace
                )
            # Parts are numbered without gaps, so the first missing one ends the list.
            except NotFoundError:
                break
            found.append((name, part))
        return found

    async def _create(self, name: str, entries: dict[str, bytes]) -> None:
        body = document(name, namespace=self._context.namespace, entries=entries)
        await self._context.cluster.create(CONFIGMAPS, body, namespace=self._context.namespace)

    def _check(self) -> None:
        if not self._may_write():
            raise LostLeadershipError("no longer leading")
