"""Pods that name our scheduler: gates and resource groups are added, budgets are checked.

Pods of other schedulers must never be blocked: they are admitted unchanged, and the webhook is
registered so that the API server does not call it for them.
"""

import re
from typing import Final

import msgspec

from vc.model.api.keys import (
    JDB_MAX_UNAVAILABLE,
    JDB_MIN_AVAILABLE,
    QUEUE_ALLOCATION_GATE,
    QUEUE_NAME_ANNOTATION,
)
from vc.model.api.meta import ApiObject
from vc.model.api.struct import ApiStruct, JsonObject
from vc.validation.access import check_queue_allowed, pod_user
from vc.validation.request import ReviewRequest, UserInfo
from vc.validation.resource_groups import RESOURCE_GROUP_ANNOTATION, ResourceGroup
from vc.validation.result import ValidationResult
from vc.validation.world import World

_PERCENT: Final = re.compile(r"[1-9][0-9]?%")
_POSITIVE: Final = re.compile(r"0*[1-9][0-9]{0,9}")


class AdmittedPodSpec(ApiStruct, frozen=True, kw_only=True):
    """The fields of a pod spec that admission reads."""

    scheduler_name: str = ""
    service_account_name: str = ""


class AdmittedPod(ApiObject, frozen=True, kw_only=True):
    """The fields of a pod that admission reads."""

    spec: AdmittedPodSpec = AdmittedPodSpec()


def default_pod(raw: JsonObject, pod: AdmittedPod, *, namespace: str, world: World) -> JsonObject:
    """The raw pod with gates and resource groups as configured."""
    spec = dict(raw["spec"]) if isinstance(raw.get("spec"), dict) else {}
    annotations = pod.metadata.annotations
    # The gate is added only on request, because every gated pod needs a later write.
    if world.settings.queue_allocation_gate and annotations.get(QUEUE_ALLOCATION_GATE) == "true":
        _add_gate(spec)
    group = matching_group(world.resource_groups, annotations=annotations, namespace=namespace)
    if group is not None:
        _steer(spec, group)
    return {**raw, "spec": spec}


def _add_gate(spec: JsonObject) -> None:
    gates = spec.get("schedulingGates") or []
    gate = {"name": QUEUE_ALLOCATION_GATE}
    if isinstance(gates, list) and gate not in gates:
        spec["schedulingGates"] = [*gates, gate]


def matching_group(
    groups: tuple[ResourceGroup, ...], *, annotations: dict[str, str], namespace: str
) -> ResourceGroup | None:
    """The first resource group that the pod belongs to, or None."""
    for group in groups:
        if _matches(group, annotations, namespace):
            return group
    return None


def _matches(group: ResourceGroup, annotations: dict[str, str], namespace: str) -> bool:
    key, values = group.object.key, group.object.value
    if key == "namespace":
        return namespace in values
    listed = any(_annotation_matches(value, annotations) for value in values)
    if key == "annotation":
        return listed
    # Without a key, the annotation of the group's name matches too.
    named = (
        group.resource_group and annotations.get(RESOURCE_GROUP_ANNOTATION) == group.resource_group
    )
    return not key and (listed or bool(named))


def _annotation_matches(listed: str, annotations: dict[str, str]) -> bool:
    """Whether an entry `key: value` of the configuration matches an annotation."""
    key, _, value = listed.partition(":")
    return bool(key) and annotations.get(key.strip()) == value.strip()


def _steer(spec: JsonObject, group: ResourceGroup) -> None:
    # The scheduler of the group replaces the pod's, as in upstream.
    if group.scheduler_name:
        spec["schedulerName"] = group.scheduler_name
    if group.labels:
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **group.labels}
    if group.tolerations:
        spec["tolerations"] = [*(spec.get("tolerations") or []), *group.tolerations]
    affinity = group.affinity_object()
    # An affinity of the user is kept: two cannot be merged in general.
    if affinity is not None and not spec.get("affinity"):
        spec["affinity"] = affinity


def submitter(pod: AdmittedPod, request: ReviewRequest) -> UserInfo:
    """The user who submits the pod to its queue."""
    namespace = pod.metadata.namespace or request.namespace
    account = pod.spec.service_account_name
    return pod_user(request.user_info, namespace=namespace, account=account)


def check_pod(
    found: ValidationResult, raw: JsonObject, *, request: ReviewRequest, world: World
) -> None:
    """Check disruption budgets and the queue of our own pods. The
    API server refuses invalid pods."""
    # The API server refuses an invalid pod itself.
    try:
        pod = msgspec.convert(raw, AdmittedPod)
    except msgspec.ValidationError:
        return
    # Pods of other schedulers are not checked.
    if pod.spec.scheduler_name not in world.settings.scheduler_names:
        return
    annotations = pod.metadata.annotations
    queue = annotations.get(QUEUE_NAME_ANNOTATION, "")
    if queue:
        check_queue_allowed(
            found,
            f"metadata.annotations[{QUEUE_NAME_ANNOTATION}]",
            queue,
            namespace=pod.metadata.namespace or request.namespace,
            user=submitter(pod, request),
            world=world,
        )
    given = [key for key in (JDB_MIN_AVAILABLE, JDB_MAX_UNAVAILABLE) if key in annotations]
    for key in given:
        value = annotations[key]
        if not (_PERCENT.fullmatch(value) or _POSITIVE.fullmatch(value)):
            found.refuse(
                f"metadata.annotations[{key}]",
                "must be a positive number or a percentage from 1% to 99%",
                value=value,
            )
    if len(given) > 1:
        found.refuse(
            "metadata.annotations", f"{given[0]} and {given[1]} exclude each other; keep one"
        )
