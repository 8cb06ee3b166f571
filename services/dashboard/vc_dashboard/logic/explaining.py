"""Why a job waits: what the scheduler said, who holds what it waits for, and when it may start.

The estimate is a trial: the jobs that run end one after the other, when something says they will, and
after each end the scheduler's own cycle decides; those that start then end in their turn. It is as good as
what it rests on, which it names, and it knows nothing of jobs that are yet to come. It has a bound on its
work, and says so when it came to that.
"""

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

import msgspec

from vc_dashboard.logic.amounts import Amounts, shown
from vc_dashboard.logic.endings import Durations, End
from vc_dashboard.logic.future_answers import (
    Estimate,
    Explanation,
    WaitingList,
    WaitingRow,
)
from vc_dashboard.logic.holding import holders_of, line_above
from vc_dashboard.logic.jobs import (
    describe_job,
    line_of,
    newest_condition,
    reason_of_job,
    true_words,
)
from vc_dashboard.logic.notes import beyond_minimum, controller_refusal, not_reclaimable
from vc_dashboard.logic.picture import Picture, capacity
from vc_dashboard.logic.reason_answers import answered_reason, answered_unblock
from vc_dashboard.logic.remedies import find_remedy, refused_by_api_server
from vc_dashboard.logic.standing import (
    BoundedTrial,
    GaveUpError,
    Standing,
    order_of,
    usable_nodes,
)
from vc_dashboard.logic.surplus_rows import surplus_rows
from vc_dashboard.logic.trying import Ground
from vc_messages.sessions import JobReason, Reason, Stage
from vc_model.scheduling import PodGroup
from vc_model.times import format_duration, format_time

HOLDERS_SHOWN_MAX: Final = 10
AHEAD_SHOWN_MAX: Final = 10
ENDS_TRIED_MAX: Final = 40
_STUCK: Final = (
    Stage.INVALID,
    Stage.UNSUPPORTED,
    Stage.QUEUE_MISSING,
    Stage.QUEUE_CLOSED,
)
"""Stages that no time heals."""

Starts = Callable[[Collection[str]], Mapping[str, Estimate]]
"""When groups start, as far as something says so."""


def explain(
    picture: Picture,
    reasons: Mapping[str, JobReason],
    key: str,
    ground: Ground,
    *,
    go_on: Callable[[], bool] = lambda: True,
    search_on: Callable[[], bool] = lambda: True,
) -> Explanation | None:
    """Everything about one job; None when there is none.

    `go_on` says whether there is time to try, `search_on` whether the remedy search may use some of it.
    """
    detail = describe_job(picture, reasons, key, stale=ground.stale)
    if detail is None:
        return None
    reason = reason_of_job(picture, reasons, key)
    group = f"{detail.job.namespace}/{detail.group.name}" if detail.group is not None else ""
    jobs = ground.jobs_of_groups()
    durations = Durations(picture)
    more = group and picture.members.get(group) and reason is None
    trial = ground.trial() if (reason is not None or more) and go_on() else None
    look = _looked(trial, ground, group, reason)
    ends = {end.job: end for end in durations.ends(now=ground.now)}
    ends = {of: ends[job] for of, job in jobs.items() if job in ends}
    holders = holders_of(picture, reason, ends, but=group, nodes=look.nodes) if reason else []
    line = _line(picture, reasons, group, look.order)
    before = line[: line.index(group)] if line else []
    refusal = controller_refusal(picture.jobs[key])
    remedy = None
    if reason is not None:
        remedy = (
            refused_by_api_server(refusal)
            if refusal
            else find_remedy(ground, group, reason, go_on=search_on)
        )
    estimate = _stuck(reason)
    if reason is not None and _waits(reason):
        future = _Future(ground, trial, durations, jobs)
        estimate = future.estimate(group, [holder.group for holder in holders], go_on)
    return Explanation(
        job=detail.job,
        position=len(before) + 1 if line else 0,
        ahead=before[:AHEAD_SHOWN_MAX],
        explanation=detail.explanation,
        holders=holders[:HOLDERS_SHOWN_MAX],
        holders_total=len(holders),
        estimate=estimate,
        stale=ground.stale,
        remedy=remedy,
        notes=[*([refusal] if refusal else []), *look.notes],
        beyond_minimum=answered_reason(look.beyond) if look.beyond is not None else None,
    )


