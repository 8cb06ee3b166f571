"""Batch fit gives the same placements as the naive loop."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vc.scheduling.session.batch_fit import (
    NO_CAPACITY,
    SCORE_MAX,
    Ints,
    capacity,
    has_capacity,
    place,
    rank_keys,
)


def naive(count: int, idle: Ints, request: Ints, scores: Ints) -> list[int] | None:
    """One pod after the other: the best score as it is then, the first node among equals.

    Only what the pod asks for is compared: a node short of something else takes it all the same.
    """
    idle = idle.copy()
    asked = request > 0
    put = [0] * len(idle)
    chosen: list[int] = []
    for _ in range(count):
        fitting = [n for n in range(len(idle)) if bool((idle[n] >= request)[asked].all())]
        if not fitting:
            return None
        best = max(fitting, key=lambda n: (int(scores[n, put[n]]), -n))
        idle[best] -= request
        put[best] += 1
        chosen.append(best)
    return chosen


@given(data=st.data(), count=st.integers(1, 12), nodes=st.integers(1, 9))
def test_placing_at_once_equals_placing_one_by_one(
    data: st.DataObject, count: int, nodes: int
) -> None:
    width = 3
    rows = st.lists(st.integers(-3, 20), min_size=width, max_size=width)
    idle = np.array(data.draw(st.lists(rows, min_size=nodes, max_size=nodes)), dtype=np.int64)
    request = np.array(
        data.draw(st.lists(st.integers(0, 5), min_size=width, max_size=width)), dtype=np.int64
    )
    request[0] = max(1, request[0])
    line = st.lists(st.integers(0, 4), min_size=count + 1, max_size=count + 1)
    scores = np.array(data.draw(st.lists(line, min_size=nodes, max_size=nodes)), dtype=np.int64)

    capacities = capacity(idle, request)
    expected = naive(count, idle, request, scores)
    fits = min(count, sum(capacities.tolist()))
    assert (fits == count) == (expected is not None)
    if expected is None:
        assert naive(fits, idle, request, scores) is not None
        return
    rows_placed = place(
        count,
        capacities=capacities,
        keys=rank_keys(np.arange(nodes), scores[:, 0], capacities, count=nodes),
        score_rows=lambda rows, deep: scores[rows, :deep].copy(),
    )
    assert rows_placed.tolist() == expected


@given(score=st.integers(-SCORE_MAX, SCORE_MAX), nodes=st.integers(1, 100_000))
def test_no_score_places_a_pod_on_a_full_node(score: int, nodes: int) -> None:
    more = np.array([score], dtype=np.int64) * nodes
    assert not has_capacity(np.array([NO_CAPACITY], dtype=np.int64) + more).any()
    assert has_capacity(np.zeros(1, dtype=np.int64) + more).all()
