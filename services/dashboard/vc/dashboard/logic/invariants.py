"""Invariants of the system, checked on the view, with numbers.

A view shows one moment: a gang whose binds are in progress looks partial, and a pod whose job
was just deleted looks like an orphan. So each finding has a duration. It is a violation at
once where no transient state explains it (a full node, a full queue, an epoch that went back),
and after a fixed time otherwise.

The status of a queue follows its pods with a delay of about a second, so it is rarely exact while
pods change. It is wrong if it is not updated: only an unchanged status is the same finding.

Services, Secrets and ConfigMaps of jobs are not published on the bus,
so they cannot be checked here.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Final

import msgspec

from vc.dashboard.logic.amounts import Resources, pod_amounts, read, shown
from vc.dashboard.logic.answers.shapes import Invariant, Invariants, Violation
from vc.dashboard.logic.cluster_index import ClusterIndex, is_placed
from vc.dashboard.logic.queues import used_with_below
from vc.model.api import kinds
from vc.model.api.keys import DEFAULT_QUEUE, ROOT_QUEUE, SCHEDULER_NAME
from vc.model.api.meta import ApiObject, controller_of
from vc.model.api.pod import Pod
from vc.model.api.scheduling import Queue
from vc.model.values.human_amounts import human_amount

TRANSIENT_SECONDS_MAX: Final = 30.0
"""How long a gang may look partial, a pod orphaned, or the status of a queue late.

