"""What must never be, looked for in the view, with the numbers.

A view shows a moment: a gang whose binds are under way looks partial, and a pod whose job was just
deleted looks like an orphan. So each finding says for how long it has been seen, and counts as a
violation at once where no moment excuses it (a full node, a full queue, an epoch that went back), and
after a named time where one does.

What a queue's status tells follows its pods by a second, so while much happens it is hardly ever right.
It is wrong when it is not written anew: only a status that stands still is the same finding.

Services, secrets and config maps of jobs do not travel on the bus, so nobody can look for them here.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Final

import msgspec

from vc_dashboard.logic.amounts import Amounts, add, pod_amounts, read, shown
from vc_dashboard.logic.answers import Invariant, Invariants, Violation
from vc_dashboard.logic.picture import Picture, is_placed
from vc_dashboard.logic.queues import used_with_below
from vc_model import kinds
from vc_model.human_amounts import human_amount
from vc_model.keys import DEFAULT_QUEUE, ROOT_QUEUE, SCHEDULER_NAME
from vc_model.meta import ApiObject, controller_of
from vc_model.pod import Pod
from vc_model.scheduling import Queue

TRANSIENT_SECONDS_MAX: Final = 30.0
"""How long a gang may look partial, a pod orphaned, or a queue's status stay behind its pods. A scheduler
that dies and comes again takes ten of them."""

VIOLATIONS_SHOWN_MAX: Final = 100

NODES_FIT: Final = "node used ≤ allocatable"
QUEUES_FIT: Final = "queue used ≤ capability"
GANGS_WHOLE: Final = "no partial gangs"
QUEUES_TOLD: Final = "Σ queue allocated = Σ pods"
NO_ORPHANS: Final = "no orphan pods and pod groups"
QUEUES_EXIST: Final = "every pod's queue exists"
EPOCHS_GROW: Final = "epochs never go back"

_EXCUSED: Final = frozenset({GANGS_WHOLE, QUEUES_TOLD, NO_ORPHANS, QUEUES_EXIST})
"""What may look wrong for a moment."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that looks wrong now."""

    invariant: str
    object: str
    message: str
    numbers: dict[str, int | str]
    state: str = ""
    """What must stand still for it to be the same finding when it is seen again."""

    @property
    def key(self) -> str:
        return f"{self.invariant}/{self.object}/{self.state}"


Seen = Mapping[str, float]
"""When each finding was first seen, by its key; monotonic seconds."""


def find(
    picture: Picture,
    scheduler_names: Collection[str] = (SCHEDULER_NAME,),
    *,
    went_back: Collection[str] = (),
) -> list[Finding]:
    """Everything that looks wrong; pods that name one of the schedulers are placed by ours.

    `went_back` are the sentences of an `EpochMemory`.
    """
    return [
        *_full_nodes(picture),
        *_full_queues(picture),
        *_partial_gangs(picture, scheduler_names),
        *_wrong_queues(picture),
        *_orphans(picture),
        *_queueless(picture),
        *(_epoch_finding(sentence) for sentence in went_back),
    ]


def remember(seen: Seen, findings: list[Finding], *, now: float) -> dict[str, float]:
    """First sightings of what is still there."""
    return {finding.key: seen.get(finding.key, now) for finding in findings}


def report(
    picture: Picture,
    findings: list[Finding],
    seen: Seen,
    *,
    now: float,
    stale: str,
    epochs_checked: int = 0,
) -> Invariants:
    """Each promise, whether it holds, and what breaks it."""
    looked_at = {
        NODES_FIT: len(picture.nodes),
        QUEUES_FIT: len(picture.queues),
        GANGS_WHOLE: len(picture.groups),
        QUEUES_TOLD: len(picture.queues),
        NO_ORPHANS: len(picture.pods) + len(picture.groups),
        QUEUES_EXIST: len(picture.groups),
        EPOCHS_GROW: epochs_checked,
    }
    invariants = [
        _invariant(name, findings, checked=checked, seen=seen, now=now)
        for name, checked in looked_at.items()
    ]
    return Invariants(
        holds=all(invariant.holds for invariant in invariants), invariants=invariants, stale=stale
    )


