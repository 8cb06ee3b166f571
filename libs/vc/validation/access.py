"""Access rules: writes of our own services, use of queues, and Commands to queues.

An allow list on a queue (`vc.model.queue_access`) names namespaces and is checked by the
scheduler too. The verb `use` is a right of users, and is checked only if an administrator enabled
it. Pods that a controller of the cluster created are checked with their own service account,
because the request names no other user.
"""

from typing import Final

from vc.model.api.keys import ALLOWED_NAMESPACES, KUBE_SYSTEM, ROOT_QUEUE
from vc.model.queue_access import allow_list
from vc.validation.class_quotas import is_of_class, leaves_none
from vc.validation.request import ReviewRequest, UserInfo
from vc.validation.result import ValidationResult
from vc.validation.world import AccessCheck, World, parent_of

USE: Final = "use"
UPDATE_QUEUE: Final = "update"
GROUPS_SENT_MAX: Final = 64
_SYSTEM_CLASS: Final = "system-"
_CONTROLLERS: Final = f"system:serviceaccount:{KUBE_SYSTEM}:"
_DEPTH_MAX: Final = 64


def is_ours(request: ReviewRequest, world: World) -> bool:
    """Whether one of our services is the writer."""
    return request.user_info.username in world.settings.accounts


def access_check(user: UserInfo, *, verb: str, queue: str) -> AccessCheck:
    """The right of a user to check at the API server, with a bounded number of groups."""
    # Bounded: the review is sent to the API server, and groups may be any number.
    groups = tuple(user.groups[:GROUPS_SENT_MAX])
    return AccessCheck(username=user.username, groups=groups, verb=verb, queue=queue)


def pod_user(user: UserInfo, *, namespace: str, account: str) -> UserInfo:
    """The user who submits a pod: its writer, or for pods of a controller their service account."""
    if not user.username.startswith(_CONTROLLERS):
        return user
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    name = f"system:serviceaccount:{namespace}:{account or 'default'}"
    return UserInfo(username=name, groups=[*groups, "system:authenticated"])


def check_queue_allowed(
    found: ValidationResult, path: str, queue: str, *, namespace: str, user: UserInfo, world: World
) -> None:
    """Refuse a queue that the namespace or the submitting user may not use."""
    # An allow list of an ancestor also applies, so the refusal names the queue that excludes.
    barred = barring_queue(queue, namespace, world)
    if barred:
        found.refuse(
            path,
            f"namespace {namespace!r} may not use queue {barred!r}; name another queue, or have the "
            f"namespace added to the queue's annotation {ALLOWED_NAMESPACES}",
            value=queue,
        )
    # The right was queried before the rules ran; an absent answer counts as no.
    if needs_use(user, world) and access_check(user, verb=USE, queue=queue) not in world.granted:
        found.refuse(
            path,
            f"{user.username!r} may not {USE} this queue; grant the verb {USE!r} on "
            f"queues.scheduling.volcano.sh {queue!r} in a ClusterRole",
            value=queue,
        )


def needs_use(user: UserInfo, world: World) -> bool:
    """Whether this user needs the verb `use`."""
    settings = world.settings
    return settings.queue_use_review and world.complete and user.username not in settings.accounts


def barring_queue(queue: str, namespace: str, world: World) -> str:
    """The first queue on the way to root whose allow list excludes the namespace, or empty."""
    # A namespace that is not known has no labels, so only a list by name can include it.
    known = world.namespaces.get(namespace)
    labels = known.metadata.labels if known is not None else {}
    # Bounded, because the parents of broken queues may form a cycle.
    for _ in range(_DEPTH_MAX):
        found = world.queues.get(queue)
        if found is None:
            return ""
        listed = allow_list(found.metadata.annotations)
        if listed is not None and not listed.admits(namespace, labels):
            return queue
        if queue == ROOT_QUEUE:
            return ""
        queue = parent_of(found)
    return ""


def has_allow_list(queue: str, world: World) -> bool:
    """Whether the queue or an ancestor has an allow list. Unknown queues are read live."""
    for _ in range(_DEPTH_MAX):
        found = world.queues.get(queue)
        if found is None:
            return False
        if allow_list(found.metadata.annotations) is not None:
            return True
        if queue == ROOT_QUEUE:
            return False
        queue = parent_of(found)
    return False


def check_class(
    found: ValidationResult, path: str, name: str, *, namespace: str, world: World
) -> None:
    """Refuse a priority class that pods of the namespace may not have.

    Classes `system-*` belong to Kubernetes. Outside the system's namespaces they need a
    ResourceQuota of that class. A quota of the class without pods forbids any class.
    """
    if not name:
        return
    # Several quotas may select one class, and each of them applies.
    quotas = [quota for quota in world.quotas.get(namespace, ()) if is_of_class(quota, name)]
    if any(leaves_none(quota) for quota in quotas):
        found.refuse(
            path,
            "a ResourceQuota of this priority class allows no pods in the namespace",
            value=name,
        )
    # Pods of a system class could preempt the pods of all tenants.
    elif name.startswith(_SYSTEM_CLASS) and not quotas and not _is_system(namespace, world):
        found.refuse(
            path,
            f"classes {_SYSTEM_CLASS}* are for the system's namespaces; name another class, or have a "
            "ResourceQuota with this class as its scope created in the namespace",
            value=name,
        )


def _is_system(namespace: str, world: World) -> bool:
    return namespace in (KUBE_SYSTEM, world.settings.system_namespace)