A scheduler that restarts needs ten of these seconds.
"""

VIOLATIONS_SHOWN_MAX: Final = 100

NODES_FIT: Final = "node used ≤ allocatable"
QUEUES_FIT: Final = "queue used ≤ capability"
GANGS_WHOLE: Final = "no partial gangs"
QUEUES_ALLOCATED: Final = "Σ queue allocated = Σ pods"
NO_ORPHANS: Final = "no orphan pods and pod groups"
QUEUES_EXIST: Final = "every pod's queue exists"
EPOCHS_GROW: Final = "epochs never go back"

_EXCUSED: Final = frozenset({GANGS_WHOLE, QUEUES_ALLOCATED, NO_ORPHANS, QUEUES_EXIST})
"""Invariants that may look violated for a moment."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """An invariant that looks violated now."""

    invariant: str
    object: str
    message: str
    numbers: dict[str, int | str]
    state: str = ""
    """A part of the identity: the finding is the same only while this value does not change."""

    @property
    def key(self) -> str:
        return f"{self.invariant}/{self.object}/{self.state}"


Seen = Mapping[str, float]
"""When each finding was first observed, by its key, in monotonic seconds."""


def find(
    cluster_index: ClusterIndex,
    scheduler_names: Collection[str] = (SCHEDULER_NAME,),
    *,
    went_back: Collection[str] = (),
) -> list[Finding]:
    """All findings. Pods that name one of the schedulers are placed by ours.

    `went_back` are the sentences of an `EpochMemory`.
    """
    return [
        *_full_nodes(cluster_index),
        *_full_queues(cluster_index),
        *_partial_gangs(cluster_index, scheduler_names),
        *_wrong_queues(cluster_index),
        *_orphans(cluster_index),
        *_queueless(cluster_index),
        *(_epoch_finding(sentence) for sentence in went_back),
    ]


def remember(seen: Seen, findings: list[Finding], *, now: float) -> dict[str, float]:
    """First observations of the findings that still exist."""
    # A finding that is gone is dropped: if it returns, its duration begins again.
    return {finding.key: seen.get(finding.key, now) for finding in findings}


def report(
    cluster_index: ClusterIndex,
    findings: list[Finding],
    seen: Seen,
    *,
    now: float,
    stale: str,
    epochs_checked: int = 0,
) -> Invariants:
    """The state of each invariant and its violations."""
    looked_at = {
        NODES_FIT: len(cluster_index.nodes),
        QUEUES_FIT: len(cluster_index.queues),
        GANGS_WHOLE: len(cluster_index.groups),
        QUEUES_ALLOCATED: len(cluster_index.queues),
        NO_ORPHANS: len(cluster_index.pods) + len(cluster_index.groups),
        QUEUES_EXIST: len(cluster_index.groups),
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


def _full_nodes(cluster_index: ClusterIndex) -> Iterator[Finding]:
    used: dict[str, Resources] = {}
    # All placed pods count, whichever scheduler bound them.
    for pod in cluster_index.pods.values():
        if is_placed(pod):
            used.setdefault(pod.spec.node_name, Resources()).add(pod_amounts(pod.spec))
    for name, node in cluster_index.nodes.items():
        yield from _over(
            NODES_FIT, f"Node {name}", used.get(name, Resources()), read(node.status.allocatable), limit="allocatable",
            strict=True,
        )  # fmt: skip


def _full_queues(cluster_index: ClusterIndex) -> Iterator[Finding]:
    used = used_with_below(cluster_index)
    for name, queue in cluster_index.queues.items():
        yield from _over(
            QUEUES_FIT, f"Queue {name}", used[name], read(queue.spec.capability), limit="capability",
            strict=False,
        )  # fmt: skip


def _over(
    invariant: str, name: str, used: Resources, has: Resources, *, limit: str, strict: bool
) -> Iterator[Finding]:
    """One finding for all resources of an object. With `strict`, a missing limit is zero."""
    numbers: dict[str, int | str] = {}
    parts: list[str] = []
    for resource in sorted(used):
        # A queue without a capability of a resource has no limit for it.
        if resource not in has and not strict:
            continue
        if used[resource] > has.get(resource, 0):
            allocatable = has.get(resource, 0)
            quantities = shown({resource: used[resource]}), shown({resource: allocatable})
            numbers |= {
                f"{resource}.used": str(quantities[0][resource]),
                f"{resource}.{limit}": str(quantities[1][resource]),
            }
            taken = human_amount(resource, used[resource], up=True)
            parts.append(f"{resource} used {taken}, {limit} {human_amount(resource, allocatable)}")
    if parts:
        yield Finding(invariant=invariant, object=name, message="; ".join(parts), numbers=numbers)


def _partial_gangs(
    cluster_index: ClusterIndex, scheduler_names: Collection[str]
) -> Iterator[Finding]:
    """Gangs with placed pods that are fewer than the minimum. Pods that have ended count.

    Pods of other schedulers are left out, because these may place pods one by one.
    """
    for key, group in cluster_index.groups.items():
        pods = cluster_index.members.get(key, [])
        if not any(pod.spec.scheduler_name in scheduler_names for pod in pods):
            continue
        placed = sum(is_placed(pod) for pod in pods)
        # Pods that ran to their end were placed with the gang, so they count.
        ran = sum(bool(pod.spec.node_name) for pod in pods)
        # A gang without any pod on a node now waits or has ended; neither is partial.
        if placed and ran < group.spec.min_member and not group.metadata.deletion_timestamp:
            yield Finding(
                invariant=GANGS_WHOLE,
                object=f"PodGroup {key}",
                message=f"{ran} of {group.spec.min_member} pods have a node",
                numbers={"placed": ran, "minMember": group.spec.min_member},
            )


def _wrong_queues(cluster_index: ClusterIndex) -> Iterator[Finding]:
    """Queues whose status differs from the requests of their pods."""
    allocated = _allocated(cluster_index)
    for name, queue in cluster_index.queues.items():
        # Zero and absent amounts mean the same.
        in_status = {
            resource: units for resource, units in read(queue.status.allocated).items() if units
        }
        has = allocated[name]
        numbers: dict[str, int | str] = {}
        parts: list[str] = []
        for resource in sorted(in_status.keys() | has.keys()):
            says, holds = in_status.get(resource, 0), has.get(resource, 0)
            if says != holds:
                status_text = str(shown({resource: says})[resource])
                held_text = str(shown({resource: holds})[resource])
                numbers |= {f"{resource}.allocated": status_text, f"{resource}.pods": held_text}
                parts.append(
                    f"{resource} allocated {human_amount(resource, says)}, "
                    f"its pods {human_amount(resource, holds)}"
                )
        if parts:
            yield Finding(
                invariant=QUEUES_ALLOCATED,
                object=f"Queue {name}",
                message="; ".join(parts),
                numbers=numbers,
                # The status as identity: one that is written again was not
                # stuck, even if it is still late.
                state=str(sorted(in_status.items())),
            )


def _allocated(cluster_index: ClusterIndex) -> dict[str, Resources]:
    """Allocated resources of each queue with its children, as the scheduler
    counts: without terminating pods."""
    total: dict[str, Resources] = {name: Resources() for name in cluster_index.queues}
    for key, group in cluster_index.groups.items():
        own = Resources()
        for pod in cluster_index.members.get(key, ()):
            if _counts(pod):
                own.add(pod_amounts(pod.spec))
        own.drop_zeros()
        for name in _ancestors(cluster_index.queues, group.spec.queue or DEFAULT_QUEUE):
            total[name].add(own)
    return total


def _counts(pod: Pod) -> bool:
    return is_placed(pod) and pod.status.phase != "Unknown" and not pod.metadata.deletion_timestamp


def _ancestors(queues: Mapping[str, Queue], name: str) -> list[str]:
    """The queue and its ancestors, as far as they exist. Each appears once, even in a cycle.

    `root` counts the pods of a queue that does not exist.
    """
    ancestors: list[str] = []
    # The scheduler charges pods of a missing queue to root.
    name = name if name in queues else ROOT_QUEUE
    while name in queues and name not in ancestors:
        ancestors.append(name)
        name = queues[name].spec.parent
    return ancestors


def _orphans(cluster_index: ClusterIndex) -> Iterator[Finding]:
    """Pods and PodGroups of a vcjob that is gone, or of another vcjob of the same name."""
    # By uid, because a new job may have the name of the one that is gone.
    uids = {job.metadata.uid for job in cluster_index.jobs.values()}
    for key, pod in cluster_index.pods.items():
        yield from _orphan(f"Pod {key}", pod, uids)
    for key, group in cluster_index.groups.items():
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


def _queueless(cluster_index: ClusterIndex) -> Iterator[Finding]:
    """Queues that do not exist and have pods on nodes: one finding per queue."""
    used: dict[str, Resources] = {}
    pods: Counter[str] = Counter()
    for key, group in cluster_index.groups.items():
        queue = group.spec.queue or DEFAULT_QUEUE
        placed = [pod for pod in cluster_index.members.get(key, ()) if is_placed(pod)]
        if placed and queue not in cluster_index.queues:
            pods[queue] += len(placed)
            for pod in placed:
                used.setdefault(queue, Resources()).add(pod_amounts(pod.spec))
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
