"""The shell: follow pods and their controllers, lead, and reconcile each PodGroup.

Work is keyed by namespace and the uid that names the PodGroup. Owner references can be written by
any user, so a uid of another namespace has no effect there. A new leader first waits until its view
has reached the state of the API server at the time it began to lead.
"""

import os
from typing import Final

from vc.messages.effects import CreateObject, DeleteObject, Effect, PatchObject
from vc.messages.view import Change
from vc.model.api.kinds import (
    BATCHJOBS,
    DAEMONSETS,
    PODGROUPS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    Kind,
)
from vc.model.api.kubernetes import Workload
from vc.model.api.meta import ApiObject, object_key, split_key
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup
from vc.podgroup_controller.config import Config
from vc.podgroup_controller.logic import PREFIX, Observed, decide, group_key
from vc.runtime.applying.effects import OutcomeStatus
from vc.runtime.applying.expectations import Expectations
from vc.runtime.applying.workqueue import WorkQueue
from vc.runtime.containment.boundaries import APPLY, DECIDE
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.job_fields import fields_of
from vc.runtime.leading.replica import Lead

POLL_SECONDS: Final = 0.1
POLL_SECONDS_MIN: Final = 0.001
"""Lower limit, so that work that is always due does not become a busy loop."""
UNSEEN_SECONDS: Final = 0.25
"""Delay of a reconcile whose last write the view does not show yet."""
GROUPS_PER_TURN_MAX: Final = 100
"""Limit of reconciles between two polls, so that the view does not become stale meanwhile."""

REST_SECONDS: Final = 0.05
"""Pause between two polls. Most pods belong to vcjobs and are not handled here."""
_OWNERS: Final = (REPLICASETS, STATEFULSETS, DAEMONSETS, BATCHJOBS)
FOLLOWED: Final = (PODS, PODGROUPS, REPLICASETS, STATEFULSETS, DAEMONSETS, BATCHJOBS)


