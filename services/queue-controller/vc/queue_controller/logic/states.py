"""The state machine of a queue.

| state \\ action | open | close | nothing |
|---|---|---|---|
| Open, Unknown, "" | Open | Closing, Closed when empty | Open |
| Closing | Open | Closing, Closed when empty | Closing, Closed when empty |
| Closed | Open | Closed | Closed; Closing when a PodGroup appears |

An action is requested by a Command or by the parent. A queue below one that is not open is closed and
marked. When its parent opens, the mark causes it to open again. A queue that was closed by itself
stays closed. `root` is never closed, and a queue below a closed one is not opened.
"""

import enum
from typing import Final

OPEN: Final = "Open"
CLOSING: Final = "Closing"
CLOSED: Final = "Closed"
UNKNOWN: Final = "Unknown"

SHUT: Final = frozenset({CLOSING, CLOSED})


class QueueAction(enum.Enum):
    """The action that a Command or the parent requests. Values are the actions of Volcano's Commands."""

    NOTHING = ""
    OPEN = "OpenQueue"
    CLOSE = "CloseQueue"


def next_state(state: str, action: QueueAction, *, groups: int) -> str:
    """The next state. `groups` is the number of PodGroups in the queue, including finished ones."""
    shut = CLOSED if groups == 0 else CLOSING
    if action is QueueAction.OPEN:
        return OPEN
    if action is QueueAction.CLOSE or state in SHUT:
        return shut
    return OPEN
