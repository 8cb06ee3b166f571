"""The work of a phase: effects on pods, PodGroup, claims and plugins.

It is derived from the observation under the new status, so intent is always written before anything
here is done. All effects follow from what is missing or superfluous; no counters are kept.
"""

from typing import Final

import msgspec

from vc.job_controller.logic import plugins
from vc.job_controller.logic.lifecycle.dependencies import released_tasks
from vc.job_controller.logic.lifecycle.scale_down import has_surplus, plugins_applied, to_delete
from vc.job_controller.logic.observation import Observation, is_stale
from vc.job_controller.logic.observed import Blocker, live_job, sooner
from vc.job_controller.logic.phases import EXPIRING, FINAL, LIVE, RESTARTING
from vc.job_controller.logic.podgroup import (
    awaits_note,
    delete_superfluous,
    drop_podgroup,
    is_enqueued,
    keep_podgroup,
    wants_annotations,
)
from vc.jobs.defaults import with_defaults
from vc.jobs.podgroup import min_member, podgroup_spec
from vc.jobs.pods.decoration import Variables
from vc.jobs.pods.min_resources import min_resources
from vc.jobs.pods.pod_maker import PodMaker, pod_name
from vc.jobs.pods.volumes import claim_effects, claim_notes
from vc.messages.effects import DeleteObject, Effect, RecordEvent
from vc.messages.plugins import PluginRequest
from vc.model.api.job import Job, TaskSpec
from vc.model.api.kinds import JOBS, PODS
from vc.model.api.pod import Pod
from vc.model.values.quantity import QuantityError
from vc.model.values.times import parse_time

CREATES_PER_DECISION_MAX: Final = 500
"""Pods created in one decision. The rest follows when these are
observed, so no decision is slow."""

UNSURE_WAKE_SECONDS: Final = 0.25
"""When to reconcile again if a pod may only seem lost."""

QUEUE_WAKE_SECONDS: Final = 5.0

PLUGIN_WARNING: Final = "PluginWarning"
"""Reason of the Event on a job whose plugin ignores an argument."""


