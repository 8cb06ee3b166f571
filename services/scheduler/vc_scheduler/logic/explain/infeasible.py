"""Gangs that can never start as things are, whatever ends: told before any other reason.

A refusal names the gate that said no first. A gang that is larger than its queue's capability, or than the
nodes could hold if they were empty, is refused by some gate too, and people would wait for that gate to
open. So before a reason leaves the session it is held against what no time changes: capabilities along the
queue's ancestors, the largest node, all nodes together. Groups without pods are judged by their
minResources: their average pod is no larger than their largest.
"""

from typing import TYPE_CHECKING, Final

import msgspec

from vc_messages.sessions import Amount, Reason, Stage, Unblock
from vc_scheduler.logic.amounts import POD_UNITS, PODS, Amounts, shown
from vc_scheduler.logic.reasons import INQUEUE_TIMEOUT
from vc_scheduler.logic.rows import GroupRow, Run

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session

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
"""Stages behind which a gang may be waiting in vain. Only asked whether it contains."""


ALSO: Final = "it also takes "
"""Where a refusal names what else is missing (`misfits.and_also`)."""


def told_first(session: "Session", group: GroupRow, reason: Reason) -> Reason:
    """The reason, or why the gang can never start, in its place."""
    if reason.stage not in LOOKED_THROUGH:
        return reason
    found = _over_capability(session, group, reason) or _over_nodes(session, group, reason)
    return reason if found is None else found


# -- queues ------------------------------------------------------------------------------------------


def _over_capability(session: "Session", group: GroupRow, reason: Reason) -> Reason | None:
    limits = session.framework.queue_limits
    if limits is None:
        return None
    needed = _gang_needs(session, group)
    for row in session.line(group.queue)[: 1 if limits.flat else None]:
        for name, most in row.capability:
            if needed.get(name, 0) > most:
                has = session.allocated(row.name).get(name, 0) - dict(group.allocated).get(name, 0)
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
                        amounts={name: needed[name] - most + max(0, has)},
                    ),
                )
    return None


def _gang_needs(session: "Session", group: GroupRow) -> Amounts:
    """Its minimum: what its minResources say, or what its missing pods ask for and the others have."""
    if group.min_resources is not None:
        return dict(group.min_resources)
    needed = dict(group.allocated)
    for role, count in session.framework.missing(group):
        for run in group.runs:
            pods = min(count, len(run.pods)) if role in (None, run.role) else 0
            count -= pods
            for name, amount in run.shape.request:
                needed[name] = needed.get(name, 0) + amount * pods
    return needed


# -- nodes -------------------------------------------------------------------------------------------


def _over_nodes(session: "Session", group: GroupRow, reason: Reason) -> Reason | None:
    for role, count in session.framework.missing(group):
        runs = [run for run in group.runs if role in (None, run.role)]
        if sum(len(run.pods) for run in runs) < count:
            return _by_min_resources(session, group, reason)
        found = _too_large(session, runs, reason, count=count) or _too_many(
            session, runs, reason, count=count
        )
        if found is not None:
            return found
    return None


def _too_large(session: "Session", runs: list[Run], reason: Reason, *, count: int) -> Reason | None:
    """Pods exist, and those that are no larger than the largest node are too few."""
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
    """Pods exist, and empty nodes could not take so many of them. A refusal for want of room counts what
    the nodes take itself, and where nodes are away more may come back."""
    if reason.stage in (Stage.GANG, Stage.PREDICATE) or not _all_usable(session):
        return None
    most = sum(min(len(run.pods), session.reach.most(run.shape)) for run in runs)
    if not most or most >= count:
        return None
    return _instead(
        reason,
        stage=Stage.GANG,
        sentence=(
            f"can never start with these nodes: even if they were empty they could take {most} of "
            f"the {count} pods that must start together"
        ),
        unblock=Unblock(action="add-room", pods=count - most, amounts=dict(runs[0].shape.request)),
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
    """Its pods do not exist yet."""
    least = max(1, group.min_member)
    needed = {name: n for name, n in group.min_resources or () if n and name != PODS}
    average = {name: -(-amount // least) for name, amount in needed.items()}
    proposed = Unblock(action="add-room", pods=least, amounts={**average, PODS: POD_UNITS})
    for name, amount in sorted(needed.items()):
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
    """Whether no node is away or cordoned: one that is may come back."""
    static = session.snapshot.nodes.static
    return bool(static.ready.all() and static.schedulable.all())


def _largest(session: "Session", name: str) -> int:
    """What the largest of all nodes has in all, those included that are away."""
    column = session.snapshot.nodes.resources.get(name)
    return 0 if column is None else session.largest_nodes[column]


def _instead(
    reason: Reason,
    *,
    stage: Stage,
    sentence: str,
    unblock: Unblock,
    amount: Amount | None = None,
) -> Reason:
    """Why it can never start, in place of a refusal at another stage, or in front of one at the same.

    What was refused at the same stage has looked at all tasks: its proposal stays. So does the code, which
    conditions and timeouts go by.
    """
    if _same_matter(reason, stage):
        first = reason.unblock.target if reason.unblock is not None else ""
        said = reason.sentence
        if stage is Stage.QUOTA and first == unblock.target:  # the same queue: said already
            others = said.partition(ALSO)[2]
            said = f"{ALSO}{others}" if others else ""
        whole = f"{sentence}; {said}" if said else sentence
        return msgspec.structs.replace(reason, sentence=whole, permanent=True)
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
    if reason.code == INQUEUE_TIMEOUT:
        return stage in on_nodes
    return reason.stage is stage or (reason.stage in on_nodes and stage in on_nodes)
