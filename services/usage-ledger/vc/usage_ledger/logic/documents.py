"""The ledger as stored in the Kubernetes API, where it survives a wipe of Kafka and Redis.

A day is a ConfigMap `volcano-usage-<day>` with one compressed entry per closed hour. When it is
full, the next hours are stored in `volcano-usage-<day>-1` and so on. An entry is written once and
never changed: a later writer uses the existing one. `volcano-usage-open` contains the accounts of
deleted pods in hours that are still open; accounts of existing pods are derived from the pods.
"""

import base64
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar

import msgspec

from vc.messages.usage import HOUR_SECONDS, UsageKey
from vc.model.api.struct import JsonObject
from vc.model.values.resources import Resources
from vc.usage_ledger.logic.ledger import LedgerState
from vc.usage_ledger.logic.pod_account import EndSource, PodAccount, Requests
from vc.usage_ledger.logic.rows import Rows, fold_small

PREFIX: Final = "volcano-usage-"
OPEN_NAME: Final = f"{PREFIX}open"
PART_BYTES_MAX: Final = 700 * 1024
"""Limit of compressed entries in one ConfigMap. It allows 1 MiB, and base64 adds a third."""
DAY_PARTS_MAX: Final = 24
"""Limit of parts of one day. An entry fits one part and a day has 24 entries, so a day always fits."""
OPEN_PARTS_MAX: Final = 8
"""Limit of parts of the open hours: 5.6 MB compressed, about 160,000 accounts."""
ENTRY_BYTES_RAW_MAX: Final = 256 * 1024 * 1024
"""Limit of a decompressed entry. No valid entry is larger."""


T = TypeVar("T")


class DocumentError(ValueError):
    """An entry that cannot be decoded, with the reason."""


def day_of(hour: int) -> str:
    """The day of an hour in UTC, as `2026-11-16`."""
    return datetime.fromtimestamp(hour, UTC).strftime("%Y-%m-%d")


def entry_name(hour: int) -> str:
    """The hour within its day, as `14`."""
    return datetime.fromtimestamp(hour, UTC).strftime("%H")


def hours_of(day: str, entries: Mapping[str, bytes]) -> dict[int, bytes]:
    """Entries by their hour, in order. Entries of other writers are left out."""
    midnight = int(datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp())
    names = {f"{number:02d}": midnight + number * HOUR_SECONDS for number in range(24)}
    return {hour: entries[name] for name, hour in names.items() if name in entries}


def part_name(stem: str, part: int) -> str:
    """Name of a part. The first part has no number."""
    return stem if part == 0 else f"{stem}-{part}"


def days_before(now: float, count: int) -> list[str]:
    """Today and the days before it, the newest first."""
    return [day_of(int(now) - number * 24 * HOUR_SECONDS) for number in range(count)]


# -- an hour -------------------------------------------------------------------------------------


class _Entry(msgspec.Struct, frozen=True, array_like=True):
    queue: str
    namespace: str
    job: str
    held: dict[str, str]


def pack_hour(rows: Rows, *, jobs_max: int) -> tuple[Rows, bytes]:
    """The kept rows and their bytes: as many jobs by name as are allowed and fit."""
    while True:
        kept = fold_small(rows, jobs_max=jobs_max)
        entries = [
            _Entry(k.queue, k.namespace, k.job, {n: str(kept[k][n]) for n in sorted(kept[k])})
            for k in sorted(kept)
        ]
        packed = _pack(entries)
        # Without names left to fold, the entry is stored whatever its size.
        if len(packed) <= PART_BYTES_MAX or jobs_max == 0:
            return kept, packed
        # Folding more jobs keeps the sums exact, while dropping rows would not.
        jobs_max //= 2


def unpack_hour(packed: bytes) -> Rows:
    """Decode an hour. Raises DocumentError if another writer changed it."""
    entries = _unpack(packed, list[_Entry])
    try:
        return {
            UsageKey(e.queue, e.namespace, e.job): Resources(
                (name, int(text)) for name, text in e.held.items()
            )
            for e in entries
        }
    except ValueError as error:
        raise DocumentError(f"not an entry of the ledger: {error}") from None


def entries_of(document: JsonObject) -> dict[str, bytes]:
    """The entries of a ConfigMap. Invalid base64 is left out."""
    found: dict[str, bytes] = {}
    for name, text in (document.get("binaryData") or {}).items():
        try:
            found[str(name)] = base64.b64decode(str(text), validate=True)
        except ValueError:
            continue
    return found


def first_part_with_space(parts: Sequence[Mapping[str, bytes]], size: int) -> int:
    """Number of the first part with enough space for the bytes, or
    the number after the last part."""
    for number, entries in enumerate(parts):
        if sum(map(len, entries.values())) + size <= PART_BYTES_MAX:
            return number
    return len(parts)


