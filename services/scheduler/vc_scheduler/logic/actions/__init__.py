"""One file per action, one explicit registry. An action walks a session and changes it."""

from collections.abc import Callable
from typing import Final

from vc_scheduler.logic.actions.allocate import allocate
from vc_scheduler.logic.actions.backfill import backfill
from vc_scheduler.logic.actions.enqueue import enqueue
from vc_scheduler.logic.actions.preempt import preempt
from vc_scheduler.logic.actions.reclaim import reclaim
from vc_scheduler.logic.session import Session

REGISTRY: Final[dict[str, Callable[[Session], None]]] = {
    "enqueue": enqueue,
    "allocate": allocate,
    "backfill": backfill,
    "preempt": preempt,
    "reclaim": reclaim,
}
