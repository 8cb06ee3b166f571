"""cdp: a pod is not evicted during a cooldown after its bind (docs/behaviour.md 5.7).

The annotation or label `volcano.sh/cooldown-time` sets the length of the cooldown. A session that
exempts a pod for this reason registers a wake-up for the end of the cooldown, so that preemptors
are tried again at that time.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc.scheduling.model.rows import PodRow

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session


class CooldownProtection:
    """Exempts recently bound pods from eviction."""

    name: ClassVar[str] = "cdp"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # the plugin has no arguments

    def preemptable(self, session: "Session", pod: PodRow) -> bool:
        return self._cooldown_over(session, pod)

    def reclaimable(self, session: "Session", pod: PodRow) -> bool:
        return self._cooldown_over(session, pod)

    @staticmethod
    def _cooldown_over(session: "Session", pod: PodRow) -> bool:
        """Whether the cooldown has passed; otherwise a wake-up is registered for its end."""
        if pod.protected_until <= session.now:
            return True
        session.wake(pod.protected_until)
        return False
