"""The work of a phase: what to do to pods, pod group, claims and plugins.

Called with the look under the new status, so intent is always written before anything here is done.
Everything is derived from what is missing or too much; nothing is counted down.
"""

from typing import Final

import msgspec

from vc_job_controller.logic import plugins
from vc_job_controller.logic.decorating import Variables
from vc_job_controller.logic.defaults import with_defaults
from vc_job_controller.logic.dependencies import released_tasks
from vc_job_controller.logic.observed import Trouble, live_job, sooner
from vc_job_controller.logic.phases import EXPIRING, FINAL, LIVE, RESTARTING
from vc_job_controller.logic.podgroup import (
    admits_pods,
    drop_podgroup,
    drop_spares,
    keep_podgroup,
    member_count,
    wanted_spec,
    wants_annotations,
)
from vc_job_controller.logic.pods import PodMaker, pod_name
from vc_job_controller.logic.resources import min_resources
from vc_job_controller.logic.scale_down import has_surplus, plugins_applied, to_delete
from vc_job_controller.logic.sight import Sight, is_stale
from vc_job_controller.logic.volumes import claim_effects, claim_notes
from vc_messages.effects import DeleteObject, Effect, RecordEvent
from vc_messages.plugins import PluginRequest
from vc_model.job import Job, TaskSpec
from vc_model.kinds import JOBS, PODS
from vc_model.pod import Pod
from vc_model.quantity import QuantityError
from vc_model.times import parse_time

CREATES_PER_DECISION_MAX: Final = 500
"""Pods made in one go; the rest follows when these are seen, so no decision takes long."""

UNSURE_WAKE_SECONDS: Final = 0.25
"""How soon to look again when a pod may only seem lost."""

QUEUE_WAKE_SECONDS: Final = 5.0

PLUGIN_WARNING: Final = "PluginWarning"
"""The reason of the Event on a job whose plugin ignores an argument."""


class UnusableTemplateError(ValueError):
    """A template of a form that pods do not have; says which, and nothing of what is in it."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What the phase wants done, and what holds it up."""

    effects: tuple[Effect, ...] = ()
    questions: tuple[PluginRequest, ...] = ()
    wake_after_seconds: float | None = None
    trouble: Trouble | None = None
    notes: dict[str, str] = {}
    """To be added to the notes; an empty text takes one away."""
    plugins_for: str = ""
    wants_manifest: bool = False


def work(sight: Sight, now: float) -> Work:
    """By phase."""
    if sight.phase in LIVE:
        return _live(sight)
    if sight.phase == RESTARTING:
        stale = sight.podgroup is not None and is_stale(sight.job, sight.podgroup)
        dropped = drop_podgroup(sight) if stale else []
        return _with_effects(_shrinking(sight), *dropped)
    return _over(sight, now)


def _ending(sight: Sight, *, answered: bool = False) -> list[Effect]:
    """Deletions of doomed pods that nobody has asked for yet."""
    return [_delete(member.pod) for member in to_delete(sight, answered=answered)]


def _live(sight: Sight) -> Work:
    """Keep the gang's claim in its queue, learn what pods need, then make those that are missing."""
    job = sight.job
    if sight.seen.queue is None:
        missing = Trouble("QueueNotFound", f"queue {job.spec.queue!r} does not exist")
        return _held_up(sight, missing, wake_after_seconds=QUEUE_WAKE_SECONDS)
    released = released_tasks(sight)
    try:
        amounts = min_resources(
            job,
            released,
            member_count=member_count(job, released),
            priorities=sight.seen.priorities,
        )
    except QuantityError as error:
        return _held_up(sight, Trouble("InvalidResources", str(error)))
    group = [*keep_podgroup(sight, wanted_spec(job, released, amounts)), *drop_spares(sight)]
    missing_pods = _missing(sight, released)
    look_again = UNSURE_WAKE_SECONDS if any(sight.unsure.values()) else None
    if not missing_pods and plugins_applied(sight):
        gone = (*_ending(sight), *_blocking(sight))
        return Work(
            effects=(*gone, *group),
            wake_after_seconds=look_again,
            wants_manifest=wants_annotations(sight),
        )
    answers = plugins.consult(sight)
    gone = (*_ending(sight, answered=answers.complete), *_blocking(sight))
    trouble = answers.trouble or (_missing_claims(sight) if missing_pods else None)
    made: list[Effect] = []
    wake = answers.wake_after_seconds
    wants_manifest = wants_annotations(sight)
    makes = bool(missing_pods) or _makes_claims(sight)
    if makes and answers.complete and trouble is None and admits_pods(sight):
        if sight.seen.manifest is None:
            wants_manifest = True
        else:
            made, more = _make(sight, sight.seen.manifest, missing_pods, answers)
            wake = 0.0 if more else wake
    return Work(
        effects=(*gone, *group, *made, *_waiting_event(sight), *_warnings(sight, answers)),
        questions=answers.questions,
        wake_after_seconds=sooner(wake, look_again),
        trouble=trouble,
        notes={**plugins.plugin_notes(sight), **claim_notes(job)} if answers.complete else {},
        plugins_for=sight.hash if answers.complete else "",
        wants_manifest=wants_manifest,
    )


def _held_up(sight: Sight, trouble: Trouble, wake_after_seconds: float | None = None) -> Work:
    """No pod is made; pods that are too many go all the same."""
    shrinking = _with_effects(_shrinking(sight), *_blocking(sight))
    wake = sooner(wake_after_seconds, shrinking.wake_after_seconds)
    return msgspec.structs.replace(shrinking, trouble=trouble, wake_after_seconds=wake)


