"""The state machine of a queue.

| state \\ request | open | close | nothing |
|---|---|---|---|
| Open, Unknown, "" | Open | Closing, Closed when empty | Open |
| Closing | Open | Closing, Closed when empty | Closing, Closed when empty |
| Closed | Open | Closed | Closed; Closing when a PodGroup appears |

A request comes from a Command or from the parent. A queue below one that is not open is closed and
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


class Wish(enum.Enum):
    """The requested state of a queue."""

    NOTHING = ""
    OPEN = "OpenQueue"
    CLOSE = "CloseQueue"


def next_state(state: str, wish: Wish, *, groups: int) -> str:
    """The next state. `groups` is the number of PodGroups in the queue, including finished ones."""
    shut = CLOSED if groups == 0 else CLOSING
    if wish is Wish.OPEN:
        return OPEN
    if wish is Wish.CLOSE or state in SHUT:
        return shut
    return OPEN
