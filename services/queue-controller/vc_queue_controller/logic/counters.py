"""Pod groups of each queue by phase, as the status shows them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from vc_model.keys import DEFAULT_QUEUE
from vc_model.scheduling import PodGroup

_FIELDS: Final = {
    "": "pending",
    "Pending": "pending",
    "Inqueue": "inqueue",
    "Running": "running",
    "Unknown": "unknown",
    "Completed": "completed",
}
"""Phase to field."""

FIELDS: Final = ("pending", "inqueue", "running", "unknown", "completed")


def count_groups(groups: Iterable[PodGroup]) -> Mapping[str, Counter[str]]:
    """Per queue; a phase nobody knows counts as unknown."""
    counted: dict[str, Counter[str]] = {}
    for group in groups:
        queue = group.spec.queue or DEFAULT_QUEUE
        field = _FIELDS.get(group.status.phase, "unknown")
        counted.setdefault(queue, Counter())[field] += 1
    return counted