def _shrinking(sight: Sight) -> Work:
    """Deletes what must go; of pods beyond the replicas the plugins are told first."""
    if plugins_applied(sight) or not has_surplus(sight):
        return Work(effects=tuple(_ending(sight)))
    answers = plugins.consult(sight)
    return Work(
        effects=tuple(_ending(sight, answered=answers.complete)),
        questions=answers.questions,
        wake_after_seconds=answers.wake_after_seconds,
        trouble=answers.trouble,
        plugins_for=sight.hash if answers.complete else "",
    )


def _with_effects(done: Work, *more: Effect) -> Work:
    return msgspec.structs.replace(done, effects=(*done.effects, *more))


def _missing_claims(sight: Sight) -> Trouble | None:
    """Pods that mount a claim nobody has made would hang on their nodes, and hold the gang's room."""
    names = ", ".join(repr(name) for name in sight.seen.missing_claims)
    if not names:
        return None
    namespace = sight.job.metadata.namespace
    return Trouble("ClaimNotFound", f"volume claims that do not exist in {namespace}: {names}")


def _missing(sight: Sight, released: list[TaskSpec]) -> list[tuple[TaskSpec, list[int]]]:
    """Places without a pod that have not succeeded and are not merely unseen."""
    missing: list[tuple[TaskSpec, list[int]]] = []
    for task in released:
        taken = (
            sight.members.of(task.name).keys()
            | sight.counted.completed[task.name]
            | sight.unsure.get(task.name, frozenset())
        )
        free = [index for index in range(task.replicas) if index not in taken]
        if free:
            missing.append((task, free))
    return missing


def _make(
    sight: Sight,
    manifest: Job,
    missing: list[tuple[TaskSpec, list[int]]],
    answers: plugins.Answers,
) -> tuple[list[Effect], bool]:
    """Claims before the first pod, then pods up to the bound; whether more are left.

    The observed job decides which pods are made, the job that was read what they are made of.
    """
    job = with_defaults(
        msgspec.structs.replace(sight.job, spec=manifest.spec), sight.seen.scheduler_name
    )
    whole = {task.name: task for task in job.spec.tasks}
    blocked = {pod.metadata.name for pod in sight.members.leftovers}
    made: list[Effect] = []
    if _makes_claims(sight):
        made += claim_effects(job)
    left, variables = CREATES_PER_DECISION_MAX, Variables()
    group = sight.podgroup.metadata.name if sight.podgroup is not None else job.metadata.name
    forwarded = bool(sight.seen.queue and sight.seen.queue.spec.extend_clusters)
    for task, indices in missing:
        free = [i for i in indices if pod_name(job, task.name, i) not in blocked]
        if left <= 0:
            return made, True
        try:
            maker = PodMaker(
                job,
                whole[task.name],
                plugins.decorations_of(answers, task.name),
                group=group,
                forwarded=forwarded,
                variables=variables,
            )
            made += [maker.make(index) for index in free[:left]]
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            # Its text may quote the template, and becomes an event and a line in the log.
            said = f"task {task.name!r}: no pod can be made of its template"
            raise UnusableTemplateError(f"{said} ({type(error).__name__})") from None
        if len(free) > left:
            return made, True
        left -= len(free)
    return made, False


def _makes_claims(sight: Sight) -> bool:
    """Claims of the job's own come before its first pod."""
    return bool(claim_effects(sight.job)) and not any(True for _ in sight.members)


def _blocking(sight: Sight) -> list[Effect]:
    """Pods of an earlier job of this name that hold a name we need; the API server must show that it is
    an earlier one, because to a stale view those of a later job look the same."""
    job = sight.job
    leftovers = {pod.metadata.name: pod for pod in sight.members.leftovers}
    if not leftovers:
        return []
    wanted = {pod_name(job, t.name, index) for t in job.spec.tasks for index in range(t.replicas)}
    return [
        msgspec.structs.replace(
            _delete(pod),
            resource_version=pod.metadata.resource_version,
            only_if_live=live_job(job),
        )
        for name, pod in leftovers.items()
        if name in wanted and pod.metadata.deletion_timestamp is None
    ]


def _waiting_event(sight: Sight) -> list[Effect]:
    """Tell people what the scheduler says about a gang that waits."""
    group = sight.podgroup
    if group is None or admits_pods(sight):
        return []
    said = [c.message for c in group.status.conditions if c.status == "True" and c.message]
    if not said:
        return []
    return [job_event(sight.job, type_="Warning", reason="PodGroupPending", message=said[-1])]


def _warnings(sight: Sight, answers: plugins.Answers) -> list[Effect]:
    """What plugins warn of, while they are asked; the recorder writes each once."""
    return [
        job_event(sight.job, type_="Warning", reason=PLUGIN_WARNING, message=warning)
        for warning in (answers.warnings if answers.complete else ())
    ]


def _over(sight: Sight, now: float) -> Work:
    """No pod stays alive, no place in the queue is held; and in the end the job itself goes."""
    effects: list[Effect] = [*_ending(sight), *drop_podgroup(sight)]
    wake: float | None = None
    notes: dict[str, str] = {}
    questions: tuple[PluginRequest, ...] = ()
    if sight.phase in FINAL and sight.counted.busy == 0:
        questions, wake, done = plugins.dismiss(sight)
        notes = {plugins.NOTE_PREFIX + name: "" for name in done}
    if sight.phase in EXPIRING:
        expired, left = _expiry(sight.job, now)
        effects += expired
        wake = sooner(wake, left)
    return Work(effects=tuple(effects), questions=questions, wake_after_seconds=wake, notes=notes)


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
        resource_version=job.metadata.resource_version,  # it may have been resumed
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
    """Something people should read on the job."""
    return RecordEvent(
        kind=JOBS,
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        uid=job.metadata.uid,
        type=type_,
        reason=reason,
        message=message,
    )