class PodGroupController:
    """One replica of the podgroup-controller. The leader writes."""

    def __init__(self, context: Context, config: Config) -> None:
        self.name = context.name
        self._context = context
        self._config = config
        self._lead = Lead(context, FOLLOWED, rest_seconds=REST_SECONDS)
        self._may_work = False
        """Whether this replica leads, and the view is complete and fresh."""
        self._start_over()

    def _start_over(self) -> None:
        self._queue = WorkQueue(self._context)
        self._expectations = Expectations()
        self._pods: dict[str, dict[str, Pod]] = {}
        """Pods to group, by PodGroup and key."""
        self._owners: dict[str, Workload] = {}
        self._ended: set[str] = set()
        """uids of PodGroups whose deletion the API server has accepted, until the view shows it.

        The set is never larger than the number of PodGroups in the view.
        """

    def unready(self) -> str:
        return self._lead.unready()

    async def run(self) -> None:
        await self._lead.run(self._follow())

    async def _follow(self) -> None:
        while True:
            batch = await self._lead.follower.poll(wait_seconds=self._wait_seconds())
            # State that was derived from the old view is not valid for the new one.
            if batch.rebuilt:
                self._start_over()
                self._context.problems.forget(APPLY)
            for change in batch.changes:
                with self._context.problems.contain(APPLY, change.kind, change.key):
                    self._index_change(change)
            self._may_work = await self._lead.may_decide()
            if self._may_work:
                await self._work()

    def _wait_seconds(self) -> float:
        """Seconds until work is due.

        Due work counts only if this replica may do it: work of a standby is always due.
        """
        if not self._may_work:
            return POLL_SECONDS
        return max(self._queue.seconds_until_due(at_most=POLL_SECONDS), POLL_SECONDS_MIN)

    # -- following -------------------------------------------------------------------------------

    def _index_change(self, change: Change) -> None:
        """Update the pods and owners by PodGroup, and queue the PodGroups for a reconcile."""
        before, after = change.before, change.after
        # A PodGroup of a new uid proves that the old one is gone.
        if isinstance(before, PodGroup) and _uid(after) != before.metadata.uid:
            self._ended.discard(before.metadata.uid)
        # Both states are used, because a change may move a pod from one PodGroup to another.
        for obj in (before, after):
            if obj is None:
                continue
            group = group_key(obj, self._config.scheduler_names)
            if not group:
                continue
            self._store(group, change.key, obj, present=obj is after)
            self._queue.add(group)

    def _store(self, group: str, key: str, obj: ApiObject, *, present: bool) -> None:
        if isinstance(obj, Pod):
            pods = self._pods.setdefault(group, {})
            if present:
                pods[key] = obj
            else:
                pods.pop(key, None)
            # Empty tables are removed, so that memory follows the number of existing pods.
            if not pods:
                del self._pods[group]
        elif isinstance(obj, Workload):
            if present:
                self._owners[group] = obj
            else:
                self._owners.pop(group, None)

    # -- acting ----------------------------------------------------------------------------------

    async def _work(self) -> None:
        for key in self._queue.take_due(limit=GROUPS_PER_TURN_MAX):
            # Until the view shows the last writes, a decision would repeat them.
            if self._expectations.unseen(key, self._lead.view):
                self._queue.add(key, delay=UNSEEN_SECONDS)
                continue
            seen = self._observe(key)
            effects = self._decide(seen) if seen is not None else None
            if seen is not None and effects is not None:
                await self._apply(key, seen, effects)

    def _observe(self, key: str) -> Observed | None:
        pods, owner = self._pods.get(key, {}), self._owners.get(key)
        # Without pods and workload there is nothing to decide, and the PodGroup has no owner left.
        if owner is None and not pods:
            return None
        group = self._lead.view.get(PODGROUPS, _group_key(key))
        # The API server has accepted its deletion, so it must not be updated any more.
        if isinstance(group, PodGroup) and group.metadata.uid in self._ended:
            group = None
        return Observed(
            pods=tuple(pods.values()),
            owner=owner,
            podgroup=group if isinstance(group, PodGroup) else None,
        )

    def _decide(self, seen: Observed) -> list[Effect] | None:
        """Decide on one PodGroup. One that fails is left out until one of its objects changes."""
        example = seen.owner or seen.pods[0]
        kind = PODS if isinstance(example, Pod) else _kind_of(example)
        contained = self._context.problems.contain(
            DECIDE, kind, example.key, uid=example.metadata.uid
        )
        effects: list[Effect] = []
        with contained:
            effects = decide(seen)
        return None if contained.failed else effects

    async def _apply(self, key: str, seen: Observed, effects: list[Effect]) -> None:
        failed = False
        for outcome in await self._lead.applier.apply(effects, epoch=self._lead.epoch):
            kind = getattr(outcome.effect, "kind", None)
            if outcome.status is not OutcomeStatus.DONE:
                failed = True
                self._context.log.info(
                    "write not done status=%s error=%s",
                    outcome.status.value,
                    outcome.error,
                    extra=_fields(key, seen),
                )
                continue
            if kind is PODGROUPS and (event := log_event(outcome.effect)):
                self._context.log.info(
                    "%s pods=%d", event, len(seen.pods), extra=_fields(key, seen)
                )
            if outcome.written is not None and kind in FOLLOWED:
                self._expectations.expect(key, [(kind, outcome.written)])
            # A deletion has no written version, so it is remembered by uid.
            elif seen.podgroup is not None and outcome.written is None:
                self._ended.add(seen.podgroup.metadata.uid)
        if failed:
            self._queue.retry(key)
        else:
            self._queue.succeeded(key)


def _kind_of(workload: ApiObject) -> Kind:
    return next((kind for kind in _OWNERS if kind.kind == workload.kind), REPLICASETS)


def log_event(effect: Effect) -> str:
    """The event to log for a write of the PodGroup, or empty."""
    match effect:
        case CreateObject():
            return "pod group created"
        case PatchObject():
            return "pod group changed"
        case DeleteObject():
            return "pod group deleted"
    return ""


def _fields(key: str, seen: Observed) -> dict[str, str | int]:
    """Log fields: the PodGroup, and the vcjob and trace of its pods if they have one."""
    example = seen.owner or next(iter(seen.pods), None)
    return {**fields_of(example), "group": _group_key(key)}


def _group_key(key: str) -> str:
    """The key of the PodGroup for a key of the work queue."""
    namespace, uid = split_key(key)
    return object_key(namespace, PREFIX + uid)


def _uid(obj: ApiObject | None) -> str:
    return obj.metadata.uid if obj is not None else ""


def build(context: Context, config: Config | None = None) -> PodGroupController:
    """Create the service. Without a Config, the environment is read."""
    return PodGroupController(context, config or Config.from_env(os.environ))
