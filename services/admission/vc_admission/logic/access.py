"""Who may do what: whose writes are our own, who may use a queue, who may order a queue about.

An allow list on a queue (`vc_model.queue_access`) speaks of namespaces and is checked by the scheduler too.
The verb `use` speaks of users: it is asked only where an administrator switched it on. Pods that a
controller of the cluster made are asked about with their own service account, since nobody else's name is
in the request.
"""

from typing import Final

from vc_admission.logic.class_quotas import is_of_class, leaves_none
from vc_admission.logic.findings import Findings
from vc_admission.logic.wire import Request, UserInfo
from vc_admission.logic.world import AccessQuestion, World, parent_of
from vc_model.keys import ALLOWED_NAMESPACES, KUBE_SYSTEM, ROOT_QUEUE
from vc_model.queue_access import allow_list

USE: Final = "use"
UPDATE_QUEUE: Final = "update"
GROUPS_ASKED_MAX: Final = 64
_SYSTEM_CLASS: Final = "system-"
_CONTROLLERS: Final = f"system:serviceaccount:{KUBE_SYSTEM}:"
_DEPTH_MAX: Final = 64


def is_ours(request: Request, world: World) -> bool:
    """Whether one of our services writes."""
    return request.user_info.username in world.settings.accounts


def question(user: UserInfo, *, verb: str, queue: str) -> AccessQuestion:
    """As it is asked and remembered."""
    groups = tuple(user.groups[:GROUPS_ASKED_MAX])
    return AccessQuestion(username=user.username, groups=groups, verb=verb, queue=queue)


def pod_user(user: UserInfo, *, namespace: str, account: str) -> UserInfo:
    """Who submits a pod: whoever writes it, or for a controller's pods their own account."""
    if not user.username.startswith(_CONTROLLERS):
        return user
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    name = f"system:serviceaccount:{namespace}:{account or 'default'}"
    return UserInfo(username=name, groups=[*groups, "system:authenticated"])


def check_queue_allowed(
    found: Findings, path: str, queue: str, *, namespace: str, user: UserInfo, world: World
) -> None:
    """Refuse a queue that the namespace, or whoever submits, may not use."""
    barred = barring_queue(queue, namespace, world)
    if barred:
        found.refuse(
            path,
            f"namespace {namespace!r} may not use queue {barred!r}; name another queue, or have the "
            f"namespace added to the queue's annotation {ALLOWED_NAMESPACES}",
            value=queue,
        )
    if needs_use(user, world) and question(user, verb=USE, queue=queue) not in world.granted:
        found.refuse(
            path,
            f"{user.username!r} may not {USE} this queue; grant the verb {USE!r} on "
            f"queues.scheduling.volcano.sh {queue!r} in a ClusterRole",
            value=queue,
        )


def needs_use(user: UserInfo, world: World) -> bool:
    """Whether the verb `use` is asked of this user."""
    settings = world.settings
    return settings.queue_use_review and world.complete and user.username not in settings.accounts


def barring_queue(queue: str, namespace: str, world: World) -> str:
    """The first queue from this one up whose allow list does not have the namespace; empty for none."""
    known = world.namespaces.get(namespace)
    labels = known.metadata.labels if known is not None else {}
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
    """Whether the queue or one above it may be closed to namespaces; unknown queues are read live."""
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


def check_class(found: Findings, path: str, name: str, *, namespace: str, world: World) -> None:
    """Refuse a priority class that pods of the namespace may not have.

    Classes `system-*` are Kubernetes' own: outside the system's namespaces they are for those whom a
    ResourceQuota of that class admits. A quota of the class that leaves no pods forbids any class.
    """
    if not name:
        return
    quotas = [quota for quota in world.quotas.get(namespace, ()) if is_of_class(quota, name)]
    if any(leaves_none(quota) for quota in quotas):
        found.refuse(
            path,
            "a ResourceQuota of this priority class allows no pods in the namespace",
            value=name,
        )
    elif name.startswith(_SYSTEM_CLASS) and not quotas and not _is_system(namespace, world):
        found.refuse(
            path,
            f"classes {_SYSTEM_CLASS}* are for the system's namespaces; name another class, or have a "
            "ResourceQuota with this class as its scope created in the namespace",
            value=name,
        )


def _is_system(namespace: str, world: World) -> bool:
    return namespace in (KUBE_SYSTEM, world.settings.system_namespace)
