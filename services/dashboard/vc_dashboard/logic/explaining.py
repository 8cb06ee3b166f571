"""Why a job waits: what the scheduler said, who holds what it waits for, and when it may start.

The estimate is a trial: the jobs that run end one after the other, when something says they will, and
after each end the scheduler's own cycle decides; those that start then end in their turn. It is as good as what it rests on, which it names,
and it knows nothing of jobs that are yet to come.
"""

import heapq
from collections.abc import Mapping
from typing import Final

from vc_dashboard.logic.amounts import Amounts, add, pod_amounts, shown
from vc_dashboard.logic.endings import Durations, End
from vc_dashboard.logic.future_answers import (
    Estimate,
    Explanation,
    Holder,
    WaitingList,
    WaitingRow,
)
from vc_dashboard.logic.jobs import describe_job
from vc_dashboard.logic.picture import Picture, is_placed
from vc_dashboard.logic.trying import Ground
from vc_messages.sessions import JobReason, Reason, Stage
from vc_model.times import format_duration, format_time

HOLDERS_SHOWN_MAX: Final = 10
AHEAD_SHOWN_MAX: Final = 10
ENDS_TRIED_MAX: Final = 40
_CONTENTION: Final = (Stage.QUOTA, Stage.OVERCOMMIT, Stage.GANG, Stage.PREDICATE, Stage.ORDER)
"""Stages at which somebody else may hold what is missing."""
_STUCK: Final = (Stage.INVALID, Stage.QUEUE_MISSING, Stage.QUEUE_CLOSED)
"""Stages that no time heals."""


def explain(
    picture: Picture, reasons: Mapping[str, JobReason], key: str, ground: Ground
) -> Explanation | None:
    """Everything about one job; None when there is none."""
    detail = describe_job(picture, reasons, key, stale=ground.stale)
    if detail is None:
        return None
    reason = detail.explanation
    durations = Durations(picture)
    ends = {end.job: end for end in durations.ends(now=ground.now)}
    group = f"{detail.job.namespace}/{detail.group.name}" if detail.group is not None else ""
    holders = _holders(picture, reason, ends, but=group) if reason is not None else []
    return Explanation(
        job=detail.job,
        position=detail.position,
        ahead=_ahead(reasons, detail.job.queue, detail.position),
        explanation=reason,
        holders=holders[:HOLDERS_SHOWN_MAX],
        holders_total=len(holders),
        estimate=_estimate(ground, group, durations, holders) if _waits(reason) else _stuck(reason),
        stale=ground.stale,
    )


def waiting_list(
    reasons: Mapping[str, JobReason], queue: str, *, limit: int, stale: str
) -> WaitingList:
    """Who waits in a queue, in order."""
    found = sorted((r for r in reasons.values() if r.queue == queue), key=_order)
    rows = [
        WaitingRow(
            position=job.position,
            group=job.group,
            stage=job.reason.stage.value,
            needed_pods=job.reason.needed_pods,
            reason=job.reason.sentence,
        )
        for job in found[:limit]
    ]
    return WaitingList(queue=queue, waiting=rows, total=len(found), stale=stale)


def _order(job: JobReason) -> tuple[int, str]:
    return (job.position, job.group)


def _ahead(reasons: Mapping[str, JobReason], queue: str, position: int) -> list[str]:
    before = [r for r in reasons.values() if r.queue == queue and r.position < position]
    return [job.group for job in sorted(before, key=_order)[:AHEAD_SHOWN_MAX]]


def _holders(
    picture: Picture, reason: Reason, ends: Mapping[str, End], *, but: str
) -> list[Holder]:
    """Who has what is missing, the most of it first; in the full queue, when it is one."""
    if reason.stage not in _CONTENTION:
        return []
    full = reason.unblock.target if reason.stage is Stage.QUOTA and reason.unblock else ""
    missing = [amount.resource for amount in reason.amounts if amount.missing] or [
        amount.resource for amount in reason.amounts
    ]
    found: list[tuple[tuple[int, ...], Holder]] = []
    for key, group in picture.groups.items():
        placed = [pod for pod in picture.members.get(key, ()) if is_placed(pod)]
        if key == but or not placed or full not in ("", *_line(picture, group.spec.queue)):
            continue
        has: Amounts = {}
        for pod in placed:
            add(has, pod_amounts(pod.spec))
        wanted = {name: units for name, units in has.items() if name in missing and units}
        if wanted:
            end = ends.get(key)
            holder = Holder(
                group=key,
                queue=group.spec.queue,
                pods=len(placed),
                amounts=shown(wanted),
                ends_at=format_time(end.at) if end is not None else "",
                basis=end.basis if end is not None else "",
            )
            found.append((tuple(-wanted.get(name, 0) for name in missing), holder))
    return [holder for _, holder in sorted(found, key=lambda item: (item[0], item[1].group))]


def _line(picture: Picture, queue: str) -> list[str]:
    """The queue and those above it."""
    line: list[str] = []
    while queue in picture.queues and queue not in line:
        line.append(queue)
        queue = picture.queues[queue].spec.parent
    return line


def _waits(reason: Reason | None) -> bool:
    """Whether time may help."""
    return reason is not None and reason.stage not in _STUCK


def _stuck(reason: Reason | None) -> Estimate | None:
    return _no("somebody must act first: see what would unblock it") if reason else None


def _estimate(ground: Ground, group: str, durations: Durations, holders: list[Holder]) -> Estimate:
    """Jobs end one after the other, others take their place, until the group is placed."""
    trial = ground.trial()
    if group in trial.settle().placements:
        return _yes(ground, ground.now, "the next sessions would place it", [])
    coming = [(end.at, end.job, end) for end in durations.ends(now=ground.now)]
    heapq.heapify(coming)
    ended: list[str] = []
    while coming and len(ended) < ENDS_TRIED_MAX:
        at, job, end = heapq.heappop(coming)
        trial.drop_group(job)
        trial.now = max(trial.now, at)
        ended.append(job)
        started = trial.settle().placements
        if group in started:
            return _yes(ground, at, _basis(ended, end), ended)
        for key in started:
            later = durations.end(key, began=at, now=at)
            if later is not None:
                heapq.heappush(coming, (later.at, later.job, later))
    if not ended:
        named = ", ".join(holder.group for holder in holders[:3])
        who = f"nothing says when {named} end" if named else "nothing says when running jobs end"
        return _no(f"no basis: {who} (runningEstimate, activeDeadlineSeconds or finished jobs)")
    return _no(f"no basis: not even the expected ends of {len(ended)} jobs make the room")


def _basis(ended: list[str], last: End) -> str:
    others = f" and {len(ended) - 1} before it" if len(ended) > 1 else ""
    return f"when {last.job}{others} has ended ({last.basis}), if no other job comes first"


def _yes(ground: Ground, at: float, basis: str, waits_for: list[str]) -> Estimate:
    seconds = max(0.0, at - ground.now)
    told = f"in about {format_duration(round(seconds))}: {basis}" if seconds else f"now: {basis}"
    return Estimate(starts_at=format_time(at), in_seconds=seconds, basis=told, waits_for=waits_for)


def _no(basis: str) -> Estimate:
    return Estimate(starts_at="", in_seconds=0.0, basis=basis, waits_for=[])
