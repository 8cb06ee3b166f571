"""One log: compaction, tombstone expiry, retention, and the bounds that start them."""

import pytest

from tests.contracts.bus.steps import message, topic
from vc.bus.memory import log as log_module
from vc.bus.memory.log import PartitionLog
from vc.messages.topics import Topic


def keys_and_offsets(log: PartitionLog) -> list[tuple[str, int]]:
    return [(r.key, r.offset) for r in log.read(log.start, limit=10**6, now=1e12).records]


def filled(declared: Topic, *, keys: str, now: float = 0.0) -> PartitionLog:
    """One record per letter; a capital letter is a tombstone."""
    log = PartitionLog(declared, 0)
    for key in keys:
        log.append(
            message(declared.name, key.lower(), None if key.isupper() else b"v"),
            now=now,
            delay_seconds=0.0,
        )
    return log


def test_compaction_keeps_the_last_of_each_key() -> None:
    log = filled(topic(compacted=True), keys="abacbd")
    log.clean(0.0)
    assert keys_and_offsets(log) == [("a", 2), ("c", 3), ("b", 4), ("d", 5)]
    assert (log.start, log.end) == (0, 6)


def test_a_tombstone_hides_its_key_and_stays_for_its_retention() -> None:
    declared = topic(compacted=True)
    log = filled(declared, keys="abAc")
    log.clean(declared.retention_seconds - 1)
    assert keys_and_offsets(log) == [("b", 1), ("a", 2), ("c", 3)]
    log.clean(declared.retention_seconds)
    assert keys_and_offsets(log) == [("b", 1), ("c", 3)]


def test_the_last_record_stays_so_that_positions_reach_the_end() -> None:
    declared = topic(compacted=True)
    log = filled(declared, keys="aA")
    log.clean(declared.retention_seconds * 10.0)
    assert keys_and_offsets(log) == [("a", 1)]
    assert log.read(0, limit=10, now=1e12).position == log.end


def test_retention_moves_the_start() -> None:
    declared = topic()
    log = filled(declared, keys="ab")
    log.append(message(declared.name, "c"), now=100.0, delay_seconds=0.0)
    log.clean(declared.retention_seconds + 50.0)
    assert (log.start, log.end) == (2, 3)
    log.clean(declared.retention_seconds + 500.0)
    assert (log.start, log.end) == (3, 3)
    assert log.append(message(declared.name, "d"), now=1.0, delay_seconds=0.0) == 3


def test_a_busy_log_cleans_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "COMPACT_AFTER_RECORDS", 10)
    log = filled(topic(compacted=True), keys="a" * 95)
    assert len(keys_and_offsets(log)) <= 10
    assert log.end == 95


def test_a_log_of_large_records_cleans_itself_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "COMPACT_AFTER_BYTES", 100)
    log = filled(topic(compacted=True), keys="a" * 95)
    assert len(keys_and_offsets(log)) < 20


def test_reading_in_a_gap_begins_behind_it() -> None:
    log = filled(topic(compacted=True), keys="aaaab")
    log.clean(0.0)
    batch = log.read(1, limit=1, now=0.0)
    assert [record.offset for record in batch.records] == [3]
    assert (batch.position, batch.more_at) == (4, 0.0)


def test_order_is_kept_although_records_are_late() -> None:
    declared = topic()
    log = PartitionLog(declared, 0)
    log.append(message(declared.name, "late"), now=0.0, delay_seconds=5.0)
    log.append(message(declared.name, "quick"), now=1.0, delay_seconds=0.0)
    assert log.read(0, limit=9, now=4.9) == ([], 0, 5.0)
    assert [record.key for record in log.read(0, limit=9, now=5.0).records] == ["late", "quick"]


def test_a_poll_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "POLL_BYTES_MAX", 1)
    log = filled(topic(), keys="abc")
    assert len(log.read(0, limit=9, now=0.0).records) == 1, "one always comes through"
