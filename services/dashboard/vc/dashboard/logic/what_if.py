"""What-if: the cluster as in the view, with changes, run through the scheduler's own cycle."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from vc.dashboard.logic.amounts import shown
from vc.dashboard.logic.answers.future_answers import (
    EvictedPod,
    PlacedPod,
    QueueShare,
    QueueShares,
    WhatIf,
    WhatIfJob,
    WhatIfRequest,
)
from vc.dashboard.logic.answers.reason_answers import answered_reason
from vc.dashboard.logic.manifests import (
    Made,
    WhatIfManifestError,
    make,
    more_nodes,
    pods_of,
    refusals,
)
from vc.dashboard.logic.shares import BoundedSimulation
from vc.model.api.job import Job
from vc.model.api.keys import GROUP_NAME
from vc.model.api.kinds import JOBS
from vc.model.api.kubernetes import ResourceQuota
from vc.model.api.meta import ApiObject, controller_of, object_key
from vc.model.api.node import Node
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, PriorityClass, Queue
from vc.scheduling.closing.share_report import QueueFigures
from vc.scheduling.conf.model import DEFAULT_SCHEDULER_NAMES, Conf
from vc.scheduling.what_if import Outcome, Simulation, Victim

PODS_SHOWN_MAX: Final = 1_000
OTHERS_SHOWN_MAX: Final = 100
DOCUMENTS_MAX: Final = 100


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a simulation."""

    objects: Sequence[ApiObject]
    jobs: Mapping[str, Job]
    conf: Conf
    basis: str
    now: float
    stale: str
    scheduler_names: tuple[str, ...] = DEFAULT_SCHEDULER_NAMES
    """Names of the scheduler whose logic is run. Only pods that name one of them are placed."""

    def simulation(self) -> BoundedSimulation:
        """A simulated cluster. Pods of enqueued jobs are created as by the job-controller."""
        return BoundedSimulation(
            self.objects,
            self.conf,
            now=self.now,
            scheduler_names=self.scheduler_names,
            make_pods=self.make_pods(),
        )

    def make_pods(self) -> Callable[[str], Iterable[ApiObject]]:
        """A function that returns the pods of a PodGroup's job, as the
        job-controller would create them."""
        groups = {o.key: o for o in self.objects if isinstance(o, PodGroup)}
        priorities = self.priorities()

        def make_pods(key: str) -> Iterable[ApiObject]:
            job = self._job_of(groups.get(key))
            # PodGroups without a vcjob already have their pods.
            if job is None:
                return ()
            made = pods_of(job, priorities, scheduler_name=self.scheduler_names[0])
            return (_in_group(pod, groups[key].metadata.name) for pod in made)

        return make_pods

    def _job_of(self, group: PodGroup | None) -> Job | None:
        owner = controller_of(group.metadata) if group is not None else None
        if group is None or owner is None or not JOBS.is_kind_of(owner):
            return None
        # A job of the same name may be a later one.
        job = self.jobs.get(object_key(group.metadata.namespace, owner.name))
        return job if job is not None and job.metadata.uid == owner.uid else None

    def jobs_of_groups(self) -> dict[str, str]:
        """The job that controls each PodGroup, whatever its name.
        PodGroups without a job are absent.

        Our PodGroups have the name of the job, those of Volcano's controllers `<job>-<uid>`.
        """
        groups = [o for o in self.objects if isinstance(o, PodGroup)]
        found = ((group.key, self._job_of(group)) for group in groups)
        return {group: job.key for group, job in found if job is not None}

    def created(self) -> dict[str, str]:
        """Creation time of the PodGroup of each job, or by its own
        key for a PodGroup without a job."""
        jobs, groups = self.jobs_of_groups(), [o for o in self.objects if isinstance(o, PodGroup)]
        return {jobs.get(g.key, g.key): g.metadata.creation_timestamp or "" for g in groups}

    def priorities(self) -> dict[str, PriorityClass]:
        """Priority classes by name."""
        return {o.key: o for o in self.objects if isinstance(o, PriorityClass)}


