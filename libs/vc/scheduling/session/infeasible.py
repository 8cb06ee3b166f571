"""Reports gangs that can never start in the current cluster before any other reason.

A refusal names the first check that failed. A gang larger than the capability of its queue, or than
the empty nodes, also fails some check, and its owner would wait for that check to pass. So before a
reason leaves the session, the gang is compared with what does not change over time: the
capabilities of the queue and its ancestors, the largest node, and all nodes together. Groups
without pods are judged by their minResources, because their average pod is no larger than their
largest pod.
"""

from typing import TYPE_CHECKING, Final

import msgspec

from vc.messages.sessions import Amount, Reason, Stage, Unblock
from vc.model.values.resources import Resources
from vc.scheduling.model.amounts import POD_UNITS, PODS, shown
from vc.scheduling.model.pod_group_status import INQUEUE_TIMEOUT
from vc.scheduling.model.rows import PENDING, GroupRow, Run
from vc.scheduling.session.feasibility import empty_node_bound

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

LOOKED_THROUGH: Final = frozenset(
    {
        Stage.QUOTA,
        Stage.OVERCOMMIT,
        Stage.NAMESPACE_QUOTA,
        Stage.ORDER,
        Stage.TASKS,
        Stage.GANG,
        Stage.PREDICATE,
    }
)
"""Refusals at these stages may hide that the gang can never start. Used for membership tests only."""


ALSO: Final = "it also needs "
"""How a refusal begins the list of what else is missing (`node_fit.and_also`)."""


def infeasible_first(session: "Session", group: GroupRow, reason: Reason) -> Reason:
    """The given reason, or a permanent one in its place if the gang can never start."""
    if reason.stage not in LOOKED_THROUGH:
        return reason
    # The queue comes first: more nodes do not help a gang that its queue can never run.
    found = _over_capability(session, group, reason) or _over_nodes(session, group, reason)
    return reason if found is None else found


# -- queues ------------------------------------------------------------------------------------------


def _over_capability(session: "Session", group: GroupRow, reason: Reason) -> Reason | None:
    flat = session.framework.queues.flat_limits
    if flat is None:
        return None
    needed = _gang_needs(session, group)
    # With a flat queue model ancestors impose no limit.
    for row in session.accounts.ancestors(group.queue)[: 1 if flat else None]:
        for name, most in row.capability:
            if needed[name] > most:
                # Raising the capability must also cover what other jobs of the queue already have.
                others = session.accounts.allocated(row.name) - group.allocated
                return _instead(
                    reason,
                    stage=Stage.QUOTA,
                    sentence=(
                        f"can never start in queue {group.queue!r}: the gang needs "
                        f"{shown(name, needed[name])}, and the capability of queue "
                        f"{row.name!r} is {shown(name, most)}"
                    ),
                    amount=Amount(
                        resource=name,
                        needed=needed[name],
                        available=most,
                        missing=needed[name] - most,
                    ),
                    unblock=Unblock(
                        action="raise-capability",
                        target=row.name,
                        amounts={name: needed[name] - most + max(0, others[name])},
                    ),
                )
    return None


def _gang_needs(session: "Session", group: GroupRow) -> Resources:
    """The least that the queue must allow. That is minResources while the gang waits to be enqueued
    or lacks pods, and otherwise the requests of its pods."""
    outside = session.phase(group) == PENDING
    if group.min_resources is not None and (outside or _lacks_pods(session, group)):
        return group.charged_minimum
    # Existing pods are more exact than minResources, which a user may have written too high.
    needed = Resources(group.allocated)
    for name in sorted({name for run in group.runs for name, _ in run.shape.request}):
        needed[name] += _least(session, group, name)
    return needed


def _lacks_pods(session: "Session", group: GroupRow) -> bool:
    return group.candidates < sum(count for _, count in session.framework.jobs.missing(group))


def _least(session: "Session", group: GroupRow, name: str) -> int:
    """The least amount that the missing pods request: the smallest pods count first, since larger
    ones may stay pending."""
    total = 0
    smallest = sorted(
        (dict(run.shape.request).get(name, 0), at) for at, run in enumerate(group.runs)
    )
    left = [len(run.pods) for run in group.runs]
    for task, count in session.framework.jobs.missing(group):
        for amount, at in smallest:
            if task in (None, group.runs[at].task):
                taken = min(count, left[at])
                left[at] -= taken
                count -= taken
                total += amount * taken
    return total


# -- nodes -------------------------------------------------------------------------------------------


def _over_nodes(session: "Session", group: GroupRow, reason: Reason) -> Reason | None:
    for task, count in session.framework.jobs.missing(group):
        runs = [run for run in group.runs if task in (None, run.task)]
        # The shapes of pods that do not exist yet are unknown.
        if sum(len(run.pods) for run in runs) < count:
            return _by_min_resources(session, group, reason)
        found = _too_large(session, runs, reason, count=count) or _too_many(
            session, runs, reason, count=count
        )
        if found is not None:
            return found
    return None