def document(name: str, *, namespace: str, entries: Mapping[str, bytes]) -> JsonObject:
    """A ConfigMap with these entries."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/part-of": "pyroclast", "volcano.sh/usage": "true"},
        },
        "binaryData": encoded(entries),
    }


def encoded(entries: Mapping[str, bytes]) -> JsonObject:
    """The entries as the `binaryData` of a ConfigMap, sorted by name."""
    return {name: base64.b64encode(entries[name]).decode() for name in sorted(entries)}


# -- open hours ----------------------------------------------------------------------------------


class _OpenState(msgspec.Struct, frozen=True, kw_only=True):
    """Accounts as columns, which compress well. Repeated values are written once.

    `name=` keeps the keys of stored ConfigMaps, which outlive the code that wrote them.
    """

    closed_until: int
    seen_at: int
    owners: list[tuple[str, str, str, str]]
    """Queue, namespace, job, PodGroup."""
    distinct_requests: list[Requests] = msgspec.field(name="asked")
    uids: list[str]
    owner: list[int]
    """Index into `owners` of each account."""
    requests: list[int] = msgspec.field(name="ask")
    """Index into `distinct_requests` of each account."""
    start: list[int]
    end: list[int | None]
    end_source: list[int] = msgspec.field(name="known")
    ends_by: list[int | None]
    deletion_requested_at: list[int | None] = msgspec.field(name="asked_to_end")


def pack_state(state: LedgerState) -> bytes:
    """Encode the whole state."""
    # Jobs have many pods with equal values, so each combination is stored once.
    owners: dict[tuple[str, str, str, str], int] = {}
    distinct_requests: dict[Requests, int] = {}
    accounts = sorted(state.accounts, key=lambda account: account.uid)
    owner = [
        owners.setdefault((a.queue, a.namespace, a.job, a.group), len(owners)) for a in accounts
    ]
    requests = [distinct_requests.setdefault(a.requests, len(distinct_requests)) for a in accounts]
    return _pack(
        _OpenState(
            closed_until=state.closed_until,
            seen_at=state.seen_at,
            owners=list(owners),
            distinct_requests=list(distinct_requests),
            uids=[a.uid for a in accounts],
            owner=owner,
            requests=requests,
            start=[a.start for a in accounts],
            end=[a.end for a in accounts],
            end_source=[int(a.end_source) for a in accounts],
            ends_by=[a.ends_by for a in accounts],
            deletion_requested_at=[a.deletion_requested_at for a in accounts],
        )
    )


def unpack_state(packed: bytes) -> LedgerState:
    """Decode the state of open hours; a DocumentError if the bytes are of something else."""
    stored = _unpack(packed, _OpenState)
    try:
        accounts = [_account(stored, number) for number in range(len(stored.uids))]
    except (IndexError, ValueError) as error:
        raise DocumentError(f"not a state of the ledger: {error}") from None
    return LedgerState(closed_until=stored.closed_until, seen_at=stored.seen_at, accounts=accounts)


def _account(stored: _OpenState, number: int) -> PodAccount:
    queue, namespace, job, group = stored.owners[stored.owner[number]]
    return PodAccount(
        uid=stored.uids[number],
        queue=queue,
        namespace=namespace,
        job=job,
        group=group,
        requests=stored.distinct_requests[stored.requests[number]],
        start=stored.start[number],
        end=stored.end[number],
        end_source=EndSource(stored.end_source[number]),
        ends_by=stored.ends_by[number],
        deletion_requested_at=stored.deletion_requested_at[number],
    )


def pack_parts(state: LedgerState, *, accounts_per_part: int = 20_000) -> tuple[list[bytes], int]:
    """A state in parts that each fit a ConfigMap, and the number of accounts that did not fit."""
    pieces = [
        state.accounts[at : at + accounts_per_part]
        for at in range(0, max(len(state.accounts), 1), accounts_per_part)
    ]
    parts = [
        pack_state(msgspec.structs.replace(state, accounts=piece))
        for piece in pieces[:OPEN_PARTS_MAX]
    ]
    # Compression differs between states, so the size is only known after packing.
    if any(len(part) > PART_BYTES_MAX for part in parts) and accounts_per_part > 1:
        return pack_parts(state, accounts_per_part=accounts_per_part // 2)
    return parts, sum(map(len, pieces[OPEN_PARTS_MAX:]))


# -- bytes ---------------------------------------------------------------------------------------


def _pack(value: object) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(value), 6)


def _unpack(packed: bytes, into: type[T]) -> T:
    unpacker = zlib.decompressobj()
    try:
        # Bounded, because a damaged entry could expand without end.
        raw = unpacker.decompress(packed, ENTRY_BYTES_RAW_MAX)
        return msgspec.msgpack.decode(raw, type=into)
    except (zlib.error, msgspec.DecodeError) as error:
        raise DocumentError(f"not an entry of the ledger: {error}") from None
