"""cdp: a pod is not evicted before its cooldown after the bind has ended (behaviour.md 5.7).

The annotation or label `volcano.sh/cooldown-time` says how long. A session that spares a pod for it asks to
be woken when the cooldown ends, so that preemptors are tried again then.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc_scheduler.logic.rows import PodRow

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


class CooldownProtection:
    """Keeps pods that were bound a short time ago."""

    name: ClassVar[str] = "cdp"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # it takes none

    def may_evict(self, session: "Session", pod: PodRow) -> bool:
        if pod.protected_until <= session.now:
            return True
        session.wake(pod.protected_until)
        return False
