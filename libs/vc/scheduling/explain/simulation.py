"""Simulates a remedy for one waiting job.

The remedy is applied to a copy of the objects. Then sessions run until the job starts or nothing
changes any more.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from vc.messages.sessions import JobReason, Unblock
from vc.model.api.kinds import Kind
from vc.model.api.meta import ApiObject
from vc.scheduling.cache.cluster_cache import KINDS
from vc.scheduling.conf.model import DEFAULT_SCHEDULER_NAMES, Conf
from vc.scheduling.explain.apply_remedy import apply_remedy
from vc.scheduling.explain.cluster_objects import CannotApplyError
from vc.scheduling.what_if import Outcome, Simulation

WAKES_MAX: Final = 3
"""Number of registered wake-ups that a simulation follows."""
HORIZON_SECONDS: Final = 120.0
"""Latest wake-up that a simulation follows, in seconds. Grace periods of victims do not count."""

_KIND_OF: Final[dict[type, Kind]] = {kind.type: kind for kind in KINDS}


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state from which simulations start."""

    objects: list[ApiObject]
    conf: Conf
    now: float
    scheduler_names: tuple[str, ...] = DEFAULT_SCHEDULER_NAMES
    make_pods: Callable[[str], Iterable[ApiObject]] = lambda _: ()
    """Creates the missing pods of an enqueued group, as the job controller would."""


class Scene:
    """A copy of the objects that a remedy may change; implements `cluster_objects.Cluster`."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._objects = {(_KIND_OF[type(o)].short, o.key): o for o in snapshot.objects}
        self.now = snapshot.now

    def objects(self) -> list[ApiObject]:
        return list(self._objects.values())

    def put(self, *objects: ApiObject) -> None:
        for obj in objects:
            self._objects[_KIND_OF[type(obj)].short, obj.key] = obj

    def delete(self, kind: Kind, key: str) -> None:
        if self._objects.pop((kind.short, key), None) is None:
            raise CannotApplyError(f"there is no {kind.kind} {key!r}")


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a simulation."""

    started: Mapping[str, object]
    """Keys of the groups whose pods were bound and that no longer wait."""
    after_seconds: float = 0.0
    victims: tuple[str, ...] = ()
    """Pods that the scheduler evicts for the group."""
    reasons: Mapping[str, JobReason] = {}
    """Reasons of all groups that still wait at the end."""


def simulate(snapshot: Snapshot, group: str = "", remedy: Unblock | None = None) -> Simulated:
    """Run sessions, with the remedy if there is one, until the group starts or nothing changes.

    Raises CannotApplyError when the remedy cannot be applied.
    """
    scene = Scene(snapshot)
    if remedy is not None:
        apply_remedy(scene, remedy, group)
    simulation = Simulation(
        scene.objects(),
        snapshot.conf,
        now=scene.now,
        scheduler_names=snapshot.scheduler_names,
        make_pods=snapshot.make_pods,
    )
    outcome = simulation.run_sessions(until=group)
    placed, victims = list(outcome.placements), _victims(outcome, group)
    # A session may register a later time, such as the end of a bind backoff or a cooldown. The
    # clock advances to it, so that a remedy is not rejected only because it needs a moment.
    for _ in range(WAKES_MAX):
        wake_at = outcome.wake_at
        if outcome.starts(group) or wake_at is None or wake_at > snapshot.now + HORIZON_SECONDS:
            break
        simulation.now = max(simulation.now, wake_at)
        outcome = simulation.run_sessions(until=group)
        placed += outcome.placements
        victims += _victims(outcome, group)
    return Simulated(
        # A group with placed pods that still has a reason lacks some of its minimum, so it did not
        # start.
        started={key: None for key in placed if key not in outcome.reasons},
        after_seconds=simulation.now - snapshot.now,
        victims=tuple(victims),
        reasons=outcome.reasons,
    )


def _victims(outcome: Outcome, group: str) -> list[str]:
    return [victim.pod for victim in outcome.victims if victim.made_for == group]
