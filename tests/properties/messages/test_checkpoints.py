"""A view that was written down and restored in the middle of a history ends like one that was not.

Histories, with all their noise, are those of `test_view`. One view reads a part of one in a drawn
interleaving and is written down; then it and the restored one read the rest, in the same order.
"""

import random
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.messages.test_view import STEPS, History, Reading, view_as_truth
from vc.messages.checkpoints import Chunker, Restorer, offsets_of, row_counts_of
from vc.messages.view import View, ViewState
from vc.model.api.kinds import PODS


def through_bytes(state: ViewState) -> ViewState:
    restorer = Restorer(
        [PODS], incarnation=state.incarnation, epoch=state.epoch, offsets=offsets_of(state)
    )
    for name, chunk in Chunker([PODS]).chunks(state):
        restorer.take(name, chunk)
    return restorer.state(row_counts_of(state))


def restored(reading: Reading, state: ViewState) -> Reading:
    """As a process that starts: newest progress first, then the checkpoint, then the rest."""
    again = Reading(reading.history)
    again.told = reading.told - 1
    again.hear()
    changes = again.view.adopt(state)
    assert {change.key: change.after for change in changes} == {
        key: entry.object for key, entry in state.tables[PODS.topic].items()
    }
    assert all(change.before is None for change in changes)
    again.at = dict(reading.at)
    return again


def known(view: View) -> ViewState:
    state = view.state()
    assert state is not None
    return state


@given(
    steps=st.lists(st.sampled_from(STEPS), max_size=60),
    dice=st.randoms(use_true_random=False),
    part=st.floats(0, 1),
)
def test_following_on_from_a_checkpoint_equals_following_from_the_start(
    steps: list[Callable[[History], None]], dice: random.Random, part: float
) -> None:
    history = History(dice)
    history.tell()
    for step in steps:
        step(history)
    history.tell()
    reading = Reading(history)
    reading.hear()
    for _ in range(int(part * sum(map(len, history.logs.values())))):
        reading.read(dice.choice(reading.unread()))
        if reading.told < len(history.progress) and dice.random() < 0.1:
            reading.hear()

    state = known(reading.view)
    assert through_bytes(state) == state
    again = restored(reading, through_bytes(state))
    assert known(again.view) == state
    again.check()

    while reading.unread():
        number = dice.choice(reading.unread())
        reading.read(number)
        again.read(number)
        assert known(again.view) == known(reading.view)
    while reading.told < len(history.progress):
        reading.hear()
        again.hear()
    assert again.view.unready(0.0) == reading.view.unready(0.0) == ""
    assert view_as_truth(again.view) == history.truth
