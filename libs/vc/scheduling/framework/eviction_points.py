"""Extension points that restrict victims of preempt and reclaim."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from vc.scheduling.framework.extension_point import Combine, ConfiguredPlugins, ExtensionPoint
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.rows import PodRow

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

PREEMPTABLE: Final = "preemptable"
RECLAIMABLE: Final = "reclaimable"


class Preemptable(Protocol):
    """Which pods may be evicted by preempt."""

    def preemptable(self, session: "Session", pod: PodRow) -> bool: ...


class Reclaimable(Protocol):
    """Which pods may be evicted by reclaim."""

    def reclaimable(self, session: "Session", pod: PodRow) -> bool: ...


class VictimCounter(Protocol):
    """Counts victims against a limit."""

    def allows(self, pods: Sequence[PodRow]) -> bool:
        """Whether these pods may be evicted in addition to those already counted."""
        ...

    def count(self, pods: Sequence[PodRow]) -> None:
        """Count these pods as evicted, too."""
        ...


class VictimLimit(Protocol):
    """Limits how many pods may be evicted together."""

    def victim_limit_counter(self, session: "Session") -> VictimCounter:
        """A counter that already includes the victims of this session."""
        ...


class VictimGangMinimum(Protocol):
    """Whether no gang may fall below its minimum, not even if it is evicted as a whole."""

    def victim_gang_minimum(self) -> bool: ...


class EqualPriorityPreemptable(Protocol):
    """Whether a job may be preempted by a job of equal priority."""

    def equal_priority_preemptable(
        self, session: "Session", *, preemptor: Amounts, victim: Amounts
    ) -> bool:
        """`preemptor` and `victim` are the resources that the two jobs would have afterwards."""
        ...


PREEMPT: Final = ExtensionPoint[Preemptable](Preemptable, Combine.ALL_AGREE, PREEMPTABLE)
RECLAIM: Final = ExtensionPoint[Reclaimable](Reclaimable, Combine.ALL_AGREE, RECLAIMABLE)
# The next two questions are the same for both actions, and each action has its switch.
PREEMPT_LIMIT: Final = ExtensionPoint[VictimLimit](VictimLimit, Combine.ALL_AGREE, PREEMPTABLE)
RECLAIM_LIMIT: Final = ExtensionPoint[VictimLimit](VictimLimit, Combine.ALL_AGREE, RECLAIMABLE)
PREEMPT_GANG_MINIMUM: Final = ExtensionPoint[VictimGangMinimum](
    VictimGangMinimum, Combine.ANY_AGREES, PREEMPTABLE, opt_in=True
)
RECLAIM_GANG_MINIMUM: Final = ExtensionPoint[VictimGangMinimum](
    VictimGangMinimum, Combine.ANY_AGREES, RECLAIMABLE, opt_in=True
)
EQUAL_PRIORITY_PREEMPTABLE: Final = ExtensionPoint[EqualPriorityPreemptable](
    EqualPriorityPreemptable, Combine.ALL_AGREE, PREEMPTABLE, opt_in=True
)


class _Rules(NamedTuple):
    """What restricts the victims of one of the two actions."""

    limits: list[VictimLimit]
    gang_minimum: bool


class EvictionPoints:
    """Restrictions of victims over all plugins of a configuration."""

    def __init__(self, plugins: ConfiguredPlugins) -> None:
        self._preemptable = plugins.all(PREEMPT)
        self._reclaimable = plugins.all(RECLAIM)
        self._equal_priority = plugins.all(EQUAL_PRIORITY_PREEMPTABLE)
        self.equal_priority_enabled = bool(self._equal_priority)
        """Whether preemption among jobs of equal priority is enabled at all."""
        self._rules = {
            PREEMPTABLE: _Rules(
                limits=plugins.all(PREEMPT_LIMIT),
                gang_minimum=any(
                    p.victim_gang_minimum() for p in plugins.all(PREEMPT_GANG_MINIMUM)
                ),
            ),
            RECLAIMABLE: _Rules(
                limits=plugins.all(RECLAIM_LIMIT),
                gang_minimum=any(
                    p.victim_gang_minimum() for p in plugins.all(RECLAIM_GANG_MINIMUM)
                ),
            ),
        }

    def may_evict(self, session: "Session", pod: PodRow, *, switch: str) -> bool:
        """Whether no plugin protects the pod. `switch` is the action: PREEMPTABLE or RECLAIMABLE."""
        if switch == PREEMPTABLE:
            return all(plugin.preemptable(session, pod) for plugin in self._preemptable)
        return all(plugin.reclaimable(session, pod) for plugin in self._reclaimable)

    def victim_counters(self, session: "Session", *, switch: str) -> list[VictimCounter]:
        """New counters of all plugins that limit how many pods are evicted together."""
        return [plugin.victim_limit_counter(session) for plugin in self._rules[switch].limits]

    def keeps_gang_minimum(self, *, switch: str) -> bool:
        """Whether no gang may fall below its minimum, not even if it is evicted as a whole."""
        return self._rules[switch].gang_minimum

    def equal_priority_preemptable(
        self, session: "Session", *, preemptor: Amounts, victim: Amounts
    ) -> bool:
        """Whether a job is preempted by one of equal priority, given what both would have afterwards."""
        return self.equal_priority_enabled and all(
            plugin.equal_priority_preemptable(session, preemptor=preemptor, victim=victim)
            for plugin in self._equal_priority
        )
