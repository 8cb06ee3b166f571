"""The reference scheduler: one session, action by action."""

from collections.abc import Callable, Iterable
from typing import Final

from tests.reference.enqueue import enqueue
from tests.reference.evictions import preempt, reclaim
from tests.reference.outcome import Outcome
from tests.reference.requested import Claims
from tests.reference.session import Session
from vc.model.api.meta import ApiObject

ACTIONS: Final[dict[str, Callable[[Session], None]]] = {
    "enqueue": enqueue,
    "allocate": Session.allocate,
    "preempt": preempt,
    "reclaim": reclaim,
    "backfill": Session.backfill,
}


def schedule(
    objects: Iterable[ApiObject],
    *,
    actions: tuple[str, ...],
    plugin: str,
    binpack: bool,
    leaves_only: bool = False,
    level: int = 0,
    even: bool = False,
    sla_at: float | None = None,
    now: float = 0.0,
    delay: float = 0.0,
    met_at: dict[str, float] | None = None,
    claims: Claims | None = None,
) -> Outcome:
    """What a session over these objects comes to; `plugin` says what queues deserve, `even` whether
    jobs of equal priority may be preempted, `sla_at` the time where sla is on."""
    session = Session(
        objects,
        actions=actions,
        plugin=plugin,
        binpack=binpack,
        leaves_only=leaves_only,
        level=level,
        even=even,
        sla_at=sla_at,
        now=now,
        delay=delay,
        met_at=met_at,
        claims=claims,
    )
    for name in actions:
        ACTIONS[name](session)
    return session.close()
