"""The amounts of a queue as the rules compare them.

In the `seeds` mode deserved counts as at least the guarantee, because the users' documents give a
queue a guarantee and no deserved; upstream takes deserved as it is written.
"""

import msgspec

from vc_admission.logic.amounts import Amounts, known_amounts
from vc_model.compat import Compat
from vc_model.scheduling import Queue


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """Capability, guarantee and deserved in exact units."""

    capability: Amounts
    guarantee: Amounts
    deserved: Amounts


def shares_of(queue: Queue, *, compat: Compat) -> Shares:
    """The shares of a queue; what cannot be read is told where the queue itself is checked."""
    guarantee = known_amounts(queue.spec.guarantee.resource)
    deserved = known_amounts(queue.spec.deserved)
    if compat is Compat.LENIENT:
        keys = guarantee.keys() | deserved.keys()
        deserved = {key: max(guarantee.get(key, 0), deserved.get(key, 0)) for key in keys}
    return Shares(
        capability=known_amounts(queue.spec.capability), guarantee=guarantee, deserved=deserved
    )
