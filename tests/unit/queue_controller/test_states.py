"""The table of queue states."""

import pytest

from vc.queue_controller.logic.states import QueueAction, next_state

STATES = [
    ("Open", QueueAction.NOTHING, 0, "Open"),
    ("Open", QueueAction.OPEN, 1, "Open"),
    ("Open", QueueAction.CLOSE, 0, "Closed"),
    ("Open", QueueAction.CLOSE, 1, "Closing"),
    ("", QueueAction.NOTHING, 0, "Open"),
    ("Unknown", QueueAction.NOTHING, 1, "Open"),
    ("Unknown", QueueAction.CLOSE, 1, "Closing"),
    ("Closing", QueueAction.NOTHING, 1, "Closing"),
    ("Closing", QueueAction.NOTHING, 0, "Closed"),
    ("Closing", QueueAction.OPEN, 1, "Open"),
    ("Closing", QueueAction.CLOSE, 1, "Closing"),
    ("Closed", QueueAction.NOTHING, 0, "Closed"),
    ("Closed", QueueAction.NOTHING, 1, "Closing"),
    ("Closed", QueueAction.OPEN, 0, "Open"),
    ("Closed", QueueAction.CLOSE, 0, "Closed"),
]


@pytest.mark.parametrize(
    ("state", "action", "groups", "becomes"),
    STATES,
    ids=[f"{s or 'new'} with {g} groups, action {w.name}" for s, w, g, _ in STATES],
)
def test_states(state: str, action: QueueAction, groups: int, becomes: str) -> None:
    assert next_state(state, action, groups=groups) == becomes