class UnusableTemplateError(ValueError):
    """A template from which no pod can be made. The message names
    the task but quotes no content."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """The effects of a phase, and the blocker if there is one."""

    effects: tuple[Effect, ...] = ()
    requests: tuple[PluginRequest, ...] = ()
    wake_after_seconds: float | None = None
    blocker: Blocker | None = None
    notes: dict[str, str] = {}
    """Notes to add. An empty value removes a note."""
    plugins_for: str = ""
    wants_manifest: bool = False
    late: bool = False
    """Some work waits until counters are due."""


def work(observation: Observation, now: float) -> Work:
    """The work of the current phase."""
    if observation.phase in LIVE:
        return _live(observation)
    if observation.phase == RESTARTING:
        # A restart of a target keeps the PodGroup; only one of an earlier attempt is deleted.
        stale = observation.podgroup is not None and is_stale(observation.job, observation.podgroup)
        dropped = drop_podgroup(observation) if stale else []
        return _with_effects(_shrinking(observation), *dropped)
    return _over(observation, now)


def _ending(observation: Observation, *, answered: bool = False) -> list[Effect]:
    """Deletions of pods that were not requested yet."""
    return [_delete(member.pod) for member in to_delete(observation, answered=answered)]


def _live(observation: Observation) -> Work:
    """Keep the PodGroup up to date, request decorations, then create the missing pods."""
    job = observation.job
    # The scheduler does not enqueue a group without its queue, so pods would only wait.
    if observation.seen.queue is None:
        missing = Blocker("QueueNotFound", f"queue {job.spec.queue!r} does not exist")
        return _blocked(observation, missing, wake_after_seconds=QUEUE_WAKE_SECONDS)
    released = released_tasks(observation)
    try:
        amounts = min_resources(
            job,
            released,
            member_count=min_member(job, released),
            priorities=observation.seen.priorities,
        )
    except QuantityError as error:
        return _blocked(observation, Blocker("InvalidResources", str(error)))
    # The PodGroup comes first: the scheduler must know the gang before it sees any of its pods.
    group = [
        *keep_podgroup(observation, podgroup_spec(job, released, amounts)),
        *delete_superfluous(observation),
    ]
    missing_pods = _missing(observation, released)
    # A pod that only seems lost is not created again. The next decision has newer pods.
    recheck_after = UNSURE_WAKE_SECONDS if any(observation.unsure.values()) else None
    # The usual case: nothing is missing and plugins are up to date, so no reply is needed.
    if not missing_pods and plugins_applied(observation):
        gone = (*_ending(observation), *_blocking(observation))
        return Work(
            effects=(*gone, *group),
            wake_after_seconds=recheck_after,
            wants_manifest=wants_annotations(observation),
            late=awaits_note(observation),
        )
    replies = plugins.collect_replies(observation)
    gone = (*_ending(observation, answered=replies.complete), *_blocking(observation))
    blocker = replies.blocker or (_missing_claims(observation) if missing_pods else None)
    made: list[Effect] = []
    wake = replies.wake_after_seconds
    wants_manifest = wants_annotations(observation)
    makes = bool(missing_pods) or _makes_claims(observation)
    # Pods are created only after the scheduler enqueued the PodGroup, so that pending pods of
    # waiting jobs do not load the API server.
    if makes and replies.complete and blocker is None and is_enqueued(observation):
        if observation.seen.manifest is None:
            wants_manifest = True
        else:
            made, more = _make(observation, observation.seen.manifest, missing_pods, replies)
            wake = 0.0 if more else wake
    return Work(
        effects=(
            *gone,
            *group,
            *made,
            *_waiting_event(observation),
            *_warnings(observation, replies),
        ),
        requests=replies.requests,
        wake_after_seconds=sooner(wake, recheck_after),
        blocker=blocker,
        notes={**plugins.plugin_notes(observation), **claim_notes(job)} if replies.complete else {},
        plugins_for=observation.hash if replies.complete else "",
        wants_manifest=wants_manifest,
        late=awaits_note(observation),
    )


def _blocked(
    observation: Observation, blocker: Blocker, wake_after_seconds: float | None = None
) -> Work:
    """Create no pod, but still delete pods that are superfluous."""
    shrinking = _with_effects(_shrinking(observation), *_blocking(observation))
    wake = sooner(wake_after_seconds, shrinking.wake_after_seconds)
    return msgspec.structs.replace(shrinking, blocker=blocker, wake_after_seconds=wake)


def _shrinking(observation: Observation) -> Work:
    """Delete pods. Pods beyond the replicas are deleted only after the plugins have answered."""
    if plugins_applied(observation) or not has_surplus(observation):
        return Work(effects=tuple(_ending(observation)))
    replies = plugins.collect_replies(observation)
    return Work(
        effects=tuple(_ending(observation, answered=replies.complete)),
        requests=replies.requests,
        wake_after_seconds=replies.wake_after_seconds,
        blocker=replies.blocker,
        plugins_for=observation.hash if replies.complete else "",
    )


def _with_effects(done: Work, *more: Effect) -> Work:
    return msgspec.structs.replace(done, effects=(*done.effects, *more))


def _missing_claims(observation: Observation) -> Blocker | None:
    """Blocker for claims that do not exist. Their pods would hang
    on nodes and keep the capacity."""
    names = ", ".join(repr(name) for name in observation.seen.missing_claims)
    if not names:
        return None
    namespace = observation.job.metadata.namespace
    return Blocker("ClaimNotFound", f"volume claims that do not exist in {namespace}: {names}")


def _missing(
    observation: Observation, released: list[TaskSpec]
) -> list[tuple[TaskSpec, list[int]]]:
    """Indices to create: without a pod, not succeeded, and not merely unobserved."""
    missing: list[tuple[TaskSpec, list[int]]] = []
    for task in released:
        # A completed index may have no pod any more, and must not run again.
        taken = (
            observation.members.of(task.name).keys()
            | observation.counted.completed[task.name]
            | observation.unsure.get(task.name, frozenset())
        )
        free = [index for index in range(task.replicas) if index not in taken]
        if free:
            missing.append((task, free))
    return missing


def _make(
    observation: Observation,
    manifest: Job,
    missing: list[tuple[TaskSpec, list[int]]],
    replies: plugins.CollectedReplies,
) -> tuple[list[Effect], bool]:
    """Create claims before the first pod, then pods up to the limit;
    also return whether more are left.

    The observed job determines which pods are created. The job that was read from the API
    server provides their content.
    """
    job = with_defaults(
        msgspec.structs.replace(observation.job, spec=manifest.spec),
        observation.seen.scheduler_name,
    )
    whole = {task.name: task for task in job.spec.tasks}
    # Names of pods of an earlier job are free only after those pods are gone.
    blocked = {pod.metadata.name for pod in observation.members.of_other_jobs}
    made: list[Effect] = []
    if _makes_claims(observation):
        made += claim_effects(job)
    left, variables = CREATES_PER_DECISION_MAX, Variables()
    group = (
        observation.podgroup.metadata.name
        if observation.podgroup is not None
        else job.metadata.name
    )
    forwarded = bool(observation.seen.queue and observation.seen.queue.spec.extend_clusters)
    for task, indices in missing:
        free = [i for i in indices if pod_name(job, task.name, i) not in blocked]
        if left <= 0:
            return made, True
        try:
            maker = PodMaker(
                job,
                whole[task.name],
                plugins.decorations_of(replies, task.name),
                group=group,
                forwarded=forwarded,
                variables=variables,
            )
            made += [maker.make(index) for index in free[:left]]
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            # The error text may quote the template, and it becomes an Event and a log line.
            text = f"task {task.name!r}: no pod can be made of its template"
            raise UnusableTemplateError(f"{text} ({type(error).__name__})") from None
        if len(free) > left:
            return made, True
        left -= len(free)
    return made, False


def _makes_claims(observation: Observation) -> bool:
    """Whether the job's own claims are to be created. They come before its first pod."""
    return bool(claim_effects(observation.job)) and not any(True for _ in observation.members)


