"""The annotation that lists completed members: written, read, bounded."""

from time import perf_counter

from vc.model.completed_members import TEXT_LENGTH_MAX, format_completed, read_completed, remembered
from vc.model.values.index_runs import INDEX_MAX, count_without, read_runs, runs_of


def test_what_is_written_is_read_back() -> None:
    text = format_completed({"worker": {0, 1, 2, 5}, "ps": {0}, "none": set()})
    assert text == '{"ps":"0","worker":"0-2,5"}'
    assert read_completed(text) == {"ps": ((0, 0),), "worker": ((0, 2), (5, 5))}
    assert format_completed({"worker": set()}) == ""
    assert read_completed("") == {}


def test_a_place_that_counts_by_its_pod_is_not_remembered() -> None:
    runs = read_completed('{"worker":"0-2,5"}')["worker"]
    assert remembered(runs, ()) == 4
    assert remembered(runs, [1, 5, 5, 7, 3]) == 2
    assert remembered((), [1]) == 0


def test_runs_that_overlap_or_touch_count_once() -> None:
    assert read_runs("4-9,0-5,10,2") == ((0, 10),)
    assert read_runs("3-1,x,,-,7") == ((7, 7),)
    assert read_runs(f"0-{INDEX_MAX + 1}") == ()
    assert count_without(runs_of({3, 1, 2}), ()) == 3


def test_a_text_that_does_not_fit_lists_fewer_members_and_stays_readable() -> None:
    scattered = {"a": set(range(0, 20_000, 2)), "b": {1, 2, 3}}
    text = format_completed(scattered)
    assert TEXT_LENGTH_MAX - 40 < len(text) <= TEXT_LENGTH_MAX
    listed = {low for low, high in read_completed(text)["a"] for low in range(low, high + 1)}
    assert listed < scattered["a"]
    assert listed == set(range(0, 2 * len(listed), 2))


def test_a_forged_text_costs_no_more_than_its_length() -> None:
    forged = '{"worker":"' + ",".join([f"0-{INDEX_MAX}"] * 1_500) + '"}'
    assert len(forged) <= TEXT_LENGTH_MAX
    began = perf_counter()
    runs = read_completed(forged)["worker"]
    assert remembered(runs, range(10_000)) == INDEX_MAX + 1 - 10_000
    assert perf_counter() - began < 1.0