def _too_large(session: "Session", runs: list[Run], reason: Reason, *, count: int) -> Reason | None:
    """The gang's pods exist, and too few of them are small enough for the largest node."""
    fitting = 0
    first: tuple[Run, str, int] | None = None
    for run in runs:
        over = next(((n, a) for n, a in run.shape.request if a > _largest(session, n)), None)
        if over is None:
            fitting += len(run.pods)
        elif first is None:
            first = (run, *over)
    if first is None or fitting >= count:
        return None
    run, name, amount = first
    return _no_node(session, reason, name, amount, run=run, pods=count - fitting)


def _too_many(session: "Session", runs: list[Run], reason: Reason, *, count: int) -> Reason | None:
    """The gang's pods exist, and empty nodes could not run as many as it needs.

    While a node is not ready or cordoned, more capacity may return, so the verdict would not be permanent.
    """
    if not _all_usable(session):
        return None
    most = sum(min(len(run.pods), session.cached(empty_node_bound).most(run.shape)) for run in runs)
    if not most or most >= count:
        return None
    short = next(
        run for run in runs if session.cached(empty_node_bound).most(run.shape) < len(run.pods)
    )
    return _instead(
        reason,
        stage=Stage.GANG,
        sentence=(
            f"can never start with these nodes: even if they were empty they could run {most} of "
            f"the {count} pods that must start together"
        ),
        unblock=Unblock(action="add-room", pods=count - most, amounts=dict(short.shape.request)),
    )


def _no_node(
    session: "Session", reason: Reason, name: str, amount: int, *, run: Run, pods: int
) -> Reason:
    return _instead(
        reason,
        stage=Stage.PREDICATE,
        sentence=_not_that_large(name, amount, _largest(session, name)),
        unblock=Unblock(action="add-room", pods=pods, amounts=dict(run.shape.request)),
    )


def _not_that_large(name: str, amount: int, largest: int) -> str:
    return (
        f"no node is that large: a pod needs {shown(name, amount)}, and the largest node has "
        f"{shown(name, largest).partition(' ')[2]}"
    )


def _by_min_resources(session: "Session", group: GroupRow, reason: Reason) -> Reason | None:
    """The same checks for a gang whose pods do not exist yet, by its minResources."""
    least = max(1, group.min_member)
    needed = {name: n for name, n in group.min_resources or () if name != PODS}
    # Rounded up: at least one pod is as large as the average.
    average = {name: -(-amount // least) for name, amount in needed.items()}
    proposed = Unblock(action="add-room", pods=least, amounts={**average, PODS: POD_UNITS})
    for name, amount in needed.items():
        largest = _largest(session, name)
        if average[name] > largest:
            return _instead(
                reason,
                stage=Stage.PREDICATE,
                sentence=_not_that_large(name, average[name], largest),
                unblock=proposed,
            )
        total = session.cluster_amounts(name)[0]
        if amount > total and _all_usable(session):
            return _instead(
                reason,
                stage=Stage.GANG,
                sentence=(
                    f"can never start with these nodes: the gang needs {shown(name, amount)}, and "
                    f"all nodes together have {shown(name, total).partition(' ')[2]}"
                ),
                amount=Amount(
                    resource=name, needed=amount, available=total, missing=amount - total
                ),
                unblock=proposed,
            )
    return None


def _all_usable(session: "Session") -> bool:
    """Whether all nodes are ready and schedulable. Other nodes may become usable again."""
    static = session.snapshot.nodes.static
    return bool(static.ready.all() and static.schedulable.all())


def _largest(session: "Session", name: str) -> int:
    """The allocatable amount of the largest node, including nodes that are not ready."""
    return session.totals.largest(name)


def _instead(
    reason: Reason,
    *,
    stage: Stage,
    sentence: str,
    unblock: Unblock,
    amount: Amount | None = None,
) -> Reason:
    """Report why the gang can never start.

    The new sentence replaces a refusal at another stage and precedes a refusal at the same stage. A
    refusal at the same stage has considered all tasks, so its proposal is kept. Its code is kept as
    well, because conditions and timeouts depend on it.
    """
    if _same_matter(reason, stage):
        first = reason.unblock.target if reason.unblock is not None else ""
        said = reason.sentence
        if stage is Stage.QUOTA and first == unblock.target:  # already named
            others = said.partition(ALSO)[2]
            said = f"{ALSO}{others}" if others else ""
        whole = f"{sentence}; {said}" if said else sentence
        inner = reason.inner
        if inner is not None:  # the pods report the same, whether their group is Inqueue or Pending
            said_of_pods = f"{sentence}; {inner.sentence}"
            inner = msgspec.structs.replace(inner, sentence=said_of_pods)
        return msgspec.structs.replace(reason, sentence=whole, permanent=True, inner=inner)
    return msgspec.structs.replace(
        reason,
        stage=stage,
        sentence=sentence,
        unblock=unblock,
        amounts=[amount] if amount is not None else reason.amounts,
        permanent=True,
        inner=None,
    )


def _same_matter(reason: Reason, stage: Stage) -> bool:
    on_nodes = (Stage.GANG, Stage.PREDICATE)
    # The stage of an inqueue timeout is OVERCOMMIT, but its cause is the lack of node capacity.
    if reason.code == INQUEUE_TIMEOUT:
        return stage in on_nodes
    return reason.stage is stage or (reason.stage in on_nodes and stage in on_nodes)
