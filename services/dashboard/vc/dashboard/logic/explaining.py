"""Why a job waits: the scheduler's reason, the holders of what it
waits for, and an estimated start.

The estimate is a simulation: running jobs end one after another at their expected times, and after
each end the scheduler's own cycle decides. Jobs that start then end in their turn. The estimate is
as good as its basis, which it names, and it does not know future jobs. Its work is bounded, and it
says so when it reached the bound.
"""

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

import msgspec

from vc.dashboard.logic.amounts import Resources, shown
from vc.dashboard.logic.answers.future_answers import Estimate, Explanation, WaitingList, WaitingRow
from vc.dashboard.logic.answers.reason_answers import answered_reason, answered_unblock
from vc.dashboard.logic.cluster_index import ClusterIndex, capacity
from vc.dashboard.logic.durations import Durations, End
from vc.dashboard.logic.holders import ancestors_of, holders_of
from vc.dashboard.logic.jobs import (
    current_reasons,
    describe_job,
    newest_condition,
    pending_order,
    reason_of_job,
)
from vc.dashboard.logic.notes import beyond_minimum, controller_refusal, not_reclaimable
from vc.dashboard.logic.remedies import find_remedy, refused_by_api_server
from vc.dashboard.logic.shares import (
    BoundedSimulation,
    GaveUpError,
    SharesAndOrder,
    order_of,
    usable_nodes,
)
from vc.dashboard.logic.surplus_rows import surplus_rows
from vc.dashboard.logic.what_if import Ground
from vc.messages.sessions import JobReason, Reason, Stage
from vc.model.api.scheduling import PodGroup
from vc.model.values.times import format_duration, format_time

HOLDERS_SHOWN_MAX: Final = 10
AHEAD_SHOWN_MAX: Final = 10
ENDS_TRIED_MAX: Final = 40
_STUCK: Final = (
    Stage.INVALID,
    Stage.UNSUPPORTED,
    Stage.QUEUE_MISSING,
    Stage.QUEUE_CLOSED,
)
"""Stages that do not change with time."""

Starts = Callable[[Collection[str]], Mapping[str, Estimate]]
"""Estimated starts of PodGroups, as far as they are known."""


def explain(
    cluster_index: ClusterIndex,
    reasons: Mapping[str, JobReason],
    key: str,
    ground: Ground,
    *,
    go_on: Callable[[], bool] = lambda: True,
    search_on: Callable[[], bool] = lambda: True,
) -> Explanation | None:
    """The explanation of one job, or None if the job does not exist.

    `go_on` returns whether there is time for simulations, `search_on` whether the search
    for a remedy may use some of it.
    """
    detail = describe_job(cluster_index, reasons, key, stale=ground.stale)
    if detail is None:
        return None
    reason = reason_of_job(cluster_index, reasons, key)
    group = f"{detail.job.namespace}/{detail.group.name}" if detail.group is not None else ""
    jobs = ground.jobs_of_groups()
    durations = Durations(cluster_index)
    # A started job may still have surplus pods that wait, which need a simulation to explain.
    more = group and cluster_index.members.get(group) and reason is None
    # Opening a session is expensive, so it is skipped if nothing waits or no time is left.
    simulation = ground.simulation() if (reason is not None or more) and go_on() else None
    look = _looked(simulation, ground, group, reason)
    # Ends are known by job, but holders are PodGroups.
    ends = {end.job: end for end in durations.ends(now=ground.now)}
    ends = {of: ends[job] for of, job in jobs.items() if job in ends}
    holders = holders_of(cluster_index, reason, ends, but=group, nodes=look.nodes) if reason else []
    pending = _line(cluster_index, reasons, group, look.order)
    before = pending[: pending.index(group)] if pending else []
    refusal = controller_refusal(cluster_index.jobs[key])
    # If the API server refuses the job's objects, no change of the cluster can help.
    remedy = None
    if reason is not None:
        remedy = (
            refused_by_api_server(refusal)
            if refusal
            else find_remedy(ground, group, reason, go_on=search_on)
        )
    estimate = _stuck(reason)
    # Some stages never change with time, and a simulation of ends would be wasted.
    if reason is not None and _waits(reason):
        future = _Future(ground, simulation, durations, jobs)
        estimate = future.estimate(group, [holder.group for holder in holders], go_on)
    return Explanation(
        job=detail.job,
        position=len(before) + 1 if pending else 0,
        ahead=before[:AHEAD_SHOWN_MAX],
        explanation=detail.explanation,
        holders=holders[:HOLDERS_SHOWN_MAX],
        holders_total=len(holders),
        estimate=estimate,
        stale=ground.stale,
        remedy=remedy,
        notes=[*([refusal] if refusal else []), *look.notes],
        beyond_minimum=answered_reason(look.beyond) if look.beyond is not None else None,
        pending_in_queue=len(pending),
    )


