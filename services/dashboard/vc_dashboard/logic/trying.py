"""What-if: the cluster as the view has it, with changes, through the scheduler's own cycle."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from vc_dashboard.logic.amounts import shown
from vc_dashboard.logic.future_answers import (
    EvictedPod,
    PlacedPod,
    QueueShare,
    QueueShares,
    WhatIf,
    WhatIfJob,
    WhatIfQuestion,
)
from vc_dashboard.logic.manifests import Made, ManifestError, make, more_nodes, pods_of, refusals
from vc_dashboard.logic.reason_answers import answered_reason
from vc_dashboard.logic.standing import BoundedTrial
from vc_model.job import Job
from vc_model.keys import GROUP_NAME
from vc_model.kinds import JOBS
from vc_model.kubernetes import ResourceQuota
from vc_model.meta import ApiObject, controller_of, object_key
from vc_model.node import Node
from vc_model.pod import Pod
from vc_model.scheduling import PodGroup, PriorityClass, Queue
from vc_scheduler.logic.conf import DEFAULT_SCHEDULER_NAMES, Conf
from vc_scheduler.logic.figures import QueueFigures
from vc_scheduler.logic.what_if import Outcome, Trial, Victim

PODS_SHOWN_MAX: Final = 1_000
OTHERS_SHOWN_MAX: Final = 100
DOCUMENTS_MAX: Final = 100


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial stands on."""

    objects: Sequence[ApiObject]
    jobs: Mapping[str, Job]
    conf: Conf
    basis: str
    now: float
    stale: str
    scheduler_names: tuple[str, ...] = DEFAULT_SCHEDULER_NAMES
    """Who names one of these is placed by the scheduler whose logic is run."""

    def trial(self) -> BoundedTrial:
        """A cluster of its own; the pods of jobs that are let in are made as in the other one."""
        return BoundedTrial(
            self.objects,
            self.conf,
            now=self.now,
            scheduler_names=self.scheduler_names,
            make_pods=self.make_pods(),
        )

    def make_pods(self) -> Callable[[str], Iterable[ApiObject]]:
        """Gives the pods of a group's job, as the job controller would make them."""
        groups = {o.key: o for o in self.objects if isinstance(o, PodGroup)}
        priorities = self.priorities()

        def make_pods(key: str) -> Iterable[ApiObject]:
            job = self._job_of(groups.get(key))
            if job is None:
                return ()
            made = pods_of(job, priorities, scheduler_name=self.scheduler_names[0])
            return (_in_group(pod, groups[key].metadata.name) for pod in made)

        return make_pods

    def _job_of(self, group: PodGroup | None) -> Job | None:
        owner = controller_of(group.metadata) if group is not None else None
        if group is None or owner is None or not JOBS.is_kind_of(owner):
            return None
        job = self.jobs.get(object_key(group.metadata.namespace, owner.name))
        return job if job is not None and job.metadata.uid == owner.uid else None

    def jobs_of_groups(self) -> dict[str, str]:
        """Group to the job that controls it, whatever the group's name; those without a job are absent.

        Ours have the job's own name, those of Volcano's controllers `<job>-<uid>`.
        """
        groups = [o for o in self.objects if isinstance(o, PodGroup)]
        found = ((group.key, self._job_of(group)) for group in groups)
        return {group: job.key for group, job in found if job is not None}

    def created(self) -> dict[str, str]:
        """When the group of each job was made; of groups without a job, by their own key."""
        jobs, groups = self.jobs_of_groups(), [o for o in self.objects if isinstance(o, PodGroup)]
        return {jobs.get(g.key, g.key): g.metadata.creation_timestamp or "" for g in groups}

    def priorities(self) -> dict[str, PriorityClass]:
        """By name."""
        return {o.key: o for o in self.objects if isinstance(o, PriorityClass)}


def _in_group(pod: Pod, group: str) -> Pod:
    """As the controllers that named the group make its pods."""
    if pod.metadata.annotations.get(GROUP_NAME) == group:
        return pod
    annotations = {**pod.metadata.annotations, GROUP_NAME: group}
    metadata = msgspec.structs.replace(pod.metadata, annotations=annotations)
    return msgspec.structs.replace(pod, metadata=metadata)