def _invariant(
    name: str, findings: list[Finding], *, checked: int, seen: Seen, now: float
) -> Invariant:
    patience = TRANSIENT_SECONDS_MAX if name in _EXCUSED else 0.0
    violations = [
        Violation(
            object=finding.object,
            message=finding.message,
            numbers=finding.numbers,
            seconds=round(now - seen.get(finding.key, now), 3),
        )
        for finding in findings
        if finding.invariant == name and now - seen.get(finding.key, now) >= patience
    ]
    return Invariant(
        name=name,
        holds=not violations,
        checked=checked,
        violations=violations[:VIOLATIONS_SHOWN_MAX],
        violations_total=len(violations),
    )


def _full_nodes(picture: Picture) -> Iterator[Finding]:
    used: dict[str, Amounts] = {}
    for pod in picture.pods.values():
        if is_placed(pod):
            add(used.setdefault(pod.spec.node_name, {}), pod_amounts(pod.spec))
    for name, node in picture.nodes.items():
        yield from _over(
            NODES_FIT, f"Node {name}", used.get(name, {}), read(node.status.allocatable), limit="allocatable",
            strict=True,
        )  # fmt: skip


def _full_queues(picture: Picture) -> Iterator[Finding]:
    used = used_with_below(picture)
    for name, queue in picture.queues.items():
        yield from _over(
            QUEUES_FIT, f"Queue {name}", used[name], read(queue.spec.capability), limit="capability",
            strict=False,
        )  # fmt: skip


def _over(
    invariant: str, name: str, used: Amounts, has: Amounts, *, limit: str, strict: bool
) -> Iterator[Finding]:
    """One finding for all resources of an object; `strict`: what is not named is not there."""
    numbers: dict[str, int | str] = {}
    parts: list[str] = []
    for resource in sorted(used):
        if resource not in has and not strict:
            continue
        if used[resource] > has.get(resource, 0):
            room = has.get(resource, 0)
            quantities = shown({resource: used[resource]}), shown({resource: room})
            numbers |= {
                f"{resource}.used": str(quantities[0][resource]),
                f"{resource}.{limit}": str(quantities[1][resource]),
            }
            taken = human_amount(resource, used[resource], up=True)
            parts.append(f"{resource} used {taken}, {limit} {human_amount(resource, room)}")
    if parts:
        yield Finding(invariant=invariant, object=name, message="; ".join(parts), numbers=numbers)


def _partial_gangs(picture: Picture, scheduler_names: Collection[str]) -> Iterator[Finding]:
    """Some pods hold nodes, but fewer than the gang needs; those that ran to their end count.

    Another scheduler may place the pods of its groups one by one: it made no such promise.
    """
    for key, group in picture.groups.items():
        pods = picture.members.get(key, [])
        if not any(pod.spec.scheduler_name in scheduler_names for pod in pods):
            continue
        placed = sum(is_placed(pod) for pod in pods)
        ran = sum(bool(pod.spec.node_name) for pod in pods)
        if placed and ran < group.spec.min_member and not group.metadata.deletion_timestamp:
            yield Finding(
                invariant=GANGS_WHOLE,
                object=f"PodGroup {key}",
                message=f"{ran} of {group.spec.min_member} pods have a node",
                numbers={"placed": ran, "minMember": group.spec.min_member},
            )


