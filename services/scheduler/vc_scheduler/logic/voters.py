"""Extension points whose answers are put together tier by tier (behaviour.md 5.3).

`framework.py` has the points that are asked for nodes; here are orders, votes and refusals. Votes:
a no decides at once; a tier with a yes and no no decides for yes; nobody's word lets things go on.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, runtime_checkable

import numpy as np

from vc_messages.sessions import Reason
from vc_scheduler.logic.peers import Peers
from vc_scheduler.logic.rows import GroupRow, PodRow, QueueRow, Run
from vc_scheduler.logic.table import Ints, Mask

if TYPE_CHECKING:
    from vc_scheduler.logic.conf import PluginConf
    from vc_scheduler.logic.session import Session

PERMIT: Final = 1
ABSTAIN: Final = 0
REJECT: Final = -1

PREEMPTABLE: Final = "preemptable"
RECLAIMABLE: Final = "reclaimable"


@runtime_checkable
class TaskOrder(Protocol):
    """Which pods of a job go first."""

    name: ClassVar[str]

    def task_key(self, session: "Session", group: GroupRow, run: Run) -> tuple[Any, ...]: ...


@runtime_checkable
class EnqueuePass(Protocol):
    """Who is let in whatever later tiers say."""

    name: ClassVar[str]

    def lets_in(self, session: "Session", group: GroupRow) -> bool: ...


@runtime_checkable
class HoldVote(Protocol):
    """Whether a job that cannot start now keeps room until it can."""

    name: ClassVar[str]

    def hold_vote(self, session: "Session", group: GroupRow, *, whole: bool) -> int:
        """PERMIT, ABSTAIN or REJECT; `whole`: there will be room for all of it."""
        ...


@runtime_checkable
class Starving(Protocol):
    """Whether a job may have others evicted for it."""

    name: ClassVar[str]

    def starves(self, session: "Session", group: GroupRow) -> bool: ...


@runtime_checkable
class Overused(Protocol):
    """Whether a queue gets no turn any more; asked only where the switch is written as true."""

    name: ClassVar[str]

    def refuse_turn(self, session: "Session", queue: QueueRow) -> Reason | None: ...


@runtime_checkable
class PodGate(Protocol):
    """Whether a pod can be placed at all, whatever the nodes are."""

    name: ClassVar[str]

    def refuse_pod(self, session: "Session", pod: PodRow) -> Reason | None: ...


@runtime_checkable
class PeerScorer(Protocol):
    """How good nodes are for one pod beside the pods that lie there now."""

    name: ClassVar[str]

    def peer_score(self, peers: Peers, pod: PodRow, mask: Mask) -> Ints | None:
        """Per node; None when it has nothing to say. `mask`: where the pod may go."""
        ...


@runtime_checkable
class VictimLimit(Protocol):
    """How many may go together."""

    name: ClassVar[str]

    def lets_go(self, session: "Session", pods: Sequence[PodRow], others: Sequence[PodRow]) -> bool:
        """Whether `pods` may be evicted when `others` are."""
        ...


@runtime_checkable
class GangKeeper(Protocol):
    """Keeps gangs from falling below their minimum."""

    name: ClassVar[str]
    keeps_gangs: ClassVar[bool]


Tiers = Sequence[Sequence[tuple["PluginConf", Any]]]
"""Plugins with what they were told, tier by tier."""


class Voters:
    """The plugins of a configuration at these points."""

    def __init__(self, tiers: Tiers) -> None:
        self._tiers = tiers
        every = [pair for tier in tiers for pair in tier]
        self.task_orders = [p for c, p in every if c.on("taskorder") and isinstance(p, TaskOrder)]
        self.pod_gates = [p for c, p in every if c.on("predicate") and isinstance(p, PodGate)]
        self.peer_scorers = [p for c, p in every if c.on("nodeorder") and isinstance(p, PeerScorer)]
        self.binds_volumes = any(
            c.on("predicate") and getattr(p, "binds_volumes", False) for c, p in every
        )
        self._overused = [
            p for c, p in every if c.switches.get("overused") is True and isinstance(p, Overused)
        ]

    def may_evict(self, session: "Session", pod: PodRow, *, switch: str) -> bool:
        """`switch` says for which action: PREEMPTABLE or RECLAIMABLE."""
        return all(
            plugin.may_evict(session, pod)
            for tier in self._tiers
            for conf, plugin in tier
            if conf.on(switch) and hasattr(plugin, "may_evict")
        )

    def lets_go(
        self,
        session: "Session",
        pods: Sequence[PodRow],
        others: Sequence[PodRow],
        *,
        switch: str,
    ) -> bool:
        return all(
            plugin.lets_go(session, pods, others)
            for tier in self._tiers
            for conf, plugin in tier
            if conf.on(switch) and isinstance(plugin, VictimLimit)
        )

    def keeps_gangs(self, *, switch: str) -> bool:
        """Whether no gang may fall below its minimum, not even as a whole."""
        return any(
            conf.on(switch) and isinstance(plugin, GangKeeper) and plugin.keeps_gangs
            for tier in self._tiers
            for conf, plugin in tier
        )

    def preemptive(self) -> bool:
        """Whether a queue may only reclaim what it deserves."""
        return any(
            conf.on("preemptive") and hasattr(plugin, "deserved")
            for tier in self._tiers
            for conf, plugin in tier
        )

    def refuse_enqueue(self, session: "Session", group: GroupRow) -> Reason | None:
        """The first no; None when somebody's yes ends the asking or nobody says no."""
        for tier in self._tiers:
            asked = [plugin for conf, plugin in tier if conf.on("jobenqueued")]
            for plugin in asked:
                if hasattr(plugin, "refuse_enqueue"):
                    reason: Reason | None = plugin.refuse_enqueue(session, group)
                    if reason is not None:
                        return reason
            if any(isinstance(p, EnqueuePass) and p.lets_in(session, group) for p in asked):
                return None
        return None

    def holds(self, session: "Session", group: GroupRow, *, whole: bool) -> bool:
        """Whether the job keeps room; without a vote it does if all of it will have room."""
        for tier in self._tiers:
            votes = [
                plugin.hold_vote(session, group, whole=whole)
                for conf, plugin in tier
                if conf.on("jobpipelined") and isinstance(plugin, HoldVote)
            ]
            if REJECT in votes:
                return False
            if PERMIT in votes:
                return True
        return whole

    def starving(self, session: "Session", group: GroupRow) -> bool:
        """The first tier that has an opinion decides, and all of it must say yes."""
        for tier in self._tiers:
            asked = [p for c, p in tier if c.on("jobstarving") and isinstance(p, Starving)]
            if asked:
                return all(plugin.starves(session, group) for plugin in asked)
        return False

    def refuse_turn(self, session: "Session", queue: QueueRow) -> Reason | None:
        """Why a queue gets no turn."""
        for plugin in self._overused:
            reason = plugin.refuse_turn(session, queue)
            if reason is not None:
                return reason
        return None

    def refuse_pod(self, session: "Session", pod: PodRow) -> Reason | None:
        """Why a pod cannot be placed anywhere."""
        for plugin in self.pod_gates:
            reason = plugin.refuse_pod(session, pod)
            if reason is not None:
                return reason
        return None

    def peer_score(self, peers: Peers, pod: PodRow, mask: Mask) -> Ints | None:
        """The sum over plugins; None when none has anything to say."""
        found = [plugin.peer_score(peers, pod, mask) for plugin in self.peer_scorers]
        told = [score for score in found if score is not None]
        return np.sum(told, axis=0, dtype=np.int64) if told else None

    def in_task_order(
        self, session: "Session", group: GroupRow, runs: Sequence[Run]
    ) -> tuple[Run, ...]:
        """Runs in the order their pods go; without a plugin that cares, by role and index."""
        if len(runs) < 2:
            return tuple(runs)
        keyed = sorted((self._task_key(session, group, run), at) for at, run in enumerate(runs))
        return tuple(runs[at] for _, at in keyed)

    def _task_key(self, session: "Session", group: GroupRow, run: Run) -> tuple[Any, ...]:
        keys = [plugin.task_key(session, group, run) for plugin in self.task_orders]
        return (*keys, (run.role, run.pods[0].index, run.pods[0].name))
