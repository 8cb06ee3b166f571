"""Account of one pod: the resources that it held, and for how long. The ledger sums accounts.

An account is derived from the pod itself (the time of its binding, the times at which its
containers ended), so every observer derives the same one, in any order and any number of
times. Two accounts of one pod are joined (`join`). Only if a pod has no end, because it was
deleted while it ran, the time at which it was missed is used, or without an observer the last
time at which it was known to exist.
"""

import enum
from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from vc.messages.partition import vcjob_owner
from vc.model.api import keys
from vc.model.api.meta import controller_of
from vc.model.api.pod import Pod
from vc.model.pod_requests import pod_requests
from vc.model.values.times import parse_time

_ENDED: Final = frozenset({"Succeeded", "Failed"})
_PLAIN: Final = frozenset({"cpu", "memory"})
"""Charged resources without a vendor's name."""

Requests = tuple[tuple[str, int], ...]


class EndSource(enum.IntEnum):
    """How the end of an account is known. The larger value wins; values are stored."""

    OPEN = 0
    LAST_SEEN = 1
    """The pod went unobserved: the last time at which it was known to exist."""
    MISSED = 2
    """The end was not recorded, but the disappearance of the pod was observed."""
    REPORTED = 3
    """From the status of the pod."""


class PodAccount(msgspec.Struct, frozen=True, kw_only=True):
    """The resources of a pod on its node, to the second."""

    uid: str
    queue: str
    """The queue of its PodGroup, or empty while it is unknown."""
    namespace: str
    job: str
    requests: Requests
    """Resource and units, in the order of names: CPU, memory and all
    resources with a vendor's name."""
    start: int
    end: int | None = None
    end_source: EndSource = EndSource.OPEN
    ends_by: int | None = None
    """When it must have ended, after its deletion was requested."""
    deletion_requested_at: int | None = None
    """When its deletion was requested. The pod still existed at that time."""
    group: str = ""
    """Name of its PodGroup."""


def account_of(pod: Pod, *, scheduler_names: Collection[str], now: float) -> PodAccount | None:
    """The account of a bound pod, or None for pods that are unbound or not ours."""
    group = group_name(pod)
    start = _start(pod)
    # A pod that names a PodGroup belongs to a queue, whichever scheduler placed it.
    if start is None or not (group or pod.spec.scheduler_name in scheduler_names):
        return None
    end = _end(pod, start=start, now=now)
    requests = pod_requests(pod.spec)
    return PodAccount(
        uid=pod.metadata.uid,
        queue="",
        namespace=pod.metadata.namespace,
        job=job_of(pod),
        requests=tuple((name, requests[name]) for name in sorted(requests) if is_charged(name)),
        start=start,
        end=end[0] if end else None,
        end_source=end[1] if end else EndSource.OPEN,
        ends_by=_seconds(pod.metadata.deletion_timestamp),
        deletion_requested_at=_deletion_requested_at(pod),
        group=group,
    )


def is_charged(resource: str) -> bool:
    """Whether a resource is charged: CPU, memory and devices, but not pods, disks or huge pages."""
    return resource in _PLAIN or "/" in resource


def group_name(pod: Pod) -> str:
    """The PodGroup that the pod names, or empty."""
    annotations = pod.metadata.annotations
    return annotations.get(keys.GROUP_NAME) or annotations.get(keys.GROUP_NAME_ALTERNATIVE) or ""


def missed(account: PodAccount, at: float) -> PodAccount:
    """The account of a pod that has just disappeared. An end from its status is kept."""
    # The grace period is an upper limit of the end.
    end = int(at) if account.ends_by is None else min(int(at), account.ends_by)
    return _ended(account, end, EndSource.MISSED)


def last_seen(account: PodAccount, at: float) -> PodAccount:
    """The account of a pod that disappeared unobserved and existed at the given time."""
    return _ended(account, max(int(at), account.deletion_requested_at or 0), EndSource.LAST_SEEN)


def _ended(account: PodAccount, end: int, source: EndSource) -> PodAccount:
    end = max(end, account.start)
    return join(account, msgspec.structs.replace(account, end=end, end_source=source))


def reopened(account: PodAccount) -> PodAccount:
    """The account of a pod that was considered gone and still exists."""
    return msgspec.structs.replace(account, end=None, end_source=EndSource.OPEN)


