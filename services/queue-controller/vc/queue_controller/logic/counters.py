"""PodGroups of each queue by phase, as in the status."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from vc.model.api.keys import DEFAULT_QUEUE
from vc.model.api.scheduling import PodGroup

_FIELDS: Final = {
    "": "pending",
    "Pending": "pending",
    "Inqueue": "inqueue",
    "Running": "running",
    "Unknown": "unknown",
    "Completed": "completed",
}
"""Status field by phase."""

FIELDS: Final = ("pending", "inqueue", "running", "unknown", "completed")


def count_groups(groups: Iterable[PodGroup]) -> Mapping[str, Counter[str]]:
    """Counts per queue. An unknown phase counts as unknown."""
    counted: dict[str, Counter[str]] = {}
    for group in groups:
        # An empty queue of a PodGroup means `default`, as for the scheduler.
        queue = group.spec.queue or DEFAULT_QUEUE
        field = _FIELDS.get(group.status.phase, "unknown")
        counted.setdefault(queue, Counter())[field] += 1
    return counted
