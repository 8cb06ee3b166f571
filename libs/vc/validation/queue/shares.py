"""The amounts of a queue as the rules compare them.

In `lenient` mode deserved counts as at least the guarantee, because the users' documents have
queues with a guarantee and no deserved. In `upstream` mode deserved is used as written.
"""

import msgspec

from vc.model.api.scheduling import Queue
from vc.model.compat import Compat
from vc.model.values.resources import Resources
from vc.validation.amounts import known_amounts


class WrittenShares(msgspec.Struct, frozen=True, kw_only=True):
    """Capability, guarantee and deserved in exact units."""

    capability: Resources
    guarantee: Resources
    deserved: Resources


def shares_of(queue: Queue, *, compat: Compat) -> WrittenShares:
    """The shares of a queue. Invalid amounts are reported where the queue itself is checked."""
    guarantee = known_amounts(queue.spec.guarantee.resource)
    deserved = known_amounts(queue.spec.deserved)
    # Queues with only a guarantee would otherwise never fit in their parent.
    if compat is Compat.LENIENT:
        deserved = deserved.largest(guarantee)
    return WrittenShares(
        capability=known_amounts(queue.spec.capability), guarantee=guarantee, deserved=deserved
    )