class _Look(msgspec.Struct, frozen=True, kw_only=True):
    """What a newly opened session shows."""

    order: dict[str, int] = {}
    """Positions of waiting PodGroups."""
    nodes: Mapping[str, None] | None = None
    """Nodes that pass the predicates of the PodGroup, or None if unknown."""
    notes: list[str] = []
    beyond: Reason | None = None


def _looked(
    simulation: BoundedSimulation | None, ground: Ground, group: str, reason: Reason | None
) -> _Look:
    if simulation is None:
        return _Look()
    try:
        session = simulation.look(ground.conf)
        return _Look(
            order=order_of(session),
            nodes=usable_nodes(session, group),
            notes=not_reclaimable(session, group, reason) if reason is not None else [],
            beyond=beyond_minimum(session, group) if reason is None else None,
        )
    except Exception:  # noqa: BLE001 - whatever third parties' plugins may raise
        return _Look()


def _line(
    cluster_index: ClusterIndex,
    reasons: Mapping[str, JobReason],
    group: str,
    order: Mapping[str, int],
) -> list[str]:
    """The waiting PodGroups in the queue of this one, in order, or empty if it does not wait."""
    current = current_reasons(cluster_index, reasons)
    if group not in current:
        return []
    return pending_order(cluster_index, current, current[group].queue, order)


def waiting_list(
    cluster_index: ClusterIndex,
    reasons: Mapping[str, JobReason],
    queue: str,
    *,
    shares: SharesAndOrder,
    limit: int,
    stale: str,
    starts: Starts | None = None,
) -> WaitingList:
    """The waiting PodGroups of a queue in order, and its headroom.
    `starts` estimates their starts."""
    current = current_reasons(cluster_index, reasons)
    pending = pending_order(cluster_index, current, queue, shares.order)
    # Only shown rows need an estimate.
    estimates = starts(pending[:limit]) if starts is not None else {}
    rows = [
        _row(position, cluster_index.groups[key], current.get(key), estimates.get(key))
        for position, key in enumerate(pending[:limit], start=1)
    ]
    beyond = surplus_rows(cluster_index, queue, known=pending)
    # Surplus pods follow the waiting jobs: their jobs run already.
    for position, row in enumerate(beyond[: max(0, limit - len(rows))], start=len(pending) + 1):
        rows.append(msgspec.structs.replace(row, position=position))
    found = shares.queues.get(queue)
    return WaitingList(
        queue=queue,
        headroom=shown(_headroom(cluster_index, shares, queue)),
        deserved=shown(found.deserved) if found is not None else {},
        basis=shares.basis,
        waiting=rows,
        total=len(pending) + len(beyond),
        stale=stale,
    )


def starts_on(cluster_index: ClusterIndex, ground: Ground, go_on: Callable[[], bool]) -> Starts:
    """Estimates for all PodGroups of a request, from one simulation."""

    def starts(groups: Collection[str]) -> dict[str, Estimate]:
        if not groups or not go_on():
            return {}
        future = _Future(
            ground, ground.simulation(), Durations(cluster_index), ground.jobs_of_groups()
        )
        return future.starts(groups, go_on)

    return starts


def _row(
    position: int, group: PodGroup, job_reason: JobReason | None, estimate: Estimate | None
) -> WaitingRow:
    reason, condition = (
        job_reason.reason if job_reason is not None else None,
        newest_condition(group),
    )
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


def _headroom(cluster_index: ClusterIndex, shares: SharesAndOrder, queue: str) -> Resources:
    """Resources that the queue and its ancestors leave.

    For each it is the limit, or the cluster's size, minus what the queue and its
    children use. The smallest counts.
    """
    there = capacity(cluster_index)
    left = Resources()
    for name in ancestors_of(cluster_index, queue):
        if name in shares.queues:
            found = shares.queues[name]
            # Without its own limit, a queue may use the whole cluster.
            for resource, most in {**there, **found.real_capacity}.items():
                free = max(0, most - found.allocated.get(resource, 0))
                left[resource] = min(left.get(resource, free), free)
    return left