def _wrong_queues(picture: Picture) -> Iterator[Finding]:
    """Queues whose status does not tell what their pods ask for."""
    allocated = _allocated(picture)
    for name, queue in picture.queues.items():
        told = {
            resource: units for resource, units in read(queue.status.allocated).items() if units
        }
        has = allocated[name]
        numbers: dict[str, int | str] = {}
        parts: list[str] = []
        for resource in sorted(told.keys() | has.keys()):
            says, holds = told.get(resource, 0), has.get(resource, 0)
            if says != holds:
                told_text = str(shown({resource: says})[resource])
                held_text = str(shown({resource: holds})[resource])
                numbers |= {f"{resource}.allocated": told_text, f"{resource}.pods": held_text}
                parts.append(
                    f"{resource} allocated {human_amount(resource, says)}, "
                    f"its pods {human_amount(resource, holds)}"
                )
        if parts:
            yield Finding(
                invariant=QUEUES_TOLD,
                object=f"Queue {name}",
                message="; ".join(parts),
                numbers=numbers,
                state=str(sorted(told.items())),
            )


def _allocated(picture: Picture) -> dict[str, Amounts]:
    """What the scheduler counts as a queue's, with those below it: pods that leave do not belong to it."""
    total: dict[str, Amounts] = {name: {} for name in picture.queues}
    for key, group in picture.groups.items():
        own: Amounts = {}
        for pod in picture.members.get(key, ()):
            if _counts(pod):
                add(own, {name: units for name, units in pod_amounts(pod.spec).items() if units})
        for name in _line(picture.queues, group.spec.queue or DEFAULT_QUEUE):
            add(total[name], own)
    return total


def _counts(pod: Pod) -> bool:
    return is_placed(pod) and pod.status.phase != "Unknown" and not pod.metadata.deletion_timestamp


def _line(queues: Mapping[str, Queue], name: str) -> list[str]:
    """The queue and those above it, as far as they exist; each once, should they stand in a ring.

    `root` has what names a queue that does not exist.
    """
    line: list[str] = []
    name = name if name in queues else ROOT_QUEUE
    while name in queues and name not in line:
        line.append(name)
        name = queues[name].spec.parent
    return line


def _orphans(picture: Picture) -> Iterator[Finding]:
    """Pods and pod groups of a vcjob that is gone, or of another vcjob of the same name."""
    uids = {job.metadata.uid for job in picture.jobs.values()}
    for key, pod in picture.pods.items():
        yield from _orphan(f"Pod {key}", pod, uids)
    for key, group in picture.groups.items():
        yield from _orphan(f"PodGroup {key}", group, uids)


def _orphan(name: str, owned: ApiObject, uids: Collection[str]) -> Iterator[Finding]:
    owner = controller_of(owned.metadata)
    if owner is not None and kinds.JOBS.is_kind_of(owner) and owner.uid not in uids:
        yield Finding(
            invariant=NO_ORPHANS,
            object=name,
            message=f"its job {owner.name} of uid {owner.uid} is gone",
            numbers={},
        )


def _queueless(picture: Picture) -> Iterator[Finding]:
    """Queues that do not exist, and what pods on nodes have in them: one finding per queue."""
    used: dict[str, Amounts] = {}
    pods: Counter[str] = Counter()
    for key, group in picture.groups.items():
        queue = group.spec.queue or DEFAULT_QUEUE
        placed = [pod for pod in picture.members.get(key, ()) if is_placed(pod)]
        if placed and queue not in picture.queues:
            pods[queue] += len(placed)
            for pod in placed:
                add(used.setdefault(queue, {}), pod_amounts(pod.spec))
    for queue in sorted(pods):
        has = {name: units for name, units in used[queue].items() if units}
        listed = ", ".join(f"{name} {amount}" for name, amount in sorted(shown(has).items()))
        yield Finding(
            invariant=QUEUES_EXIST,
            object=f"Queue {queue}",
            message=f"does not exist, but {pods[queue]} pods on nodes belong to it ({listed}); "
            "create the queue again or delete their jobs",
            numbers={f"{name}.pods": units for name, units in sorted(has.items())},
        )


def _epoch_finding(sentence: str) -> Finding:
    return Finding(
        invariant=EPOCHS_GROW, object=sentence.partition(":")[0], message=sentence, numbers={},
        state=sentence,
    )  # fmt: skip