def _in_group(pod: Pod, group: str) -> Pod:
    """The pod with the name of the PodGroup as its controller would set it."""
    if pod.metadata.annotations.get(GROUP_NAME) == group:
        return pod
    annotations = {**pod.metadata.annotations, GROUP_NAME: group}
    metadata = msgspec.structs.replace(pod.metadata, annotations=annotations)
    return msgspec.structs.replace(pod, metadata=metadata)


def what_if(
    ground: Ground, query: WhatIfRequest, go_on: Callable[[], bool] | None = None
) -> WhatIf:
    """Run the simulation.

    Raises WhatIfManifestError if the request is invalid, and GaveUpError when
    `go_on` returns that no time is left.
    """
    if len(query.documents) > DOCUMENTS_MAX:
        raise WhatIfManifestError(f"documents: at most {DOCUMENTS_MAX} at a time")
    # A manifest that admission refuses would never reach the scheduler.
    refused = refusals(query.documents)
    if refused:
        return WhatIf(
            jobs=[], victims_total=0, sessions=0, stable=True, refused=refused, notes=[],
            basis=ground.basis, stale=ground.stale,
        )  # fmt: skip
    made = make(
        query.documents,
        queues={o.key: o for o in ground.objects if isinstance(o, Queue)},
        priorities=ground.priorities(),
        quotas={o.key: o for o in ground.objects if isinstance(o, ResourceQuota)},
        created=ground.created(),
        now=ground.now,
        scheduler_names=ground.scheduler_names,
    )
    simulation = ground.simulation()
    simulation.go_on = go_on
    # The state without the change shows which jobs start only because of it.
    before = simulation.run_sessions()
    outcome = _changed(simulation, ground, query, made).run_sessions()
    submitted, jobs = [job.key for job in made.jobs], ground.jobs_of_groups()
    # Jobs of the request are shown anyway; here the effect on others counts.
    waited = [key for key in before.reasons if jobs.get(key, key) not in submitted]
    started = [key for key in waited if key in outcome.placements][:OTHERS_SHOWN_MAX]
    return WhatIf(
        jobs=[
            *(_job(key, outcome) for key in submitted),
            *(_job(key, outcome, named=jobs.get(key, key)) for key in started),
        ],
        victims_total=len(outcome.victims),
        sessions=outcome.sessions,
        stable=outcome.stable,
        refused=[],
        notes=[*made.notes, *_problems(simulation, made.objects)],
        basis=ground.basis,
        stale=ground.stale,
    )


def _changed(
    simulation: Simulation, ground: Ground, query: WhatIfRequest, made: Made
) -> Simulation:
    if query.add_nodes is not None:
        known = {o.key: o for o in ground.objects if isinstance(o, Node)}
        more = query.add_nodes
        simulation.put(more_nodes(known, count=more.count, like=more.like))
    groups: dict[str, list[str]] = {}
    # A job may have PodGroups of several names, from different controllers.
    for group, job_key in ground.jobs_of_groups().items():
        groups.setdefault(job_key, []).append(group)
    for key in query.drop_jobs:
        dropped = [simulation.drop_group(group) for group in groups.get(key, [key])]
        if not any(dropped):
            raise WhatIfManifestError(
                f"dropJobs: there is no pod group {key!r}; write namespace/name"
            )
    for job in made.jobs:  # a job that is applied again replaces the existing one
        # A PodGroup under either name would count the job twice.
        for group in [*groups.get(job.key, []), job.key]:
            simulation.drop_group(group)
    # After the deletions, which would otherwise remove a new PodGroup of the same name.
    simulation.put(made.objects)
    return simulation


def _problems(simulation: Simulation, objects: Iterable[ApiObject]) -> list[str]:
    # Problems of objects that the request did not touch are not its concern.
    ours = {obj.key for obj in objects}
    found = [
        (what.partition(" ")[2], what, why) for what, why in sorted(simulation.problems.items())
    ]
    return [f"{what}: {why}" for key, what, why in found if key in ours]


def _job(key: str, outcome: Outcome, *, named: str = "") -> WhatIfJob:
    placed = sorted(outcome.placements.get(key, {}).items())
    waiting = outcome.reasons.get(key)
    namespace, _, name = (named or key).partition("/")
    return WhatIfJob(
        namespace=namespace,
        name=name,
        # A job with placements may still wait for the rest of its gang.
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
    """The shares of queues, computed by the deciding plugins."""
    figures = ground.simulation().figures()
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
