"""The actions of a session, and the registry of their names.

An action is a function that walks a session and changes it. Each action has its own module or
package.
"""

from collections.abc import Callable
from typing import Final

from vc.scheduling.actions.allocate import allocate
from vc.scheduling.actions.backfill import backfill
from vc.scheduling.actions.enqueue import enqueue
from vc.scheduling.actions.preempt.action import preempt
from vc.scheduling.actions.reclaim.action import reclaim
from vc.scheduling.session.session import Session

REGISTRY: Final[dict[str, Callable[[Session], None]]] = {
    "enqueue": enqueue,
    "allocate": allocate,
    "backfill": backfill,
    "preempt": preempt,
    "reclaim": reclaim,
}
