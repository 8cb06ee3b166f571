"""Counters of PodGroups in the status of a queue."""

from tests.unit.queue_controller.objects import flat, group, queue, statuses


def test_nothing_new_is_nothing_written() -> None:
    assert flat(queue("a")) == []


def test_counters_are_written_when_they_change() -> None:
    groups = (
        group("a", "Running"),
        group("a", "Running", 1),
        group("a", ""),
        group("b", "Inqueue"),
    )
    assert statuses(flat(queue("a"), groups=groups)) == {"a": {"pending": 1, "running": 2}}
