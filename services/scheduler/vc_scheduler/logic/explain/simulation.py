"""Simulate a remedy for one waiting job: apply it to a copy of the objects, run sessions, see whether it starts."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from vc_messages.sessions import JobReason, Unblock
from vc_model.kinds import Kind
from vc_model.meta import ApiObject
from vc_scheduler.logic.columns import KINDS
from vc_scheduler.logic.conf import DEFAULT_SCHEDULER_NAMES, Conf
from vc_scheduler.logic.explain.apply_remedy import apply_remedy
from vc_scheduler.logic.explain.cluster_objects import CannotApplyError
from vc_scheduler.logic.what_if import Outcome, Trial

WAKES_MAX: Final = 3
"""Times a simulation goes on at the moment that its last session asked for."""
HORIZON_SECONDS: Final = 120.0
"""A remedy helps within this time, victims' grace periods aside."""

_KIND_OF: Final[dict[type, Kind]] = {kind.type: kind for kind in KINDS}


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What simulations start from."""

    objects: list[ApiObject]
    conf: Conf
    now: float
    scheduler_names: tuple[str, ...] = DEFAULT_SCHEDULER_NAMES
    make_pods: Callable[[str], Iterable[ApiObject]] = lambda _: ()
    """The pods of a group that is enqueued, as far as they do not exist."""


class Scene:
    """A copy of the objects that a remedy changes; see `cluster_objects.Cluster`."""

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
    """What became of the job."""

    started: Mapping[str, object]
    """Groups whose pods were bound and that wait no longer, by key."""
    after_seconds: float = 0.0
    victims: tuple[str, ...] = ()
    """Pods that the scheduler evicts for it."""
    reasons: Mapping[str, JobReason] = {}
    """Of all groups that wait in the end."""


def simulate(snapshot: Snapshot, group: str = "", remedy: Unblock | None = None) -> Simulated:
    """With the remedy, or without any, until the group starts or nothing more happens.

    CannotApplyError when the remedy cannot be applied.
    """
    scene = Scene(snapshot)
    if remedy is not None:
        apply_remedy(scene, remedy, group)
    trial = Trial(
        scene.objects(),
        snapshot.conf,
        now=scene.now,
        scheduler_names=snapshot.scheduler_names,
        make_pods=snapshot.make_pods,
    )
    outcome = trial.settle(until=group)
    placed, victims = list(outcome.placements), _victims(outcome, group)
    for _ in range(WAKES_MAX):
        wake_at = outcome.wake_at
        if outcome.starts(group) or wake_at is None or wake_at > snapshot.now + HORIZON_SECONDS:
            break
        trial.now = max(trial.now, wake_at)
        outcome = trial.settle(until=group)
        placed += outcome.placements
        victims += _victims(outcome, group)
    return Simulated(
        started={key: None for key in placed if key not in outcome.reasons},
        after_seconds=trial.now - snapshot.now,
        victims=tuple(victims),
        reasons=outcome.reasons,
    )


def _victims(outcome: Outcome, group: str) -> list[str]:
    return [victim.pod for victim in outcome.victims if victim.made_for == group]
