"""What must be read live before a request can be answered, as a pure function.

Jobs and PodGroups arrive by the hundred and are answered from memory. Only a queue that is unknown,
or that would be refused as not Open, is read live, so that one file with a queue and a job for it
can be applied at once. Writes of queues are rare and their rules are sums over the tree. They are
decided on a live list, so that two children created at the same time are both counted. Before a
queue is deleted its PodGroups are counted live too. If that fails, the answer is 503, which the API
server treats as a refusal (failurePolicy Fail) that may be retried.
"""

import msgspec

from vc.admission.logic.webhook.endpoints import Endpoint
from vc.model.api import kinds
from vc.model.api.keys import DEFAULT_QUEUE, QUEUE_NAME_ANNOTATION, ROOT_QUEUE
from vc.model.api.kinds import Kind
from vc.model.api.struct import Json
from vc.validation.access import (
    UPDATE_QUEUE,
    USE,
    access_check,
    has_allow_list,
    needs_use,
    pod_user,
)
from vc.validation.kinds.command import needs_right
from vc.validation.maxima import Maxima
from vc.validation.queue_choice import OPEN, state_of
from vc.validation.request import CREATE, DELETE, ReviewRequest, UserInfo
from vc.validation.world import AccessCheck, World


class Lookups(msgspec.Struct, frozen=True, kw_only=True):
    """Objects to read live."""

    all_queues: bool = False
    groups_of: str = ""
    """A queue whose unfinished PodGroups are to be counted."""
    queue: str = ""
    namespace: str = ""
    access: AccessCheck | None = None
    """The right of the user to check at the API server."""


def needed(request: ReviewRequest, world: World, *, endpoint: Endpoint) -> Lookups:
    """What to read before `review` can be called."""
    # Sums over a tree must not be computed on a view that is behind.
    if endpoint.kind is kinds.QUEUES and not endpoint.mutates:
        counted = request.operation == DELETE and world.settings.protects_queues_in_use
        return Lookups(all_queues=True, groups_of=_name(request) if counted else "")
    if endpoint.kind is kinds.COMMANDS:
        return Lookups(access=_right_to_order(request, world))
    if endpoint.kind is kinds.PODS and not endpoint.mutates:
        return _for_pod(request, world)
    if endpoint.kind not in (kinds.JOBS, kinds.PODGROUPS):
        return Lookups()
    if endpoint.kind is kinds.JOBS and request.operation != CREATE:
        return Lookups()  # its queue cannot change
    queue = _text(request.object, "spec", "queue")
    if not endpoint.mutates:
        return _for_queue(request, queue, world)
    if request.operation != CREATE:
        return Lookups()
    if endpoint.kind is kinds.PODGROUPS and queue == DEFAULT_QUEUE:
        namespace = _text(request.object, "metadata", "namespace") or request.namespace
        return Lookups(namespace="" if namespace in world.namespaces else namespace)
    return Lookups()


def _for_queue(request: ReviewRequest, queue: str, world: World) -> Lookups:
    """What determines whether a queue accepts an object. An object that stays in
    its queue is not checked again."""
    # A PodGroup that stays in its queue may be updated even if the queue is closed by now.
    if request.operation != CREATE and queue == _text(request.old_object, "spec", "queue"):
        return Lookups()
    known_open = not queue or queue == ROOT_QUEUE or state_of(world, queue) == OPEN
    found = _of_use(request, request.user_info, queue or DEFAULT_QUEUE, world)
    return msgspec.structs.replace(found, queue="" if known_open else queue)


def _for_pod(request: ReviewRequest, world: World) -> Lookups:
    annotations = ((request.object or {}).get("metadata") or {}).get("annotations")
    queue = annotations.get(QUEUE_NAME_ANNOTATION) if isinstance(annotations, dict) else ""
    if not isinstance(queue, str) or not queue:
        return Lookups()
    # The pod's own account counts for pods that a controller creates.
    account = _text(request.object, "spec", "serviceAccountName")
    user = pod_user(request.user_info, namespace=request.namespace, account=account)
    return _of_use(request, user, queue, world)


def _of_use(request: ReviewRequest, user: UserInfo, queue: str, world: World) -> Lookups:
    """The namespace whose labels an allow list may select, and the right to use the queue."""
    namespace = _text(request.object, "metadata", "namespace") or request.namespace
    unknown = namespace not in world.namespaces and has_allow_list(queue, world)
    access = access_check(user, verb=USE, queue=queue) if needs_use(user, world) else None
    return Lookups(namespace=namespace if unknown else "", access=access)


def _right_to_order(request: ReviewRequest, world: World) -> AccessCheck | None:
    if _text(request.object, "target", "kind") != kinds.QUEUES.kind:
        return None
    if not needs_right(request, world):
        return None
    queue = _text(request.object, "target", "name")
    return access_check(request.user_info, verb=UPDATE_QUEUE, queue=queue)


def _name(request: ReviewRequest) -> str:
    return request.name or _text(request.old_object, "metadata", "name")


def _text(value: Json, *path: str) -> str:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """Objects to count live, up to a number."""

    kind: Kind
    namespace: str
    most: int


def to_count(request: ReviewRequest, maxima: Maxima, *, endpoint: Endpoint) -> Count | None:
    """What must be counted before a request can be answered, or None."""
    most = maxima.of(endpoint.kind)
    # Only a create adds an object, and one of the two webhooks is enough.
    if not most or endpoint.mutates or request.operation != CREATE:
        return None
    return Count(kind=endpoint.kind, namespace=request.namespace, most=most)
