"""conformance: pods of the system are never evicted."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc_scheduler.logic.rows import PodRow

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


class Conformance:
    """Keeps kube-system and the system's critical classes."""

    name: ClassVar[str] = "conformance"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # it takes none

    def may_evict(self, session: "Session", pod: PodRow) -> bool:
        del session
        return not pod.critical