def _waits(reason: Reason) -> bool:
    """Whether the job may start without a change by a user."""
    return reason.stage not in _STUCK


def _stuck(reason: Reason | None) -> Estimate | None:
    return _no("unknown (a user must act first: see unblock)") if reason else None


class _Future:
    """Simulates the future: jobs end one after another, and others use their resources."""

    def __init__(
        self,
        ground: Ground,
        simulation: BoundedSimulation | None,
        durations: Durations,
        jobs: Mapping[str, str],
    ) -> None:
        self._ground = ground
        self._simulation = simulation
        self._durations = durations
        self._jobs = jobs
        """Key of the job by key of its PodGroup."""
        self._groups = {job: group for group, job in jobs.items()}
        self._ended: list[str] = []
        self._cut = False
        """Whether more ends are known than were simulated."""

    def estimate(self, group: str, holders: list[str], go_on: Callable[[], bool]) -> Estimate:
        """Simulate until the PodGroup is placed, no further end is
        known, or the bound is reached."""
        # The estimate needs the simulated cluster, which was not built without time.
        if self._simulation is None:
            return _no("unknown (no time was left to simulate it: too many requests)")
        try:
            for at, end, started in self._steps(self._simulation, go_on):
                if group in started:
                    return self._yes(at, end)
        except GaveUpError as error:
            return _no(f"unknown ({error}; {len(self._ended)} jobs ended and it was not placed)")
        return self._never(holders)

    def starts(self, groups: Collection[str], go_on: Callable[[], bool]) -> dict[str, Estimate]:
        """Estimates of the PodGroups that are placed before the bound is reached."""
        found: dict[str, Estimate] = {}
        if self._simulation is None:
            return found
        try:
            for at, end, started in self._steps(self._simulation, go_on):
                found |= {key: self._yes(at, end) for key in started if key in groups}
                if len(found) == len(groups):
                    break
        except GaveUpError:
            pass  # PodGroups that were not placed until then have no estimate
        return found

    def _steps(
        self, simulation: BoundedSimulation, go_on: Callable[[], bool]
    ) -> Iterator[tuple[float, End | None, Collection[str]]]:
        """Time, the job end before it, and the PodGroups that start
        then. The first step has no end."""
        simulation.bound(len(self._ground.objects), go_on)
        # First without any end: the job may start in the next sessions anyway.
        yield self._ground.now, None, simulation.run_sessions().placements
        coming = [(end.at, end.job, end) for end in self._durations.ends(now=self._ground.now)]
        heapq.heapify(coming)
        # Bounded, because each job that starts in the simulation adds an end of its own.
        while coming and len(self._ended) < ENDS_TRIED_MAX:
            at, job, end = heapq.heappop(coming)
            # A job without a PodGroup of its own is dropped by its own key.
            simulation.drop_group(self._groups.get(job, job))
            # Expected ends may be equal or unordered; simulated time never goes back.
            simulation.now = max(simulation.now, at)
            self._ended.append(job)
            started = simulation.run_sessions().placements
            yield at, end, started
            # Jobs that start in the simulation end too, and free resources for later ones.
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
            named = f" of {', '.join(holders[:3])}" if holders else ""
            return _no(f"unknown (no runningEstimate, deadline or history{named})")
        if self._cut:
            return _no(
                f"unknown (stopped after the expected ends of {ended} jobs, which do not free enough)"
            )
        return _no(f"unknown (the expected ends of {ended} jobs do not free enough)")


def _basis(ended: list[str], last: End) -> str:
    others = f" and {len(ended) - 1} before it" if len(ended) > 1 else ""
    return f"when {last.job}{others} has ended ({last.basis}), if no other job comes first"


def _yes(ground: Ground, at: float, basis: str, waits_for: list[str]) -> Estimate:
    seconds = max(0.0, at - ground.now)
    shown_basis = (
        f"in about {format_duration(round(seconds))}: {basis}" if seconds else f"now: {basis}"
    )
    return Estimate(
        starts_at=format_time(at), in_seconds=seconds, basis=shown_basis, waits_for=waits_for
    )


def _no(basis: str) -> Estimate:
    return Estimate(starts_at="", in_seconds=0.0, basis=basis, waits_for=[])
