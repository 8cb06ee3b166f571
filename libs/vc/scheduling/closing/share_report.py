"""The share report: numbers for metrics and dashboards. Nothing is decided here.

The numbers come from the queue tree and the plugins that also make the decisions, over the snapshot
of a session. For each queue they are the amounts allocated, requested, deserved and allowed at
most. For jobs and namespaces they are the dominant shares.
"""

from collections.abc import Mapping

import msgspec

from vc.model.values.resources import Resources
from vc.scheduling import plugins
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.conf.model import Conf
from vc.scheduling.framework.framework import Framework
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.plugins.queue_shares.tree import SHARE_POINTS, Tree, share_of
from vc.scheduling.session.session import Session


class QueueFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one queue, with its child queues included. Amounts are in integer units."""

    weight: int
    allocated: Amounts
    request: Amounts
    deserved: Amounts
    capacity: Amounts
    """The queue's capability."""
    real_capacity: Amounts
    """The upper limit: the capability of the queue and its ancestors, less siblings' guarantees."""
    share: float
    """The largest ratio of allocated to deserved over all resources."""
    overused: bool


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The shares of the cluster at the start of a session."""

    queues: dict[str, QueueFigures]
    jobs: dict[str, float]
    """Dominant share of the cluster by pod group.

    Groups without allocated resources are left out.
    """
    namespaces: dict[str, float]
    groups: dict[str, None]
    """The keys of all pod groups."""
    unowned: dict[str, Amounts] = {}
    """Amounts of pods whose queue does not exist, by the queue name that they refer to."""


def figures(snapshot: Snapshot, conf: Conf, now: float) -> Figures:
    """The share report of a snapshot. Pure: it uses its own session and ignores decisions."""
    session = Session(snapshot, Framework(conf, plugins.REGISTRY), now)
    tree = Tree(session)
    limits = tree.limits()
    shares = session.framework.queues.shares
    deserved = shares.deserved_shares(session) if shares is not None else {}
    queues = {
        name: QueueFigures(
            weight=row.weight,
            allocated=dict(session.accounts.allocated(name)),
            request=dict(tree.request(name)),
            deserved=dict(deserved.get(name, {})),
            capacity=dict(row.capability),
            real_capacity=dict(limits.get(name, {})),
            share=share_of(session.accounts.allocated(name), deserved.get(name, {})) / SHARE_POINTS,
            overused=_overused(session.accounts.allocated(name), deserved.get(name, {})),
        )
        for name, row in snapshot.queues.items()
    }
    jobs: dict[str, float] = {}
    together: dict[str, Resources] = {}
    for key, group in snapshot.all_groups.items():
        if group.allocated:
            jobs[key] = _dominant(session, Resources(group.allocated))
            together.setdefault(group.namespace, Resources()).add(group.allocated)
    namespaces = {name: _dominant(session, amounts) for name, amounts in together.items()}
    return Figures(
        queues=queues,
        jobs=jobs,
        namespaces=namespaces,
        groups=dict.fromkeys(snapshot.all_groups),
        unowned={
            name: dict(use.allocated)
            for name, use in snapshot.use.items()
            if use.allocated and name not in snapshot.queues
        },
    )


def _overused(allocated: Mapping[str, int], deserved: Mapping[str, int]) -> bool:
    """Whether the queue has more of a resource than deserved.

    False if no deserved share is known.
    """
    return bool(deserved) and any(
        amount > deserved[name] for name, amount in allocated.items() if name in deserved
    )


def _dominant(session: Session, amounts: Mapping[str, int]) -> float:
    """The dominant share: the largest fraction of the cluster over all resources."""
    return max(
        (
            amount / total
            for name, amount in amounts.items()
            if (total := session.cluster_amounts(name)[0])
        ),
        default=0.0,
    )
