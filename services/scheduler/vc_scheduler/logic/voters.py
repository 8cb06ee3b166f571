"""Extension points whose answers are put together tier by tier (behaviour.md 5.3).

`framework.py` has the points that are asked for nodes; here are orders, votes and refusals. Votes:
a no decides at once; a tier with a yes and no no decides for yes; nobody's word lets things go on.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol

import numpy as np

from vc_messages.sessions import Reason
from vc_scheduler.logic.amounts import Amounts
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


class TaskOrder(Protocol):
    """Which pods of a job go first."""

    name: ClassVar[str]

    def task_key(self, session: "Session", group: GroupRow, run: Run) -> tuple[Any, ...]: ...


class EnqueuePass(Protocol):
    """Who is let in whatever later tiers say."""

    name: ClassVar[str]

    def lets_in(self, session: "Session", group: GroupRow) -> bool: ...


class HoldVote(Protocol):
    """Whether a job that cannot start now keeps room until it can."""

    name: ClassVar[str]

    def hold_vote(self, session: "Session", group: GroupRow, *, whole: bool) -> int:
        """PERMIT, ABSTAIN or REJECT; `whole`: there will be room for all of it."""
        ...


class Starving(Protocol):
    """Whether a job may have others evicted for it."""

    name: ClassVar[str]

    def starves(self, session: "Session", group: GroupRow) -> bool: ...


class Overused(Protocol):
    """Whether a queue gets no turn any more; asked only where the switch is written as true."""

    name: ClassVar[str]

    def refuse_turn(self, session: "Session", queue: QueueRow) -> Reason | None: ...


class PodGate(Protocol):
    """Whether a pod can be placed at all, whatever the nodes are."""

    name: ClassVar[str]

    def refuse_pod(self, session: "Session", pod: PodRow) -> Reason | None: ...


class PeerScorer(Protocol):
    """How good nodes are for one pod beside the pods that lie there now."""

    name: ClassVar[str]

    def peer_score(self, session: "Session", pod: PodRow, mask: Mask) -> Ints | None:
        """Per node; None when it has nothing to say. `mask`: where the pod may go."""
        ...


class VictimLimit(Protocol):
    """How many may go together."""

    name: ClassVar[str]

    def tally(self, session: "Session") -> "Tally":
        """With the victims that the session has so far."""
        ...


class Tally(Protocol):
    """Victims that are counted against a limit."""

    def has_room(self, pods: Sequence[PodRow]) -> bool:
        """Whether these may be evicted besides those that are counted."""
        ...

    def take(self, pods: Sequence[PodRow]) -> None:
        """These are evicted, too."""
        ...


class Fairness(Protocol):
    """Whether jobs of equal priority make room for one another; asked only where
    `enablePreemptable: true` is written."""

    name: ClassVar[str]

    def yields(self, session: "Session", *, taker: Amounts, giver: Amounts) -> bool:
        """`taker`, `giver`: what the two jobs would have then."""
        ...


class _Victims(NamedTuple):
    """Who has a say in one way of evicting."""

    guards: list[Any]
    limits: list[VictimLimit]
    keeps_gangs: bool


Tiers = Sequence[Sequence[tuple["PluginConf", Any]]]
"""Plugins with what they were told, tier by tier."""

_PARTS: Final[dict[tuple[type, str], bool]] = {}
"""By plugin and method: looked up once in a process, not in every session."""


def _has(plugin: Any, method: str) -> bool:
    asked = (type(plugin), method)
    known = _PARTS.get(asked)
    if known is None:
        known = _PARTS[asked] = hasattr(plugin, method)
    return known


class Voters:
    """The plugins of a configuration at these points."""

    def __init__(self, tiers: Tiers) -> None:
        self._tiers = tiers
        self.task_orders: list[TaskOrder] = self._all("taskorder", "task_key")
        self.pod_gates: list[PodGate] = self._all("predicate", "refuse_pod")
        self.peer_scorers: list[PeerScorer] = self._all("nodeorder", "peer_score")
        self.binds_volumes = any(
            plugin.binds_volumes for plugin in self._all("predicate", "binds_volumes")
        )
        self.preemptive = bool(self._all("preemptive", "deserved"))
        """Whether a queue may only reclaim what it deserves."""
        self._overused: list[Overused] = self._written("overused", "refuse_turn")
        self._one_by_one: list[Any] = self._all("nodeorder", "wants_each")
        self.rations = bool(self._overused)
        """Queues may have to stop between two pods of a job."""
        self._enqueue = [
            [plugin for conf, plugin in tier if conf.on("jobenqueued")] for tier in tiers
        ]
        self._holding: list[list[HoldVote]] = self._by_tier("jobpipelined", "hold_vote")
        self._starving: list[list[Starving]] = self._by_tier("jobstarving", "starves")
        self._fair: list[Fairness] = self._written(PREEMPTABLE, "yields")
        self.equals_yield = bool(self._fair)
        """Whether jobs of equal priority make room for one another at all."""
        self._victims = {
            switch: _Victims(
                guards=self._all(switch, "may_evict"),
                limits=self._all(switch, "tally"),
                keeps_gangs=bool(self._written(switch, "keeps_gangs")),
            )
            for switch in (PREEMPTABLE, RECLAIMABLE)
        }

    def _by_tier(self, switch: str, method: str) -> list[list[Any]]:
        return [
            [plugin for conf, plugin in tier if conf.on(switch) and _has(plugin, method)]
            for tier in self._tiers
        ]

    def _all(self, switch: str, method: str) -> list[Any]:
        return [plugin for tier in self._by_tier(switch, method) for plugin in tier]

    def _written(self, switch: str, method: str) -> list[Any]:
        """Those whose switch is written as true: not to be asked is our default."""
        return [
            plugin
            for tier in self._tiers
            for conf, plugin in tier
            if conf.switches.get(switch) is True and _has(plugin, method)
        ]

    def may_evict(self, session: "Session", pod: PodRow, *, switch: str) -> bool:
        """`switch` says for which action: PREEMPTABLE or RECLAIMABLE."""
        return all(guard.may_evict(session, pod) for guard in self._victims[switch].guards)

    def tallies(self, session: "Session", *, switch: str) -> list[Tally]:
        """Of those that limit how many go together; each counts anew."""
        return [limit.tally(session) for limit in self._victims[switch].limits]

    def yields(self, session: "Session", *, taker: Amounts, giver: Amounts) -> bool:
        """Whether a job gives to one of equal priority; what both would have then."""
        return self.equals_yield and all(
            plugin.yields(session, taker=taker, giver=giver) for plugin in self._fair
        )

    def keeps_gangs(self, *, switch: str) -> bool:
        """Whether no gang may fall below its minimum, not even as a whole."""
        return self._victims[switch].keeps_gangs

    def refuse_enqueue(self, session: "Session", group: GroupRow) -> Reason | None:
        """The first no; None when somebody's yes ends the asking or nobody says no."""
        for tier in self._enqueue:
            for plugin in tier:
                if _has(plugin, "refuse_enqueue"):
                    reason: Reason | None = plugin.refuse_enqueue(session, group)
                    if reason is not None:
                        return reason
            if any(_has(p, "lets_in") and p.lets_in(session, group) for p in tier):
                return None
        return None

    def holds(self, session: "Session", group: GroupRow, *, whole: bool) -> bool:
        """Whether the job keeps room; without a vote it does if all of it will have room."""
        for tier in self._holding:
            votes = [plugin.hold_vote(session, group, whole=whole) for plugin in tier]
            if REJECT in votes:
                return False
            if PERMIT in votes:
                return True
        return whole

    def starving(self, session: "Session", group: GroupRow) -> bool:
        """The first tier that has an opinion decides, and all of it must say yes."""
        for tier in self._starving:
            if tier:
                return all(plugin.starves(session, group) for plugin in tier)
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

    def peer_score(self, session: "Session", pod: PodRow, mask: Mask) -> Ints | None:
        """The sum over plugins; None when none has anything to say."""
        found = [plugin.peer_score(session, pod, mask) for plugin in self.peer_scorers]
        told = [score for score in found if score is not None]
        return np.sum(told, axis=0, dtype=np.int64) if told else None

    def one_by_one(self, group: GroupRow) -> bool:
        """Whether where a pod of this group goes depends on those before it."""
        return any(plugin.wants_each(group) for plugin in self._one_by_one)

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
