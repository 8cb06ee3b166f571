"""What a reason proposes, as one question that `vcctl simulate` can ask; or why it cannot be written as one.

The proposal is carried out by the one function that knows how (`unblocking.py`), on a ground that only
notes what is done to it. Objects that come or change are manifests: of pods and groups, the job they come
from. Pods that go take their job with them. Where a node is like what room is asked for, it is asked for
with `addNodes`, else with the manifests of new nodes.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from tests.unit.scheduling.objects import GROUP, TASK
from tests.unit.scheduling.scenarios.scenario import Wait, job_of
from tests.unit.scheduling.scenarios.unblocking import unblock
from vc.dashboard.logic.answers.future_answers import AddNodes, WhatIfRequest
from vc.messages.sessions import JobReason, Unblock
from vc.model.api import kinds
from vc.model.api.kinds import Kind
from vc.model.api.meta import ApiObject
from vc.model.api.node import Node
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup
from vc.model.api.struct import JsonObject
from vc.model.values.quantity import parse_resources
from vc.scheduling.cache.cluster_cache import KINDS

_KIND_OF: Final[dict[type, Kind]] = {kind.type: kind for kind in KINDS}
ROOM: Final = ("add-room", "reach-volume")


class NoQuestionError(Exception):
    """It cannot be asked; the text says what of it."""


class Notes:
    """A ground that notes what is done to it: see `unblocking.Ground`."""

    def __init__(self, objects: Iterable[ApiObject], now: float) -> None:
        self._objects = {(type(obj), obj.key): obj for obj in objects}
        self.now = now
        self.came: dict[tuple[type, str], ApiObject] = {}
        self.went: list[Pod] = []

    def objects(self) -> list[ApiObject]:
        return list(self._objects.values())

    def put(self, *objects: ApiObject) -> None:
        new = {(type(obj), obj.key): obj for obj in objects}
        self._objects |= new
        self.came |= new

    def delete(self, kind: Kind, key: str) -> None:
        assert kind is kinds.PODS
        pod = self._objects.pop((Pod, key))
        assert isinstance(pod, Pod)
        self.went.append(pod)


class Asking:
    """About one job; what it is told next is added to the question."""

    def __init__(self, objects: Iterable[ApiObject], *, now: float) -> None:
        self._known = list(objects)
        self._notes = Notes(self._known, now)
        self._like: AddNodes | None = None

    def propose(self, job: JobReason, wait: Wait, others: Mapping[str, JobReason]) -> None:
        """All that the reason proposes."""
        before = dict(self._notes.came)
        unblock(self._notes, job, wait, others)
        like = _like(self._known, job.reason.unblock)
        if like is not None and self._like is None:
            self._like = like
            self._notes.came = {
                key: obj
                for key, obj in self._notes.came.items()
                if key in before or not isinstance(obj, Node)
            }

    def why_not(self) -> str:
        """Why it cannot be asked; empty when it can."""
        try:
            return "" if self.question() != WhatIfRequest() else "nothing but time helps"
        except NoQuestionError as error:
            return str(error)

    def question(self, *, about: str = "") -> WhatIfRequest:
        """`about`: a group whose job is applied again as it is, so that the answer tells of it."""
        came = list(self._notes.came.values())
        jobs = {_group(obj): None for obj in came if isinstance(obj, (Pod, PodGroup))}
        jobs |= {about: None} if about else {}
        facts = [obj for obj in came if not isinstance(obj, (Pod, PodGroup))]
        return WhatIfRequest(
            documents=[*map(_document, facts), *(_job(self._notes, key) for key in jobs)],
            add_nodes=self._like,
            drop_jobs=list({_group(pod): None for pod in self._notes.went}),
        )


def _group(obj: Pod | PodGroup) -> str:
    if isinstance(obj, PodGroup):
        return obj.key
    if not job_of(obj):
        raise NoQuestionError(f"pod {obj.metadata.name} belongs to no job")
    return f"{obj.metadata.namespace}/{job_of(obj)}"


def _document(obj: ApiObject) -> JsonObject:
    kind = _KIND_OF[type(obj)]
    document: JsonObject = msgspec.to_builtins(obj)
    return {**document, "apiVersion": kind.api_version, "kind": kind.kind}


# -- nodes -------------------------------------------------------------------------------------------


def _like(objects: list[ApiObject], proposed: Unblock | None) -> AddNodes | None:
    """Copies of a node that are the room, where it does not matter which labels they have."""
    assert proposed is not None
    parts = [part for part in (proposed, *proposed.also) if part.action in ROOM]
    if not parts or any(part.where is not None or not part.pods for part in parts):
        return None
    for node in sorted((o for o in objects if isinstance(o, Node)), key=lambda n: n.key):
        has = parse_resources(node.status.allocatable)
        fits = [all(has.get(n, 0) >= a for n, a in part.amounts.items()) for part in parts]
        if all(fits) and node.ready and not node.spec.taints:
            return AddNodes(count=sum(part.pods for part in parts), like=node.key)
    return None


# -- jobs --------------------------------------------------------------------------------------------


def _job(notes: Notes, key: str) -> JsonObject:
    """The job that such a group and such pods come from."""
    group = next(o for o in notes.objects() if isinstance(o, PodGroup) and o.key == key)
    tasks: dict[str, list[Pod]] = {}
    for obj in notes.objects():
        if isinstance(obj, Pod) and job_of(obj) and _group(obj) == key:
            tasks.setdefault(obj.metadata.labels.get(TASK, ""), []).append(obj)
    least = group.spec.min_task_member
    spec: JsonObject = {
        "queue": group.spec.queue,
        "minAvailable": group.spec.min_member,
        "priorityClassName": group.spec.priority_class_name,
        "schedulerName": "volcano",
        "tasks": [
            {
                "name": name or "w",
                "replicas": len(pods),
                "template": _template(min(pods, key=lambda p: len(p.spec.scheduling_gates))),
                **({"minAvailable": least[name]} if name in least else {}),
            }
            for name, pods in tasks.items()
        ],
    }
    metadata = {"name": group.metadata.name, "namespace": group.metadata.namespace}
    kind = {"apiVersion": kinds.JOBS.api_version, "kind": kinds.JOBS.kind}
    return {**kind, "metadata": metadata, "spec": spec}


def _template(pod: Pod) -> JsonObject:
    spec: JsonObject = msgspec.to_builtins(pod.spec)
    for field in ("nodeName", "priority"):
        spec.pop(field, None)
    for number, container in enumerate(spec["containers"]):
        container |= {"name": f"c{number}", "image": container.get("image") or "i"}
    annotations = {k: v for k, v in pod.metadata.annotations.items() if k != GROUP}
    labels = {k: v for k, v in pod.metadata.labels.items() if k != TASK}
    return {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec}
