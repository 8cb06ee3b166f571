"""What one pod held, from when to when: the entries that the ledger adds up.

An account is derived from a pod's own words (the time of its binding, the times at which its
containers ended), so everybody who sees the pod derives the same one, however often and in whatever
order. Two accounts of one pod are joined into the better of both (`join`). Only where the pod itself
says nothing of its end, because it was deleted while it ran, the moment at which it was missed stands
in for that; and if nobody looked then, the moment at which it was last known to be there.
"""

import enum
from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from vc_messages.partition import vcjob_owner
from vc_model import keys
from vc_model.meta import controller_of
from vc_model.pod import Pod
from vc_model.pod_requests import pod_requests
from vc_model.times import parse_time

_ENDED: Final = frozenset({"Succeeded", "Failed"})
_PLAIN: Final = frozenset({"cpu", "memory"})

Asked = tuple[tuple[str, int], ...]


class EndKnown(enum.IntEnum):
    """How well an end is known; the better wins."""

    OPEN = 0
    LAST_SEEN = 1
    """It went while nobody looked: the last moment at which it was known to be there."""
    MISSED = 2
    """Nobody wrote it down, but somebody looked when it went."""
    SAID = 3
    """By the pod's status."""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """A pod's claim on its node, to the second."""

    uid: str
    queue: str
    """Of its pod group; empty while that is not known."""
    namespace: str
    job: str
    asked: Asked
    """Resource and units, in the order of names: CPU, memory and everything with a vendor's name."""
    start: int
    end: int | None = None
    known: EndKnown = EndKnown.OPEN
    ends_by: int | None = None
    """When it must have ended, once its deletion was asked for."""
    asked_to_end: int | None = None
    """When that was: it was there at that moment."""
    group: str = ""
    """Name of its pod group."""


def account_of(pod: Pod, *, scheduler_names: Collection[str], now: float) -> Account | None:
    """The account of a pod that was placed; None for others and for those that are not ours."""
    group = group_name(pod)
    start = _start(pod)
    if start is None or not (group or pod.spec.scheduler_name in scheduler_names):
        return None
    end = _end(pod, start=start, now=now)
    asked = pod_requests(pod.spec)
    return Account(
        uid=pod.metadata.uid,
        queue="",
        namespace=pod.metadata.namespace,
        job=job_of(pod),
        asked=tuple((name, asked[name]) for name in sorted(asked) if is_charged(name)),
        start=start,
        end=end[0] if end else None,
        known=end[1] if end else EndKnown.OPEN,
        ends_by=_whole(pod.metadata.deletion_timestamp),
        asked_to_end=_asked_to_end(pod),
        group=group,
    )


def is_charged(resource: str) -> bool:
    """CPU, memory and devices; not places, disks or huge pages, which nobody is billed for."""
    return resource in _PLAIN or "/" in resource


def group_name(pod: Pod) -> str:
    """The pod group it names; empty when it names none."""
    said = pod.metadata.annotations
    return said.get(keys.GROUP_NAME) or said.get(keys.GROUP_NAME_ALTERNATIVE) or ""


def missed(account: Account, at: float) -> Account:
    """It went just now; what its status said stays."""
    end = int(at) if account.ends_by is None else min(int(at), account.ends_by)
    return _ended(account, end, EndKnown.MISSED)


def last_seen(account: Account, at: float) -> Account:
    """It went while nobody looked, and was there at that moment."""
    return _ended(account, max(int(at), account.asked_to_end or 0), EndKnown.LAST_SEEN)


def _ended(account: Account, end: int, known: EndKnown) -> Account:
    return join(account, msgspec.structs.replace(account, end=max(end, account.start), known=known))


def reopened(account: Account) -> Account:
    """It was taken for gone, and is there."""
    return msgspec.structs.replace(account, end=None, known=EndKnown.OPEN)


def join(one: Account, other: Account) -> Account:
    """The better of two accounts of a pod: the same in any order and any number of times."""
    end, known = _better_end(one, other)
    return Account(
        uid=one.uid,
        queue=_either(one.queue, other.queue),
        namespace=one.namespace,
        job=one.job,
        asked=max(one.asked, other.asked),
        start=max(one.start, other.start),
        end=end,
        known=known,
        ends_by=_earliest(one.ends_by, other.ends_by),
        asked_to_end=_earliest(one.asked_to_end, other.asked_to_end),
        group=_either(one.group, other.group),
    )


def _better_end(one: Account, other: Account) -> tuple[int | None, EndKnown]:
    """Who was missed was gone by then, so the first one counts; who was seen was there, so the last."""
    if one.known != other.known:
        better = max(one, other, key=lambda account: account.known)
        return better.end, better.known
    if one.end is None or other.end is None:
        return None, one.known
    choose = min if one.known is EndKnown.MISSED else max
    return choose(one.end, other.end), one.known


def _earliest(one: int | None, other: int | None) -> int | None:
    return min((time for time in (one, other) if time is not None), default=None)


def _either(one: str, other: str) -> str:
    return min(one, other) if one and other else one or other


def _start(pod: Pod) -> int | None:
    """When it was bound; a pod without that condition began when its node took it."""
    if not pod.spec.node_name:
        return None
    bound = (
        condition.last_transition_time
        for condition in pod.status.conditions
        if condition.type == "PodScheduled" and condition.status == "True"
    )
    return _whole(next(bound, None) or pod.status.start_time or pod.metadata.creation_timestamp)


def _end(pod: Pod, *, start: int, now: float) -> tuple[int, EndKnown] | None:
    if pod.status.phase not in _ENDED:
        return None
    times = list(_finish_times(pod)) or [
        _whole(condition.last_transition_time) for condition in pod.status.conditions
    ]
    said = [time for time in times if time is not None and time >= start]
    return (max(said), EndKnown.SAID) if said else (max(int(now), start), EndKnown.MISSED)


def _asked_to_end(pod: Pod) -> int | None:
    by = _whole(pod.metadata.deletion_timestamp)
    return None if by is None else by - (pod.metadata.deletion_grace_period_seconds or 0)


def _finish_times(pod: Pod) -> Iterable[int | None]:
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        if status.state is not None and status.state.terminated is not None:
            yield _whole(status.state.terminated.finished_at)


def _whole(text: str | None) -> int | None:
    """A time of the API in whole seconds, which is all that it has."""
    try:
        time = parse_time(text)
    except ValueError:
        return None
    return None if time is None else int(time)


def job_of(pod: Pod) -> str:
    """What controls the pod, else the pod: who makes a pod writes its labels as he likes."""
    owner = controller_of(pod.metadata)
    return owner.name if owner else pod.metadata.name


class Naming(msgspec.Struct, frozen=True):
    """What is needed to find the queue of a pod, and to tell whether its labels agree."""

    job_uid: str
    """Of the vcjob that controls it; empty when none does."""
    said: frozenset[str]
    """Queues that its labels and annotations name; they only count against it."""


def naming_of(pod: Pod) -> Naming:
    """As the pod has it."""
    owner = vcjob_owner(pod)
    return Naming(owner.uid if owner else "", _said(pod, keys.QUEUE_NAME))


def denies_job(pod: Pod) -> bool:
    """Whether a label or annotation names another job than the pod's controller."""
    return not _said(pod, keys.JOB_NAME) <= {job_of(pod)}


def _said(pod: Pod, key: str) -> frozenset[str]:
    texts = (pod.metadata.labels.get(key), pod.metadata.annotations.get(key))
    return frozenset(text for text in texts if text)
