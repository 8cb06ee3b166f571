"""Reconcile one PodGroup: derive its wanted state, and the writes to reach it.

Pods with a controller share the PodGroup `podgroup-<uid of the controller>`; a pod without one has
its own. The PodGroup is derived from the first of its pods (by name; during a rolling update of a
StatefulSet, from a pod of the new revision) and from the annotations of its controller, so every
replica and every restart derives the same one. Changes of other writers on the PodGroup are kept.
"""

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from vc.messages.effects import CreateObject, DeleteObject, Effect, PatchObject
from vc.model.api import keys
from vc.model.api.graft import merge_patch, to_json
from vc.model.api.job import NetworkTopology
from vc.model.api.kinds import PODGROUPS, PODS
from vc.model.api.kubernetes import Workload
from vc.model.api.meta import ApiObject, OwnerReference, controller_of, group_of_version, object_key
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, PodGroupSpec
from vc.model.api.struct import JsonObject
from vc.model.pod_requests import pod_requests
from vc.model.values.bounded import read_count
from vc.model.values.quantity import QuantityError, format_resources, parse_resources

PREFIX: Final = "podgroup-"
REVISION_LABEL: Final = "controller-revision-hash"
"""Label of a StatefulSet's pods: the revision from which they were created."""
_INHERITED_PREFIX: Final = "volcano.sh/"
_FROM_POD_ANNOTATIONS: Final = (
    keys.PREEMPTABLE,
    keys.COOLDOWN_TIME,
    keys.REVOCABLE_ZONE,
    keys.JDB_MIN_AVAILABLE,
    keys.JDB_MAX_UNAVAILABLE,
)
_FROM_POD_LABELS: Final = (keys.PREEMPTABLE, keys.COOLDOWN_TIME)
_ENDED: Final = frozenset({"Succeeded", "Failed"})


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of one PodGroup and everything that affects it."""

    pods: tuple[Pod, ...]
    owner: Workload | None = None
    """Their controller, if its kind is followed."""
    podgroup: PodGroup | None = None


def group_uid(pod: Pod, scheduler_names: Collection[str]) -> str:
    """The uid that names the PodGroup of a pod, or empty if the pod is not grouped here."""
    # Pods of other schedulers are left to their own controllers.
    if pod.spec.scheduler_name not in scheduler_names:
        return ""
    # A pod that names another PodGroup belongs to another controller.
    named = _group_named(pod)
    uid = _lead(pod).uid
    return uid if named in ("", PREFIX + uid) else ""


def group_key(obj: ApiObject, scheduler_names: Collection[str]) -> str:
    """Namespace and uid of the PodGroup that an object affects, or empty.

    Owner references can be written by any user, so a uid of another namespace has no effect there.
    """
    uid = obj.metadata.uid
    if isinstance(obj, Pod):
        uid = group_uid(obj, scheduler_names)
    elif isinstance(obj, PodGroup):
        name = obj.metadata.name
        # A PodGroup of another name was not created here.
        uid = name.removeprefix(PREFIX) if name.startswith(PREFIX) else ""
    return object_key(obj.metadata.namespace, uid) if uid else ""


def decide(seen: Observed) -> list[Effect]:
    """Create or update the PodGroup, then annotate the pods with its name."""
    if seen.owner is not None and seen.owner.spec.replicas == 0 and not seen.pods:
        return _drop(seen.podgroup, seen.owner)
    pods = [p for p in seen.pods if p.metadata.deletion_timestamp is None and _is_of(seen.owner, p)]
    # Terminating and ended pods must not determine what the gang needs.
    pods = sorted((p for p in pods if p.status.phase not in _ENDED), key=lambda pod: pod.key)
    if not pods:
        return []
    # All pods of the key have the same controller, so any of them names the PodGroup.
    name = PREFIX + _lead(pods[0]).uid
    unnamed = [pod for pod in pods if not _group_named(pod)]
    return [*_keep(seen, _example(pods, seen.owner), name), *(_name(pod, name) for pod in unnamed)]


def _is_of(owner: Workload | None, member: Pod | PodGroup) -> bool:
    """Whether the workload controls the object, by API group, kind and uid.

    Any user can write a reference with only the uid. Of a workload that is not
    followed, only the reference is known.
    """
    if owner is None:
        return True
    found = controller_of(member.metadata)
    return (
        found is not None
        and found.uid == owner.metadata.uid
        and found.kind == owner.kind
        and group_of_version(found.api_version) == group_of_version(owner.api_version)
    )


def _example(pods: list[Pod], owner: Workload | None) -> Pod:
    """The pod that determines the PodGroup: the first one of the new
    revision, or else the first one."""
    # During a rolling update the new revision is the future of the workload.
    revision = owner.status.update_revision if owner else ""
    for pod in pods:
        if revision and pod.metadata.labels.get(REVISION_LABEL) == revision:
            return pod
    return pods[0]


def _group_named(pod: Pod) -> str:
    annotations = pod.metadata.annotations
    return annotations.get(keys.GROUP_NAME) or annotations.get(keys.GROUP_NAME_ALTERNATIVE) or ""


def _lead(pod: Pod) -> OwnerReference:
    """The controller of the pod, or the pod itself."""
    return controller_of(pod.metadata) or OwnerReference(
        api_version=PODS.api_version,
        kind=PODS.kind,
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        controller=True,
    )


def _keep(seen: Observed, pod: Pod, name: str) -> list[Effect]:
    spec = wanted_spec(pod, seen.owner)
    known = seen.podgroup
    if known is None:
        return [_create(pod, seen.owner, name, spec)]
    # The name is in use until the PodGroup is gone. Its deletion leads to another reconcile.
    if known.metadata.deletion_timestamp is not None:
        return []
    # Without an annotation the existing queue is kept: another writer may have set it.
    wanted = msgspec.structs.replace(spec, queue=spec.queue or known.spec.queue)
    patch: JsonObject = {}
    changed = merge_patch(to_json(known.spec), to_json(wanted))
    if changed:
        patch["spec"] = changed
    # Only missing or different values are written, so that those of other writers are kept.
    notes = _wanted_notes(pod, seen.owner)
    known_notes = {"annotations": known.metadata.annotations, "labels": known.metadata.labels}
    metadata = {
        field: missing
        for field, wanted_notes in notes.items()
        if (missing := {k: v for k, v in wanted_notes.items() if known_notes[field].get(k) != v})
    }
    if metadata:
        patch["metadata"] = metadata
    if not patch:
        return []
    return [
        PatchObject(
            kind=PODGROUPS,
            namespace=pod.metadata.namespace,
            name=name,
            patch=patch,
            uid=known.metadata.uid,
        )
    ]


def wanted_spec(pod: Pod, owner: Workload | None) -> PodGroupSpec:
    """The gang as requested by the annotations of its controller.
    Without them the minimum is one pod."""
    members = _min_member(owner)
    topology = _topology(pod)
    try:
        amounts = format_resources(_each(pod_requests(pod.spec, parse_resources), members))
    # An invalid quantity must not prevent the PodGroup, because its pods could not be scheduled.
    except QuantityError:
        amounts = {}
    return PodGroupSpec(
        min_member=members,
        min_resources=amounts,
        queue=pod.metadata.annotations.get(keys.QUEUE_NAME_ANNOTATION, ""),
        priority_class_name=pod.spec.priority_class_name,
        network_topology=topology,
    )


def _min_member(owner: Workload | None) -> int:
    text = owner.metadata.annotations.get(keys.GROUP_MIN_MEMBER, "") if owner else ""
    # An invalid or missing number means a gang of one pod.
    return read_count(text) or 1


def _topology(pod: Pod) -> NetworkTopology | None:
    mode = pod.metadata.annotations.get(keys.NETWORK_TOPOLOGY_MODE)
    tier = pod.metadata.annotations.get(keys.NETWORK_TOPOLOGY_HIGHEST_TIER, "")
    if not mode and not tier:
        return None
    # Without a mode the limit is hard.
    return NetworkTopology(mode=mode or "hard", highest_tier_allowed=read_count(tier))


def _each(amounts: Mapping[str, int], count: int) -> dict[str, int]:
    return {name: amount * count for name, amount in amounts.items()}


def _create(pod: Pod, owner: Workload | None, name: str, spec: PodGroupSpec) -> CreateObject:
    # The pod's owners become owners of the PodGroup, so that it is deleted with them.
    owners = pod.metadata.owner_references or [_lead(pod)]
    notes = _wanted_notes(pod, owner)
    metadata: JsonObject = {
        "name": name,
        "namespace": pod.metadata.namespace,
        "ownerReferences": [to_json(reference) for reference in owners],
    }
    metadata.update({field: values for field, values in notes.items() if values})
    return CreateObject(
        kind=PODGROUPS,
        namespace=pod.metadata.namespace,
        name=name,
        owner_uid=_lead(pod).uid,
        body={
            "apiVersion": PODGROUPS.api_version,
            "kind": PODGROUPS.kind,
            "metadata": metadata,
            "spec": to_json(spec),
        },
    )


def _wanted_notes(pod: Pod, owner: Workload | None) -> dict[str, dict[str, str]]:
    """Annotations and labels: those of the controller are inherited, and the pod's own win."""
    inherited = owner.metadata.annotations if owner else {}
    annotations = {
        k: v
        for k, v in inherited.items()
        # Annotations that only our services write must not be copied from users.
        if k.startswith(_INHERITED_PREFIX) and k not in keys.PODGROUP_ANNOTATIONS
    }
    annotations |= _picked(pod.metadata.annotations, _FROM_POD_ANNOTATIONS)
    return {
        "annotations": {key: annotations[key] for key in sorted(annotations)},
        "labels": _picked(pod.metadata.labels, _FROM_POD_LABELS),
    }


def _picked(given: dict[str, str], wanted: tuple[str, ...]) -> dict[str, str]:
    return {key: given[key] for key in wanted if key in given}


def _name(pod: Pod, group: str) -> PatchObject:
    return PatchObject(
        kind=PODS,
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        patch={"metadata": {"annotations": {keys.GROUP_NAME: group}}},
        uid=pod.metadata.uid,
    )


def _drop(podgroup: PodGroup | None, owner: Workload) -> list[Effect]:
    """Delete the PodGroup of a workload that was scaled to zero, if the workload controls it."""
    if podgroup is None or podgroup.metadata.deletion_timestamp is not None:
        return []
    # A user may have created a PodGroup of this name; it is not ours to delete.
    if not _is_of(owner, podgroup):
        return []
    return [
        DeleteObject(
            kind=PODGROUPS,
            namespace=podgroup.metadata.namespace,
            name=podgroup.metadata.name,
            uid=podgroup.metadata.uid,
        )
    ]
