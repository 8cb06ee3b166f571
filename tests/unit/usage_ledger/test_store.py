"""ConfigMaps of the ledger: as many parts as a day needs, written once, deleted without leftovers."""

import base64

import pytest

from tests.builders.contexts import memory_context
from vc.clock import run_virtual
from vc.cluster import ConflictError, NotFoundError
from vc.messages.usage import HOUR_SECONDS, UsageKey
from vc.model.api.kinds import CONFIGMAPS, NAMESPACES
from vc.runtime.hosting.context import Context
from vc.usage_ledger.logic.documents import (
    DAY_PARTS_MAX,
    PART_BYTES_MAX,
    day_of,
    document,
    part_name,
    unpack_hour,
)
from vc.usage_ledger.logic.ledger import LedgerState
from vc.usage_ledger.logic.pod_account import EndSource, PodAccount
from vc.usage_ledger.store import LedgerStore, LostLeadershipError

MIDNIGHT = 1_799_971_200
DAY = day_of(MIDNIGHT)
STEM = f"volcano-usage-{DAY}"


async def world() -> Context:
    context = memory_context("usage-ledger")
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": context.namespace}}
    await context.cluster.create(NAMESPACES, body)
    return context


def store(context: Context, *, leads: bool = True) -> LedgerStore:
    return LedgerStore(context, may_write=lambda: leads)


async def names(context: Context) -> set[str]:
    found = set()
    for number in range(DAY_PARTS_MAX + 1):
        try:
            await context.cluster.get(
                CONFIGMAPS, name=part_name(STEM, number), namespace=context.namespace
            )
            found.add(part_name(STEM, number))
        except NotFoundError:
            continue
    return found


def full_entry(hour: int) -> bytes:
    """An entry that leaves no space for another one in its ConfigMap."""
    return bytes([hour % 256]) * PART_BYTES_MAX


def test_every_hour_of_a_day_finds_a_part_however_full_the_others_are() -> None:
    """A day was limited to eight parts: the ninth full hour was refused, and all later ones."""

    async def main() -> None:
        context = await world()
        written = store(context)
        hours = [MIDNIGHT + number * HOUR_SECONDS for number in range(24)]
        for number, hour in enumerate(hours):
            assert await written.add_hour(hour, full_entry(number)) == full_entry(number)
        assert await names(context) == {part_name(STEM, number) for number in range(24)}
        assert await store(context).day(DAY) == {h: full_entry(n) for n, h in enumerate(hours)}

    run_virtual(main())


def test_an_hour_is_written_once_and_the_first_writer_wins() -> None:
    async def main() -> None:
        context = await world()
        assert await store(context).add_hour(MIDNIGHT, b"first") == b"first"
        assert await store(context).add_hour(MIDNIGHT, b"second") == b"first"
        assert await store(context).add_hour(MIDNIGHT + HOUR_SECONDS, b"next") == b"next"
        assert await names(context) == {STEM}

    run_virtual(main())


def test_a_dropped_day_leaves_nothing_even_after_a_crash_in_between() -> None:
    """Parts are found by counting up, so the last one is deleted first."""

    async def main() -> None:
        context = await world()
        for number in range(3):
            hour = MIDNIGHT + number * HOUR_SECONDS
            await store(context).add_hour(hour, full_entry(number))
        checks = iter([True, False])
        crashing = LedgerStore(context, may_write=lambda: next(checks))
        with pytest.raises(LostLeadershipError):
            await crashing.drop_day(DAY)
        assert await names(context) == {part_name(STEM, 0), part_name(STEM, 1)}
        await store(context).drop_day(DAY)
        assert await names(context) == set()

    run_virtual(main())


def test_a_standby_writes_nothing() -> None:
    async def main() -> None:
        context = await world()
        with pytest.raises(LostLeadershipError):
            await store(context, leads=False).add_hour(MIDNIGHT, b"x")
        assert await names(context) == set()

    run_virtual(main())


def test_a_part_that_another_writer_changed_meanwhile_is_not_overwritten() -> None:
    async def main() -> None:
        context = await world()
        await store(context).add_hour(MIDNIGHT, b"x")
        stale = await context.cluster.get(CONFIGMAPS, name=STEM, namespace=context.namespace)
        await context.cluster.patch(
            CONFIGMAPS, {"data": {"a": "b"}}, name=STEM, namespace=context.namespace
        )
        late = store(context)

        async def parts_as_they_were(stem: str, *, at_most: int) -> object:
            return [(stem, stale)]

        late._parts = parts_as_they_were  # type: ignore[assignment,method-assign]
        with pytest.raises(ConflictError):
            await late.add_hour(MIDNIGHT + HOUR_SECONDS, b"y")

    run_virtual(main())


# -- what the queue-controller stored ----------------------------------------------------------------

STATE_OF_0_1_0 = (
    "eJxFjkEOgjAQRYsbE+/CDVy49QpumkInhgCFdEqMd3DjhAOgUHDBIbiAxHgWD2CpCzdvMi8/f+YyxlmBIHmlTJLN6f7N"
    "BgRQXJhlkX1xUqCR6s6AyO8KrdEiUQ/PsDzWjXO3qLECU5BE1MZl9Vy/qM8hL/R53jHGrj8bfLoqkUjWMRSekfX9xILW"
    "Fbhh0QhtyD+yYNOCkn7dTjZVLk0rNjiHPDp7f5hGf5ubgv+zX09PY3A="
)
HOUR_OF_0_1_0 = "eJybOGVJSWpi7qK84qUlRYmZeU2LkwtKlxkaGQDBstzU3PyiytVmJiZGJqYGliYmBgDujxIR"


def test_stored_usage_of_the_queue_controller_is_read_unchanged() -> None:
    async def main() -> tuple[list[LedgerState], dict[int, bytes]]:
        context = await world()
        for name, entry, text in (
            ("volcano-usage-open", "accounts", STATE_OF_0_1_0),
            (STEM, "08", HOUR_OF_0_1_0),
        ):
            body = document(
                name, namespace=context.namespace, entries={entry: base64.b64decode(text)}
            )
            await context.cluster.create(CONFIGMAPS, body, namespace=context.namespace)
        return await store(context).open(), await store(context).day(DAY)

    (state,), hours = run_virtual(main())
    assert (state.closed_until, state.seen_at) == (1_800_000_000, 1_800_000_100)
    assert state.accounts == [
        PodAccount(
            uid="uid-a",
            queue="team",
            namespace="ns",
            job="train",
            requests=(("cpu", 2000), ("memory", 1 << 30)),
            start=1_800_000_000,
            end=1_800_000_060,
            end_source=EndSource.MISSED,
            ends_by=1_800_000_090,
            deletion_requested_at=1_800_000_060,
            group="train-pg",
        ),
        PodAccount(
            uid="uid-b",
            queue="",
            namespace="ns",
            job="b",
            requests=(("cpu", 500),),
            start=1_800_000_010,
        ),
    ]
    assert {hour: unpack_hour(packed) for hour, packed in hours.items()} == {
        1_800_000_000: {
            UsageKey("team", "ns", "train"): {"cpu": 120_000, "memory": 60 << 30},
        }
    }