def _blocking(observation: Observation) -> list[Effect]:
    """Deletions of pods of an earlier job whose names this job needs.

    The API server must confirm that the job is an earlier one. In a stale view,
    pods of a later job look the same.
    """
    job = observation.job
    of_other_jobs = {pod.metadata.name: pod for pod in observation.members.of_other_jobs}
    if not of_other_jobs:
        return []
    wanted = {pod_name(job, t.name, index) for t in job.spec.tasks for index in range(t.replicas)}
    return [
        msgspec.structs.replace(
            _delete(pod),
            resource_version=pod.metadata.resource_version,
            only_if_live=live_job(job),
        )
        for name, pod in of_other_jobs.items()
        if name in wanted and pod.metadata.deletion_timestamp is None
    ]


def _waiting_event(observation: Observation) -> list[Effect]:
    """Event with the scheduler's message about a gang that waits."""
    group = observation.podgroup
    if group is None or is_enqueued(observation):
        return []
    messages = [c.message for c in group.status.conditions if c.status == "True" and c.message]
    if not messages:
        return []
    return [
        job_event(observation.job, type_="Warning", reason="PodGroupPending", message=messages[-1])
    ]


def _warnings(observation: Observation, replies: plugins.CollectedReplies) -> list[Effect]:
    """Events for warnings of plugins. The recorder writes each one once."""
    return [
        job_event(observation.job, type_="Warning", reason=PLUGIN_WARNING, message=warning)
        for warning in (replies.warnings if replies.complete else ())
    ]


def _over(observation: Observation, now: float) -> Work:
    """Work of a job that ends: delete its pods and PodGroup, and after the TTL the job itself."""
    effects: list[Effect] = [*_ending(observation), *drop_podgroup(observation)]
    wake: float | None = None
    notes: dict[str, str] = {}
    requests: tuple[PluginRequest, ...] = ()
    # Plugins delete their objects last, because pods that still run may mount them.
    if observation.phase in FINAL and observation.counted.busy == 0:
        requests, wake, done = plugins.removal_requests(observation)
        notes = {plugins.NOTE_PREFIX + name: "" for name in done}
    if observation.phase in EXPIRING:
        expired, left = _expiry(observation.job, now)
        effects += expired
        wake = sooner(wake, left)
    return Work(effects=tuple(effects), requests=requests, wake_after_seconds=wake, notes=notes)


def _expiry(job: Job, now: float) -> tuple[list[Effect], float | None]:
    ttl = job.spec.ttl_seconds_after_finished
    since = parse_time(job.status.state.last_transition_time)
    if ttl is None or since is None:
        return [], None
    left = since + ttl - now
    if left > 0:
        return [], left
    expired = DeleteObject(
        kind=JOBS,
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        uid=job.metadata.uid,
        resource_version=job.metadata.resource_version,  # the job may have been resumed
        propagation="Foreground",
    )
    return [expired], None


def _delete(pod: Pod) -> DeleteObject:
    return DeleteObject(
        kind=PODS,
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        uid=pod.metadata.uid,
    )


def job_event(job: Job, *, type_: str, reason: str, message: str) -> RecordEvent:
    """An Event on the job, for people."""
    return RecordEvent(
        kind=JOBS,
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        uid=job.metadata.uid,
        type=type_,
        reason=reason,
        message=message,
    )
