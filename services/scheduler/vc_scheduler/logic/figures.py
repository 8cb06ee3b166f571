"""Who has which share, as numbers for people who watch; nothing is decided here.

The same tree and the same plugins that decide give the numbers, on a session's snapshot: what each
queue has, asks for, deserves and may have at most, and the dominant share of jobs and namespaces.
"""

from collections.abc import Mapping

import msgspec

from vc_scheduler.logic import plugins
from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.framework import Framework
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.shares import SHARE_POINTS, Tree, share_of
from vc_scheduler.logic.snapshot import Snapshot


class QueueFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One queue, those below it included; amounts in their integer units."""

    weight: int
    allocated: Amounts
    request: Amounts
    deserved: Amounts
    capacity: Amounts
    """Its capability."""
    real_capacity: Amounts
    """What it may have at most: the capability along its line, less what siblings are guaranteed."""
    share: float
    """The largest part of what it deserves that it has."""
    overused: bool


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster at the start of a session."""

    queues: dict[str, QueueFigures]
    jobs: dict[str, float]
    """Dominant share of the cluster by pod group, of those that have something."""
    namespaces: dict[str, float]
    groups: dict[str, None]
    """Every pod group there is."""
    unowned: dict[str, Amounts] = {}
    """What pods have whose queue does not exist, by the queue they name."""


def figures(snapshot: Snapshot, conf: Conf, now: float) -> Figures:
    """Pure, on its own session: what was decided is not looked at, and nothing is changed."""
    session = Session(snapshot, Framework(conf, plugins.REGISTRY), now)
    tree = Tree(session)
    limits = tree.limits()
    shares = session.framework.shares
    deserved = shares.deserved(session) if shares is not None else {}
    queues = {
        name: QueueFigures(
            weight=row.weight,
            allocated=dict(session.allocated(name)),
            request=dict(tree.request(name)),
            deserved=dict(deserved.get(name, {})),
            capacity=dict(row.capability),
            real_capacity=dict(limits.get(name, {})),
            share=share_of(session.allocated(name), deserved.get(name, {})) / SHARE_POINTS,
            overused=_overused(session.allocated(name), deserved.get(name, {})),
        )
        for name, row in snapshot.queues.items()
    }
    jobs: dict[str, float] = {}
    together: dict[str, Amounts] = {}
    for key, group in snapshot.everybody.items():
        if group.allocated:
            amounts = dict(group.allocated)
            jobs[key] = _dominant(session, amounts)
            total = together.setdefault(group.namespace, {})
            for name, amount in amounts.items():
                total[name] = total.get(name, 0) + amount
    namespaces = {name: _dominant(session, amounts) for name, amounts in together.items()}
    return Figures(
        queues=queues,
        jobs=jobs,
        namespaces=namespaces,
        groups=dict.fromkeys(snapshot.everybody),
        unowned={
            name: dict(use.allocated)
            for name, use in snapshot.use.items()
            if use.allocated and name not in snapshot.queues
        },
    )


def _overused(allocated: Mapping[str, int], deserved: Mapping[str, int]) -> bool:
    """More of something than it deserves; a queue of which nothing is known is not."""
    return bool(deserved) and any(
        amount > deserved[name] for name, amount in allocated.items() if name in deserved
    )


def _dominant(session: Session, amounts: Mapping[str, int]) -> float:
    """The largest part of the cluster that it has of any resource."""
    return max(
        (
            amount / total
            for name, amount in amounts.items()
            if (total := session.cluster_amounts(name)[0])
        ),
        default=0.0,
    )