class _Look(msgspec.Struct, frozen=True, kw_only=True):
    """What a session that has just been opened says."""

    order: dict[str, int] = {}
    """Of those that wait."""
    nodes: Mapping[str, None] | None = None
    """That pass the group's checks; None: not known."""
    notes: list[str] = []
    beyond: Reason | None = None


def _looked(trial: BoundedTrial | None, ground: Ground, group: str, reason: Reason | None) -> _Look:
    if trial is None:
        return _Look()
    try:
        session = trial.look(ground.conf)
        return _Look(
            order=order_of(session),
            nodes=usable_nodes(session, group),
            notes=not_reclaimable(session, group, reason) if reason is not None else [],
            beyond=beyond_minimum(session, group) if reason is None else None,
        )
    except Exception:  # noqa: BLE001 - whatever third parties' plugins may raise
        return _Look()


def _line(
    picture: Picture, reasons: Mapping[str, JobReason], group: str, order: Mapping[str, int]
) -> list[str]:
    """The groups that wait in the queue of this one, in order; empty when it does not wait."""
    words = true_words(picture, reasons)
    if group not in words:
        return []
    return line_of(picture, words, words[group].queue, order)


def waiting_list(
    picture: Picture,
    reasons: Mapping[str, JobReason],
    queue: str,
    *,
    standing: Standing,
    limit: int,
    stale: str,
    starts: Starts | None = None,
) -> WaitingList:
    """Who waits in a queue, in order, and what the queue may still take; `starts` says when they start."""
    words = true_words(picture, reasons)
    line = line_of(picture, words, queue, standing.order)
    estimates = starts(line[:limit]) if starts is not None else {}
    rows = [
        _row(position, picture.groups[key], words.get(key), estimates.get(key))
        for position, key in enumerate(line[:limit], start=1)
    ]
    beyond = surplus_rows(picture, queue, known=line)
    for position, row in enumerate(beyond[: max(0, limit - len(rows))], start=len(line) + 1):
        rows.append(msgspec.structs.replace(row, position=position))
    found = standing.queues.get(queue)
    return WaitingList(
        queue=queue,
        headroom=shown(_headroom(picture, standing, queue)),
        deserved=shown(found.deserved) if found is not None else {},
        basis=standing.basis,
        waiting=rows,
        total=len(line) + len(beyond),
        stale=stale,
    )


def starts_on(picture: Picture, ground: Ground, go_on: Callable[[], bool]) -> Starts:
    """When groups start, in one trial for all of them."""

    def starts(groups: Collection[str]) -> dict[str, Estimate]:
        if not groups or not go_on():
            return {}
        future = _Future(ground, ground.trial(), Durations(picture), ground.jobs_of_groups())
        return future.starts(groups, go_on)

    return starts


def _row(
    position: int, group: PodGroup, word: JobReason | None, estimate: Estimate | None
) -> WaitingRow:
    reason, condition = word.reason if word is not None else None, newest_condition(group)
    amounts = reason.amounts if reason is not None else []
    return WaitingRow(
        position=position,
        group=group.key,
        stage=reason.stage.value if reason is not None else "",
        needed_pods=reason.needed_pods if reason is not None else group.spec.min_member,
        missing=shown({a.resource: a.missing for a in amounts if a.missing}),
        unblock=answered_unblock(reason.unblock) if reason and reason.unblock else None,
        reason=reason.sentence if reason is not None else condition.message if condition else "",
        created=group.metadata.creation_timestamp or "",
        estimate=estimate,
    )


def _headroom(picture: Picture, standing: Standing, queue: str) -> Amounts:
    """What it and those above it leave: their limits, or the cluster's, less what is taken below them."""
    there = capacity(picture)
    left: Amounts = {}
    for name in line_above(picture, queue):
        if name in standing.queues:
            found = standing.queues[name]
            for resource, most in {**there, **found.real_capacity}.items():
                room = max(0, most - found.allocated.get(resource, 0))
                left[resource] = min(left.get(resource, room), room)
    return left