def what_if(
    ground: Ground, question: WhatIfQuestion, go_on: Callable[[], bool] | None = None
) -> WhatIf:
    """Try it; ManifestError when the question cannot be used, GaveUpError when `go_on` says that there is no
    more time."""
    if len(question.documents) > DOCUMENTS_MAX:
        raise ManifestError(f"documents: at most {DOCUMENTS_MAX} at a time")
    refused = refusals(question.documents)
    if refused:
        return WhatIf(
            jobs=[], victims_total=0, sessions=0, stable=True, refused=refused, notes=[],
            basis=ground.basis, stale=ground.stale,
        )  # fmt: skip
    made = make(
        question.documents,
        queues={o.key: o for o in ground.objects if isinstance(o, Queue)},
        priorities=ground.priorities(),
        quotas={o.key: o for o in ground.objects if isinstance(o, ResourceQuota)},
        created=ground.created(),
        now=ground.now,
        scheduler_names=ground.scheduler_names,
    )
    trial = ground.trial()
    trial.go_on = go_on
    before = trial.settle()
    outcome = _changed(trial, ground, question, made).settle()
    asked, jobs = [job.key for job in made.jobs], ground.jobs_of_groups()
    waited = [key for key in before.reasons if jobs.get(key, key) not in asked]
    started = [key for key in waited if key in outcome.placements][:OTHERS_SHOWN_MAX]
    return WhatIf(
        jobs=[
            *(_job(key, outcome) for key in asked),
            *(_job(key, outcome, named=jobs.get(key, key)) for key in started),
        ],
        victims_total=len(outcome.victims),
        sessions=outcome.sessions,
        stable=outcome.stable,
        refused=[],
        notes=[*made.notes, *_problems(trial, made.objects)],
        basis=ground.basis,
        stale=ground.stale,
    )


def _changed(trial: Trial, ground: Ground, question: WhatIfQuestion, made: Made) -> Trial:
    if question.add_nodes is not None:
        known = {o.key: o for o in ground.objects if isinstance(o, Node)}
        more = question.add_nodes
        trial.put(more_nodes(known, count=more.count, like=more.like))
    groups: dict[str, list[str]] = {}
    for group, job_key in ground.jobs_of_groups().items():
        groups.setdefault(job_key, []).append(group)
    for key in question.drop_jobs:
        dropped = [trial.drop_group(group) for group in groups.get(key, [key])]
        if not any(dropped):
            raise ManifestError(f"dropJobs: there is no pod group {key!r}; write namespace/name")
    for job in made.jobs:  # applied again, it takes the place of the one before
        for group in [*groups.get(job.key, []), job.key]:
            trial.drop_group(group)
    trial.put(made.objects)
    return trial


def _problems(trial: Trial, objects: Iterable[ApiObject]) -> list[str]:
    ours = {obj.key for obj in objects}
    found = [(what.partition(" ")[2], what, why) for what, why in sorted(trial.problems.items())]
    return [f"{what}: {why}" for key, what, why in found if key in ours]


def _job(key: str, outcome: Outcome, *, named: str = "") -> WhatIfJob:
    placed = sorted(outcome.placements.get(key, {}).items())
    waiting = outcome.reasons.get(key)
    namespace, _, name = (named or key).partition("/")
    return WhatIfJob(
        namespace=namespace,
        name=name,
        runs=bool(placed) and waiting is None,
        placements=[PlacedPod(pod=pod, node=node) for pod, node in placed[:PODS_SHOWN_MAX]],
        placements_total=len(placed),
        victims=[_victim(v) for v in outcome.victims if v.made_for == key][:PODS_SHOWN_MAX],
        position=waiting.position if waiting is not None else 0,
        reason=answered_reason(waiting.reason) if waiting is not None else None,
    )


def _victim(victim: Victim) -> EvictedPod:
    return EvictedPod(
        pod=victim.pod, group=victim.group, node=victim.node, made_for=victim.made_for
    )


def queue_shares(ground: Ground) -> QueueShares:
    """What queues deserve, counted by the plugins that decide."""
    figures = ground.trial().figures()
    return QueueShares(
        queues=[_share(name, of) for name, of in sorted(figures.queues.items())],
        basis=ground.basis,
        stale=ground.stale,
    )


def _share(name: str, of: QueueFigures) -> QueueShare:
    return QueueShare(
        name=name,
        weight=of.weight,
        allocated=shown(of.allocated),
        request=shown(of.request),
        deserved=shown(of.deserved),
        capacity=shown(of.real_capacity),
        share=of.share,
        overused=of.overused,
    )
