"""The state machine of a queue.

| state \\ wish | open | close | nothing |
|---|---|---|---|
| Open, Unknown, "" | Open | Closing, Closed when empty | Open |
| Closing | Open | Closing, Closed when empty | Closing, Closed when empty |
| Closed | Open | Closed | Closed; Closing when a pod group appears |

A wish comes from a command, or from above: a queue below one that is not open is closed and marked;
when its parent opens, the mark opens it again. A queue that was closed by itself stays closed. `root`
is never closed, and a queue below a closed one is not opened.
"""

import enum
from typing import Final

OPEN: Final = "Open"
CLOSING: Final = "Closing"
CLOSED: Final = "Closed"
UNKNOWN: Final = "Unknown"

SHUT: Final = frozenset({CLOSING, CLOSED})


class Wish(enum.Enum):
    """What somebody wants of a queue."""

    NOTHING = ""
    OPEN = "OpenQueue"
    CLOSE = "CloseQueue"


def next_state(state: str, wish: Wish, *, groups: int) -> str:
    """The state that follows; `groups` counts the pod groups in the queue, finished ones too."""
    shut = CLOSED if groups == 0 else CLOSING
    if wish is Wish.OPEN:
        return OPEN
    if wish is Wish.CLOSE or state in SHUT:
        return shut
    return OPEN
