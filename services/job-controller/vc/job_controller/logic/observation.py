"""One observation of a job: everything that a decision needs, read once."""

import msgspec

from vc.job_controller.logic.counts import Counts, count_pods
from vc.job_controller.logic.job_pods import JobPod, JobPods
from vc.job_controller.logic.notes import Notes, read_notes
from vc.job_controller.logic.observed import ObservedJob
from vc.job_controller.logic.to_delete import pods_to_delete
from vc.jobs.defaults import with_defaults
from vc.messages.plugins import spec_hash
from vc.model.api import keys
from vc.model.api.job import Job, JobStatus
from vc.model.api.kinds import JOBS
from vc.model.api.scheduling import PodGroup


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """The job with defaults, its pods by task and index, their counts, and the notes."""

    seen: ObservedJob
    job: Job
    members: JobPods
    notes: Notes
    pods_to_delete: list[JobPod]
    counted: Counts
    podgroup: PodGroup | None
    """The PodGroup that this job controls. It may be terminating."""
    lost: dict[str, frozenset[int]]
    """Indices that were alive and have no pod now."""
    hash: str
    """Hash of the spec with defaults."""

    @property
    def phase(self) -> str:
        return self.job.status.state.phase

    @property
    def unsure(self) -> dict[str, frozenset[int]]:
        """Indices that may only seem lost, because the observed pods may be older than the job."""
        return {} if self.seen.pods_complete else self.lost


def observe(seen: ObservedJob) -> Observation:
    """Observe a job under its current status."""
    job = with_defaults(seen.job, seen.scheduler_name)
    return _observe(
        seen, job, members=JobPods(job, seen.pods), hashed=seen.spec_hash or hash_of(job)
    )


def hash_of(defaulted: Job) -> str:
    """Hash of a spec with defaults. It identifies the spec that the answer of a plugin is for."""
    return spec_hash(defaulted.spec)


def observe_again(observation: Observation, status: JobStatus) -> Observation:
    """Observe the same pods under another status, as a step has changed it."""
    job = msgspec.structs.replace(observation.job, status=status)
    return _observe(observation.seen, job, members=observation.members, hashed=observation.hash)


def _observe(seen: ObservedJob, job: Job, *, members: JobPods, hashed: str) -> Observation:
    notes = read_notes(job.status.controlled_resources)
    going = pods_to_delete(job, members, notes)
    counted = count_pods(
        job, members, notes=notes, pods_to_delete={member.pod.metadata.uid for member in going}
    )
    return Observation(
        seen=seen,
        job=job,
        members=members,
        notes=notes,
        pods_to_delete=going,
        counted=counted,
        # A PodGroup of the same name that another owner controls must not affect this job.
        podgroup=_ours(job, seen.podgroup),
        # Completed indices have no pod after a clean-up, and are not lost.
        lost={
            task: frozenset(at - members.of(task).keys() - counted.completed.get(task, frozenset()))
            for task, at in sorted(notes.alive.items())
        },
        hash=hashed,
    )


def _ours(job: Job, podgroup: PodGroup | None) -> PodGroup | None:
    if podgroup is None:
        return None
    return podgroup if JOBS.controls(podgroup.metadata, uid=job.metadata.uid) else None


def is_stale(job: Job, podgroup: PodGroup) -> bool:
    """Whether a PodGroup was created for an earlier attempt."""
    return podgroup.metadata.annotations.get(keys.JOB_VERSION, "0") != str(job.status.version)
