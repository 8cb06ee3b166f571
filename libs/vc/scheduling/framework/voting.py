"""Extension points whose results are combined tier by tier (docs/behaviour.md 5.3).

`registry.py` has the extension points that concern nodes; this module has orders, votes and
refusals. Reject wins at once. Otherwise the first tier with a Permit decides. If all plugins of a
tier abstain, the next tier is called.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol

import numpy as np

from vc.messages.sessions import Reason
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.node_table import Ints, Mask
from vc.scheduling.model.rows import GroupRow, PodRow, QueueRow, Run

if TYPE_CHECKING:
    from vc.scheduling.conf.model import PluginConf
    from vc.scheduling.session.session import Session

PERMIT: Final = 1
ABSTAIN: Final = 0
REJECT: Final = -1

PREEMPTABLE: Final = "preemptable"
RECLAIMABLE: Final = "reclaimable"


class TaskOrder(Protocol):
    """TaskOrder: which pods of a job come first."""

    name: ClassVar[str]

    def task_key(self, session: "Session", group: GroupRow, run: Run) -> tuple[Any, ...]: ...


class EnqueuePass(Protocol):
    """Which groups are enqueued regardless of later tiers."""

    name: ClassVar[str]

    def lets_in(self, session: "Session", group: GroupRow) -> bool: ...


class HoldVote(Protocol):
    """JobPipelined: whether a job that cannot start now keeps a reservation until it can."""

    name: ClassVar[str]

    def hold_vote(self, session: "Session", group: GroupRow, *, whole: bool) -> int:
        """PERMIT, ABSTAIN or REJECT. `whole` means that the whole gang will fit."""
        ...


class Starving(Protocol):
    """JobStarving: whether pods may be evicted for a job."""

    name: ClassVar[str]

    def starves(self, session: "Session", group: GroupRow) -> bool: ...


class Overused(Protocol):
    """Overused: whether a queue may start no further pods. It is called only if the switch is set
    to true."""

    name: ClassVar[str]

    def refuse_turn(self, session: "Session", queue: QueueRow) -> Reason | None: ...


class PodGate(Protocol):
    """Whether a pod can be placed at all, independent of nodes."""

    name: ClassVar[str]

    def refuse_pod(self, session: "Session", pod: PodRow) -> Reason | None: ...


class PodAffinityScorer(Protocol):
    """Scores of nodes for one pod, given the pods that are on them now."""

    name: ClassVar[str]

    def peer_score(self, session: "Session", pod: PodRow, mask: Mask) -> Ints | None:
        """Scores by node; None if the plugin does not distinguish them. `mask`: the nodes allowed
        for the pod."""
        ...


class VictimLimit(Protocol):
    """Limits how many pods may be evicted together."""

    name: ClassVar[str]

    def tally(self, session: "Session") -> "Tally":
        """A counter that already includes the victims of this session."""
        ...


class Tally(Protocol):
    """Counts victims against a limit."""

    def has_room(self, pods: Sequence[PodRow]) -> bool:
        """Whether these pods may be evicted in addition to those already counted."""
        ...

    def take(self, pods: Sequence[PodRow]) -> None:
        """Count these pods as evicted, too."""
        ...


class Fairness(Protocol):
    """Whether a job may be preempted by a job of equal priority. It is called only if
    `enablePreemptable: true` is configured."""

    name: ClassVar[str]

    def yields(self, session: "Session", *, taker: Amounts, giver: Amounts) -> bool:
        """`taker` and `giver` are the resources that preemptor and victim job would have afterwards."""
        ...


class _Victims(NamedTuple):
    """The plugins that restrict the victims of preempt or of reclaim."""

    guards: list[Any]
    limits: list[VictimLimit]
    keeps_gangs: bool


Tiers = Sequence[Sequence[tuple["PluginConf", Any]]]
"""The plugins with their configuration, by tier."""

_PARTS: Final[dict[tuple[type, str], bool]] = {}
"""By plugin type and method: looked up once per process instead of once per session."""


def _has(plugin: Any, method: str) -> bool:
    asked = (type(plugin), method)
    known = _PARTS.get(asked)
    if known is None:
        known = _PARTS[asked] = hasattr(plugin, method)
    return known


class Voters:
    """The plugins of a configuration at the extension points of this module."""

    def __init__(self, tiers: Tiers) -> None:
        self._tiers = tiers
        self.task_orders: list[TaskOrder] = self._all("taskorder", "task_key")
        self.pod_gates: list[PodGate] = self._all("predicate", "refuse_pod")
        self.peer_scorers: list[PodAffinityScorer] = self._all("nodeorder", "peer_score")
        # Claims are only waited for if a plugin handles volumes.
        self.binds_volumes = any(
            plugin.binds_volumes for plugin in self._all("predicate", "binds_volumes")
        )
        self.preemptive = bool(self._all("preemptive", "deserved"))
        """Whether a queue may reclaim only up to what it deserves."""
        self._overused: list[Overused] = self._written("overused", "refuse_turn")
        self._one_by_one: list[Any] = self._all("nodeorder", "wants_each")
        self.rations = bool(self._overused)
        """Whether a queue may have to stop between two pods of a job."""
        # Both methods of a plugin matter here, refusal and pass, so plugins are kept without a
        # method filter.
        self._enqueue = [
            [plugin for conf, plugin in tier if conf.on("jobenqueued")] for tier in tiers
        ]
        self._holding: list[list[HoldVote]] = self._by_tier("jobpipelined", "hold_vote")
        self._starving: list[list[Starving]] = self._by_tier("jobstarving", "starves")
        self._fair: list[Fairness] = self._written(PREEMPTABLE, "yields")
        self.equals_yield = bool(self._fair)
        """Whether preemption among jobs of equal priority is enabled at all."""
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
        """Plugins whose switch is explicitly true; these extension points are off by default."""
        return [
            plugin
            for tier in self._tiers
            for conf, plugin in tier
            if conf.switches.get(switch) is True and _has(plugin, method)
        ]

    def may_evict(self, session: "Session", pod: PodRow, *, switch: str) -> bool:
        """Whether no plugin protects the pod. `switch` is the action: PREEMPTABLE or RECLAIMABLE."""
        return all(guard.may_evict(session, pod) for guard in self._victims[switch].guards)

    def tallies(self, session: "Session", *, switch: str) -> list[Tally]:
        """New counters of all plugins that limit how many pods are evicted together."""
        return [limit.tally(session) for limit in self._victims[switch].limits]

    def yields(self, session: "Session", *, taker: Amounts, giver: Amounts) -> bool:
        """Whether a job is preempted by one of equal priority, given what both would have afterwards."""
        return self.equals_yield and all(
            plugin.yields(session, taker=taker, giver=giver) for plugin in self._fair
        )

    def keeps_gangs(self, *, switch: str) -> bool:
        """Whether no gang may fall below its minimum, not even if it is evicted as a whole."""
        return self._victims[switch].keeps_gangs

    def refuse_enqueue(self, session: "Session", group: GroupRow) -> Reason | None:
        """The first refusal; None if a tier enqueues the group or no plugin refuses it."""
        for tier in self._enqueue:
            for plugin in tier:
                if _has(plugin, "refuse_enqueue"):
                    reason: Reason | None = plugin.refuse_enqueue(session, group)
                    if reason is not None:
                        return reason
            # A pass ends the vote after its own tier, so refusals of the same tier still count.
            if any(_has(p, "lets_in") and p.lets_in(session, group) for p in tier):
                return None
        return None

    def holds(self, session: "Session", group: GroupRow, *, whole: bool) -> bool:
        """Whether the job keeps a reservation. Without a vote it does if the whole gang will fit."""
        for tier in self._holding:
            votes = [plugin.hold_vote(session, group, whole=whole) for plugin in tier]
            # A Reject wins over a Permit of the same tier.
            if REJECT in votes:
                return False
            if PERMIT in votes:
                return True
        return whole

    def starving(self, session: "Session", group: GroupRow) -> bool:
        """The first tier with plugins decides, and all of its plugins must agree."""
        for tier in self._starving:
            # A tier without such a plugin has no opinion.
            if tier:
                return all(plugin.starves(session, group) for plugin in tier)
        return False

    def refuse_turn(self, session: "Session", queue: QueueRow) -> Reason | None:
        """Why a queue may start no further pods; None if it may."""
        for plugin in self._overused:
            reason = plugin.refuse_turn(session, queue)
            if reason is not None:
                return reason
        return None

    def refuse_pod(self, session: "Session", pod: PodRow) -> Reason | None:
        """Why a pod cannot be placed on any node; None if no plugin refuses it."""
        for plugin in self.pod_gates:
            reason = plugin.refuse_pod(session, pod)
            if reason is not None:
                return reason
        return None

    def peer_score(self, session: "Session", pod: PodRow, mask: Mask) -> Ints | None:
        """The sum over plugins; None if no plugin distinguishes the nodes."""
        found = [plugin.peer_score(session, pod, mask) for plugin in self.peer_scorers]
        told = [score for score in found if score is not None]
        return np.sum(told, axis=0, dtype=np.int64) if told else None

    def one_by_one(self, group: GroupRow) -> bool:
        """Whether the node of a pod of this group depends on the pods placed before it."""
        return any(plugin.wants_each(group) for plugin in self._one_by_one)

    def in_task_order(
        self, session: "Session", group: GroupRow, runs: Sequence[Run]
    ) -> tuple[Run, ...]:
        """Runs in task order. Ties are broken by task and index, so the order is total."""
        # Most jobs have one run, for which no keys are needed.
        if len(runs) < 2:
            return tuple(runs)
        # The index breaks ties, so that runs themselves are never compared.
        keyed = sorted((self._task_key(session, group, run), at) for at, run in enumerate(runs))
        return tuple(runs[at] for _, at in keyed)

    def _task_key(self, session: "Session", group: GroupRow, run: Run) -> tuple[Any, ...]:
        keys = [plugin.task_key(session, group, run) for plugin in self.task_orders]
        return (*keys, (run.task, run.pods[0].index, run.pods[0].name))
