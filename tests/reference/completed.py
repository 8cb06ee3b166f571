"""Members of a gang that have succeeded and whose pods are gone, by plain loops.

The annotation `volcano.sh/completed-members` of a pod group names them by task and index. Each counts like a
pod that has succeeded, unless a pod of its place is there that waits, is placed or has succeeded.
"""

import json
from collections.abc import Iterable

from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup

NOTE = "volcano.sh/completed-members"
GROUP = "scheduling.k8s.io/group-name"
ROLE = "volcano.sh/task-spec"


def done_and_gone(group: PodGroup, pods: Iterable[Pod]) -> list[str]:
    """The task of each such member. Only notes of the right form."""
    note = group.metadata.annotations.get(NOTE, "")
    if not note.startswith("{"):
        return []
    present = [_place(pod) for pod in pods if _is_of(pod, group) and _counts(pod)]
    places = [(role, index) for role, text in json.loads(note).items() for index in _indices(text)]
    return [place[0] for place in places if place not in present]


def _indices(text: object) -> set[int]:
    found: set[int] = set()
    for run in text.split(",") if isinstance(text, str) else ():
        ends = run.split("-")
        if all(end.isdecimal() and len(end) < 7 for end in ends):
            found |= set(range(int(ends[0]), int(ends[-1]) + 1))
    return found


def _is_of(pod: Pod, group: PodGroup) -> bool:
    name = pod.metadata.annotations.get(GROUP)
    return pod.metadata.namespace == group.metadata.namespace and name == group.metadata.name


def _place(pod: Pod) -> tuple[str, int]:
    return pod.metadata.labels.get(ROLE, ""), int(pod.metadata.name.rsplit("-", 1)[1])


def _counts(pod: Pod) -> bool:
    if pod.status.phase == "Succeeded":
        return True
    return pod.status.phase in ("Pending", "Running") and not pod.metadata.deletion_timestamp
