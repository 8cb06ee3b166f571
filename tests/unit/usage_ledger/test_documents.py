"""What is kept in ConfigMaps: whole, bounded, and read back as it was."""

import random

import pytest

from vc.messages.usage import UsageKey
from vc.model.values.resources import Resources
from vc.usage_ledger.logic.documents import (
    OPEN_PARTS_MAX,
    PART_BYTES_MAX,
    DocumentError,
    document,
    entries_of,
    first_part_with_space,
    hours_of,
    pack_hour,
    pack_parts,
    part_name,
    unpack_hour,
    unpack_state,
)
from vc.usage_ledger.logic.ledger import LedgerState
from vc.usage_ledger.logic.pod_account import EndSource, PodAccount
from vc.usage_ledger.logic.rows import Rows, fold_small

HOUR = 1_800_000_000


def rows_of(jobs: int) -> Rows:
    rng = random.Random(7)
    return {
        UsageKey(f"q{n % 5}", f"team-{n % 11}", f"job-{rng.getrandbits(60):x}"): Resources(
            cpu=(n + 1) * 3_600_000, memory=(n + 1) << 60
        )
        for n in range(jobs)
    }


def totals(rows: Rows) -> dict[tuple[str, str, str], int]:
    """By queue, namespace and resource."""
    sums: dict[tuple[str, str, str], int] = {}
    for key, held in rows.items():
        for name, units in held.items():
            at = (key.queue, key.namespace, name)
            sums[at] = sums.get(at, 0) + units
    return sums


def test_an_hour_is_read_back_as_it_was() -> None:
    rows = rows_of(40)
    kept, packed = pack_hour(rows, jobs_max=100)
    assert kept == rows
    assert unpack_hour(packed) == rows
    stored = document("volcano-usage-2027-01-15", namespace="n", entries={"08": packed, "x": b""})
    assert hours_of("2027-01-15", entries_of(stored)) == {HOUR: packed}


def test_small_jobs_are_told_together_and_sums_stay() -> None:
    rows = rows_of(1_000)
    folded = fold_small(rows, jobs_max=50)
    named = [key for key in folded if key.job]
    assert len(named) == 50
    assert len(folded) <= 50 + 5 * 11
    assert min(folded[key]["cpu"] for key in named) == 951 * 3_600_000
    assert totals(folded) == totals(rows)


def test_an_hour_always_fits_a_configmap() -> None:
    rows = rows_of(60_000)
    kept, packed = pack_hour(rows, jobs_max=1_000_000)
    assert len(packed) <= PART_BYTES_MAX
    assert unpack_hour(packed) == kept
    assert totals(kept) == totals(rows)


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [([], 0), ([10], 0), ([PART_BYTES_MAX], 1), ([PART_BYTES_MAX, 5], 1)],
)
def test_a_full_part_is_followed_by_the_next(sizes: list[int], wanted: int) -> None:
    parts = [{"00": bytes(size)} for size in sizes]
    assert first_part_with_space(parts, 100) == wanted
    assert part_name("day", wanted) == ("day" if wanted == 0 else "day-1")


def accounts(count: int) -> list[PodAccount]:
    rng = random.Random(3)
    return [
        PodAccount(
            uid=f"{rng.getrandbits(128):032x}",
            queue="q",
            namespace="ns",
            job=f"job-{n % 100}",
            requests=(("cpu", 1000), ("memory", 1 << 30)),
            start=HOUR + n % 3600,
            end=HOUR + 3600,
            end_source=EndSource.REPORTED,
        )
        for n in range(count)
    ]


def test_accounts_of_open_hours_are_kept_in_parts_that_fit() -> None:
    state = LedgerState(closed_until=HOUR, seen_at=HOUR + 60, accounts=accounts(50_000))
    parts, left_out = pack_parts(state)
    assert left_out == 0
    assert all(len(part) <= PART_BYTES_MAX for part in parts)
    found = [account for part in parts for account in unpack_state(part).accounts]
    assert sorted(found, key=lambda a: a.uid) == sorted(state.accounts, key=lambda a: a.uid)
    assert {unpack_state(part).closed_until for part in parts} == {HOUR}


def test_what_has_no_place_is_counted() -> None:
    state = LedgerState(closed_until=HOUR, seen_at=HOUR, accounts=accounts(OPEN_PARTS_MAX * 10 + 7))
    parts, left_out = pack_parts(state, accounts_per_part=10)
    assert (len(parts), left_out) == (OPEN_PARTS_MAX, 7)


def test_an_entry_that_somebody_changed_is_refused() -> None:
    for bad in (b"", b"x", b"\x78\x9c\x03\x00\x00\x00\x00\x01"):
        with pytest.raises(DocumentError):
            unpack_hour(bad)
        with pytest.raises(DocumentError):
            unpack_state(bad)
