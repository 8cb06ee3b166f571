"""The shell: follow pods and their controllers, lead, and keep the group of each in step.

Work is keyed by namespace and the uid that names the group: a reference to a uid of another namespace,
which anybody can write, concerns nobody there. A new leader first waits until its view has reached
what the API server had when it began to lead.
"""

import os
from typing import Final

from vc_messages.effects import CreateObject, DeleteObject, Effect, PatchObject
from vc_messages.view import Change
from vc_model.kinds import (
    BATCHJOBS,
    DAEMONSETS,
    PODGROUPS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    Kind,
)
from vc_model.kubernetes import Workload
from vc_model.meta import ApiObject, object_key, split_key
from vc_model.pod import Pod
from vc_model.scheduling import PodGroup
from vc_podgroup_controller.config import Config
from vc_podgroup_controller.logic import PREFIX, Observed, decide, group_key
from vc_runtime.boundaries import APPLY, DECIDE
from vc_runtime.context import Context
from vc_runtime.effects import OutcomeStatus
from vc_runtime.expectations import Expectations
from vc_runtime.job_fields import fields_of
from vc_runtime.lead import Lead
from vc_runtime.workqueue import WorkQueue

POLL_SECONDS: Final = 0.1
POLL_SECONDS_MIN: Final = 0.001
UNSEEN_SECONDS: Final = 0.25
GROUPS_PER_TURN_MAX: Final = 100

REST_SECONDS: Final = 0.05
"""Between two reads of news: most pods are of vcjobs and none of our business."""
_OWNERS: Final = (REPLICASETS, STATEFULSETS, DAEMONSETS, BATCHJOBS)
_KINDS: Final = (PODS, PODGROUPS, REPLICASETS, STATEFULSETS, DAEMONSETS, BATCHJOBS)


class PodGroupController:
    """One replica; the leader writes."""

    def __init__(self, context: Context, config: Config) -> None:
        self.name = context.name
        self._context = context
        self._config = config
        self._lead = Lead(context, _KINDS, rest_seconds=REST_SECONDS)
        self._may_work = False
        """We lead, and the view is complete and fresh."""
        self._start_over()

    def _start_over(self) -> None:
        self._queue = WorkQueue(self._context)
        self._expectations = Expectations()
        self._pods: dict[str, dict[str, Pod]] = {}
        """Pods that are ours to group, by group and key."""
        self._owners: dict[str, Workload] = {}
        self._ended: set[str] = set()
        """uids of groups whose deletion the API server has taken, until the view shows it: never more
        than there are groups in the view."""

    def unready(self) -> str:
        return self._lead.unready()

    async def run(self) -> None:
        await self._lead.run(self._follow())

    async def _follow(self) -> None:
        while True:
            batch = await self._lead.follower.poll(wait_seconds=self._wait_seconds())
            if batch.rebuilt:
                self._start_over()
                self._context.problems.forget(APPLY)
            for change in batch.changes:
                with self._context.problems.contain(APPLY, change.kind, change.key):
                    self._take(change)
            self._may_work = await self._lead.may_decide()
            if self._may_work:
                await self._work()

    def _wait_seconds(self) -> float:
        """Work that is due is worth waking for only if we may do it: a standby's is always due."""
        if not self._may_work:
            return POLL_SECONDS
        return max(self._queue.seconds_until_due(at_most=POLL_SECONDS), POLL_SECONDS_MIN)

    # -- being told ------------------------------------------------------------------------------

    def _take(self, change: Change) -> None:
        before, after = change.before, change.after
        if isinstance(before, PodGroup) and _uid(after) != before.metadata.uid:
            self._ended.discard(before.metadata.uid)
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
            if self._expectations.unseen(key, self._lead.view):
                self._queue.add(key, delay=UNSEEN_SECONDS)
                continue
            seen = self._observe(key)
            effects = self._decide(seen) if seen is not None else None
            if seen is not None and effects is not None:
                await self._apply(key, seen, effects)

    def _observe(self, key: str) -> Observed | None:
        pods, owner = self._pods.get(key, {}), self._owners.get(key)
        if owner is None and not pods:
            return None
        group = self._lead.view.get(PODGROUPS, _group_key(key))
        if isinstance(group, PodGroup) and group.metadata.uid in self._ended:
            group = None
        return Observed(
            pods=tuple(pods.values()),
            owner=owner,
            podgroup=group if isinstance(group, PodGroup) else None,
        )

    def _decide(self, seen: Observed) -> list[Effect] | None:
        """One group that cannot be decided on is left out until one of its objects changes."""
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
                self._context.log.info("not done: %s", outcome.error, extra=_fields(key, seen))
                continue
            if kind is PODGROUPS and (line := what_was_done(outcome.effect)):
                self._context.log.info(line, len(seen.pods), extra=_fields(key, seen))
            if outcome.written is not None and kind in _KINDS:
                self._expectations.expect(key, [(kind, outcome.written)])
            elif seen.podgroup is not None and outcome.written is None:
                self._ended.add(seen.podgroup.metadata.uid)
        if failed:
            self._queue.retry(key)
        else:
            self._queue.succeeded(key)


def _kind_of(workload: ApiObject) -> Kind:
    return next((kind for kind in _OWNERS if kind.kind == workload.kind), REPLICASETS)


def what_was_done(effect: Effect) -> str:
    """What became of the pod group; takes the number of its pods."""
    match effect:
        case CreateObject():
            return "made the pod group of %d pods"
        case PatchObject():
            return "changed the pod group of %d pods"
        case DeleteObject():
            return "the pod group goes; it has %d pods"
    return ""


def _fields(key: str, seen: Observed) -> dict[str, str | int]:
    """The group, and its vcjob and trace where its pods have one."""
    anyone = seen.owner or next(iter(seen.pods), None)
    return {**fields_of(anyone), "group": _group_key(key)}


def _group_key(key: str) -> str:
    """Of the pod group that work is about."""
    namespace, uid = split_key(key)
    return object_key(namespace, PREFIX + uid)


def _uid(obj: ApiObject | None) -> str:
    return obj.metadata.uid if obj is not None else ""


def build(context: Context, config: Config | None = None) -> PodGroupController:
    """The service on its adapters; without a Config the environment says."""
    return PodGroupController(context, config or Config.from_env(os.environ))
