"""conformance: critical system pods are never evicted."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc.scheduling.model.rows import PodRow

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session


class Conformance:
    """Exempts pods of kube-system and of the critical system priority classes from eviction."""

    name: ClassVar[str] = "conformance"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # the plugin has no arguments

    def preemptable(self, session: "Session", pod: PodRow) -> bool:
        del session
        return not pod.critical

    def reclaimable(self, session: "Session", pod: PodRow) -> bool:
        del session
        return not pod.critical