def _waits(reason: Reason) -> bool:
    """Whether time may help."""
    return reason.stage not in _STUCK


def _stuck(reason: Reason | None) -> Estimate | None:
    return _no("somebody must act first: see what would unblock it") if reason else None


class _Future:
    """Jobs end one after the other, others take their place."""

    def __init__(
        self,
        ground: Ground,
        trial: BoundedTrial | None,
        durations: Durations,
        jobs: Mapping[str, str],
    ) -> None:
        self._ground = ground
        self._trial = trial
        self._durations = durations
        self._jobs = jobs
        """By group."""
        self._groups = {job: group for group, job in jobs.items()}
        self._ended: list[str] = []
        self._cut = False
        """Whether more ends are known than were tried."""

    def estimate(self, group: str, holders: list[str], go_on: Callable[[], bool]) -> Estimate:
        """Until the group is placed, or nothing more is known, or it has been enough work."""
        if self._trial is None:
            return _no("no time was left to try it: too many ask at the same time")
        try:
            for at, end, started in self._steps(self._trial, go_on):
                if group in started:
                    return self._yes(at, end)
        except GaveUpError as error:
            return _no(f"{error}, in which {len(self._ended)} jobs ended and it was not placed")
        return self._never(holders)

    def starts(self, groups: Collection[str], go_on: Callable[[], bool]) -> dict[str, Estimate]:
        """Of those that would be placed before it has been enough work."""
        found: dict[str, Estimate] = {}
        if self._trial is None:
            return found
        try:
            for at, end, started in self._steps(self._trial, go_on):
                found |= {key: self._yes(at, end) for key in started if key in groups}
                if len(found) == len(groups):
                    break
        except GaveUpError:
            pass  # those that were not placed until then have no estimate
        return found

    def _steps(
        self, trial: BoundedTrial, go_on: Callable[[], bool]
    ) -> Iterator[tuple[float, End | None, Collection[str]]]:
        """When, after which end, and who starts then; first without any end."""
        trial.bound(len(self._ground.objects), go_on)
        yield self._ground.now, None, trial.settle().placements
        coming = [(end.at, end.job, end) for end in self._durations.ends(now=self._ground.now)]
        heapq.heapify(coming)
        while coming and len(self._ended) < ENDS_TRIED_MAX:
            at, job, end = heapq.heappop(coming)
            trial.drop_group(self._groups.get(job, job))
            trial.now = max(trial.now, at)
            self._ended.append(job)
            started = trial.settle().placements
            yield at, end, started
            for key in started:
                later = self._durations.end(self._jobs.get(key, key), began=at, now=at)
                if later is not None:
                    heapq.heappush(coming, (later.at, later.job, later))
        self._cut = bool(coming)

    def _yes(self, at: float, end: End | None) -> Estimate:
        if end is None:
            return _yes(self._ground, at, "the next sessions would place it", [])
        return _yes(self._ground, at, _basis(self._ended, end), list(self._ended))

    def _never(self, holders: list[str]) -> Estimate:
        ended = len(self._ended)
        if not ended:
            named = ", ".join(holders[:3])
            who = (
                f"nothing says when {named} end" if named else "nothing says when running jobs end"
            )
            return _no(f"no basis: {who} (runningEstimate, activeDeadlineSeconds or finished jobs)")
        if self._cut:
            return _no(
                f"gave up after the expected ends of {ended} jobs, which do not make the room"
            )
        return _no(f"no basis: not even the expected ends of {ended} jobs make the room")


def _basis(ended: list[str], last: End) -> str:
    others = f" and {len(ended) - 1} before it" if len(ended) > 1 else ""
    return f"when {last.job}{others} has ended ({last.basis}), if no other job comes first"


def _yes(ground: Ground, at: float, basis: str, waits_for: list[str]) -> Estimate:
    seconds = max(0.0, at - ground.now)
    told = f"in about {format_duration(round(seconds))}: {basis}" if seconds else f"now: {basis}"
    return Estimate(starts_at=format_time(at), in_seconds=seconds, basis=told, waits_for=waits_for)


def _no(basis: str) -> Estimate:
    return Estimate(starts_at="", in_seconds=0.0, basis=basis, waits_for=[])