def join(one: PodAccount, other: PodAccount) -> PodAccount:
    """Join two accounts of a pod. The result does not depend on order or repetition."""
    end, end_source = _better_end(one, other)
    return PodAccount(
        uid=one.uid,
        queue=_either(one.queue, other.queue),
        namespace=one.namespace,
        job=one.job,
        # Requests change only by a resize. A fixed choice keeps the join commutative.
        requests=max(one.requests, other.requests),
        # The later start wins: the binding time replaces the creation time that stood in for it.
        start=max(one.start, other.start),
        end=end,
        end_source=end_source,
        ends_by=_earliest(one.ends_by, other.ends_by),
        deletion_requested_at=_earliest(one.deletion_requested_at, other.deletion_requested_at),
        group=_either(one.group, other.group),
    )


def _better_end(one: PodAccount, other: PodAccount) -> tuple[int | None, EndSource]:
    """The better end of two.

    A missed pod was gone by its end, so the earlier time counts. A last observation shows that
    the pod still existed, so the later time counts.
    """
    if one.end_source != other.end_source:
        better = max(one, other, key=lambda account: account.end_source)
        return better.end, better.end_source
    if one.end is None or other.end is None:
        return None, one.end_source
    choose = min if one.end_source is EndSource.MISSED else max
    return choose(one.end, other.end), one.end_source


def _earliest(one: int | None, other: int | None) -> int | None:
    return min((time for time in (one, other) if time is not None), default=None)


def _either(one: str, other: str) -> str:
    return min(one, other) if one and other else one or other


def _start(pod: Pod) -> int | None:
    """When the pod was bound. Without the condition, when its node started it."""
    if not pod.spec.node_name:
        return None
    bound = (
        condition.last_transition_time
        for condition in pod.status.conditions
        if condition.type == "PodScheduled" and condition.status == "True"
    )
    # Without the condition, the next best known time counts.
    return _seconds(next(bound, None) or pod.status.start_time or pod.metadata.creation_timestamp)


def _end(pod: Pod, *, start: int, now: float) -> tuple[int, EndSource] | None:
    if pod.status.phase not in _ENDED:
        return None
    times = list(_finish_times(pod)) or [
        _seconds(condition.last_transition_time) for condition in pod.status.conditions
    ]
    # A time before the binding cannot be the end.
    reported = [time for time in times if time is not None and time >= start]
    if reported:
        return max(reported), EndSource.REPORTED
    # The pod has ended and does not say when: the time of this observation is an upper bound.
    return max(int(now), start), EndSource.MISSED


def _deletion_requested_at(pod: Pod) -> int | None:
    by = _seconds(pod.metadata.deletion_timestamp)
    return None if by is None else by - (pod.metadata.deletion_grace_period_seconds or 0)


def _finish_times(pod: Pod) -> Iterable[int | None]:
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        if status.state is not None and status.state.terminated is not None:
            yield _seconds(status.state.terminated.finished_at)


def _seconds(text: str | None) -> int | None:
    """A time of the API in whole seconds, which is its precision."""
    try:
        time = parse_time(text)
    except ValueError:
        return None
    return None if time is None else int(time)


def job_of(pod: Pod) -> str:
    """The controller of the pod, or else the pod. Labels are not used,
    because any creator can choose them."""
    owner = controller_of(pod.metadata)
    return owner.name if owner else pod.metadata.name


class QueueHints(msgspec.Struct, frozen=True):
    """What is needed to find the queue of a pod, and to check its labels."""

    job_uid: str
    """uid of the vcjob that controls it, or empty."""
    labelled: frozenset[str]
    """Queues that its labels and annotations name. They are only compared."""


def queue_hints(pod: Pod) -> QueueHints:
    """The vcjob that controls a pod, and the queues that its labels name."""
    owner = vcjob_owner(pod)
    return QueueHints(owner.uid if owner else "", _labelled(pod, keys.QUEUE_NAME))


def job_label_differs(pod: Pod) -> bool:
    """Whether a label or annotation names another job than the pod's controller."""
    return not _labelled(pod, keys.JOB_NAME) <= {job_of(pod)}


def _labelled(pod: Pod, key: str) -> frozenset[str]:
    texts = (pod.metadata.labels.get(key), pod.metadata.annotations.get(key))
    return frozenset(text for text in texts if text)
