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
from vc_scheduler.logic.table import Mask

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
        most = sum(min(len(run.pods), session.reach.most(run.shape)) for run in runs)
        if most < count:
            return _too_many(session, runs, reason, count=count, most=most)
    return None


def _too_many(
    session: "Session", runs: list[Run], reason: Reason, *, count: int, most: int
) -> Reason | None:
    """Pods exist, and empty nodes could not take so many of them."""
    for run in runs:
        filtered = session.rooms.filtered(run.shape)
        if not filtered.count:
            continue  # no node passes its checks: the refusal itself says which
        for name, amount in run.shape.request:
            largest = _largest(session, name, filtered.mask)
            if amount > largest:
                return _no_node(reason, name, amount, largest=largest, run=run, pods=count - most)
    if not most or reason.stage in (Stage.GANG, Stage.PREDICATE) or not _all_usable(session):
        # Some checks leave no node, or the refusal already counts what the nodes take, or more nodes
        # may come back.
        return None
    shape = runs[0].shape
    return _instead(
        reason,
        stage=Stage.GANG,
        sentence=(
            f"can never start with these nodes: even if they were empty they could take {most} of "
            f"the {count} pods that must start together"
        ),
        unblock=Unblock(action="add-room", pods=count - most, amounts=dict(shape.request)),
    )


def _no_node(
    reason: Reason, name: str, amount: int, *, largest: int, run: Run, pods: int
) -> Reason:
    return _instead(
        reason,
        stage=Stage.PREDICATE,
        sentence=_not_that_large(name, amount, largest),
        unblock=Unblock(action="add-room", pods=pods, amounts=dict(run.shape.request)),
    )


def _not_that_large(name: str, amount: int, largest: int) -> str:
    return (
        f"no node is that large: a pod needs {shown(name, amount)}, and the largest node it may go "
        f"to has {shown(name, largest).partition(' ')[2]}"
    )


def _by_min_resources(session: "Session", group: GroupRow, reason: Reason) -> Reason | None:
    """Its pods do not exist yet."""
    least = max(1, group.min_member)
    needed = {name: n for name, n in group.min_resources or () if n and name != PODS}
    average = {name: -(-amount // least) for name, amount in needed.items()}
    proposed = Unblock(action="add-room", pods=least, amounts={**average, PODS: POD_UNITS})
    ready = session.snapshot.nodes.static.ready
    for name, amount in sorted(needed.items()):
        largest = _largest(session, name, ready)
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


def _largest(session: "Session", name: str, mask: Mask) -> int:
    """What the largest of these nodes has in all; of all nodes, when some may come back."""
    nodes = session.snapshot.nodes
    column = nodes.resources.get(name)
    if column is None:
        return 0
    amounts = nodes.allocatable[:, column]
    return int((amounts[mask] if _all_usable(session) else amounts).max(initial=0))


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
    )


def _same_matter(reason: Reason, stage: Stage) -> bool:
    on_nodes = (Stage.GANG, Stage.PREDICATE)
    if reason.code == INQUEUE_TIMEOUT:
        return stage in on_nodes
    return reason.stage is stage or (reason.stage in on_nodes and stage in on_nodes)
