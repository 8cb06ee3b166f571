"""What must be read live before a request can be answered: the pure half of "on a miss".

Jobs and pod groups come by the hundred and are answered from memory; only a queue that memory does
not know, or would refuse as not Open, is looked at once more, so that one file with a queue and a
job for it applies in one go. Writes of queues are rare and their rules are sums over the tree, so
they are decided on a live list: two children created in one breath are both counted. Before a queue is
deleted its pod groups are counted live too; when that fails the request is answered 503, which the API
server takes for a refusal (failurePolicy Fail) that may be tried again.
"""

import msgspec

from vc_admission.logic.endpoints import CREATE, DELETE, Endpoint
from vc_admission.logic.queue_choice import OPEN, state_of
from vc_admission.logic.wire import Request
from vc_admission.logic.world import World
from vc_model import kinds
from vc_model.keys import DEFAULT_QUEUE, ROOT_QUEUE
from vc_model.struct import Json


class Lookups(msgspec.Struct, frozen=True, kw_only=True):
    """Objects to read live."""

    all_queues: bool = False
    groups_of: str = ""
    """A queue whose unfinished pod groups are to be counted."""
    queue: str = ""
    namespace: str = ""


def needed(request: Request, world: World, *, endpoint: Endpoint) -> Lookups:
    """What to read before `review` may be asked."""
    if endpoint.kind is kinds.QUEUES and not endpoint.mutates:
        counted = request.operation == DELETE and world.settings.protects_queues_in_use
        return Lookups(all_queues=True, groups_of=_name(request) if counted else "")
    if request.operation != CREATE or endpoint.kind not in (kinds.JOBS, kinds.PODGROUPS):
        return Lookups()
    queue = _text(request.object, "spec", "queue")
    if not endpoint.mutates:
        known_open = not queue or queue == ROOT_QUEUE or state_of(world, queue) == OPEN
        return Lookups(queue="" if known_open else queue)
    if endpoint.kind is kinds.PODGROUPS and queue == DEFAULT_QUEUE:
        namespace = _text(request.object, "metadata", "namespace") or request.namespace
        return Lookups(namespace="" if namespace in world.namespaces else namespace)
    return Lookups()


def _name(request: Request) -> str:
    return request.name or _text(request.old_object, "metadata", "name")


def _text(value: Json, *path: str) -> str:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
