"""One look at a job: everything a decision needs, read once."""

import msgspec

from vc_job_controller.logic.defaults import with_defaults
from vc_job_controller.logic.doomed import doomed
from vc_job_controller.logic.members import Member, Members
from vc_job_controller.logic.notes import Notes, read_notes
from vc_job_controller.logic.observed import Observed
from vc_job_controller.logic.tally import Tally, tally
from vc_messages.plugins import spec_hash
from vc_model import keys
from vc_model.job import Job, JobStatus
from vc_model.kinds import JOBS
from vc_model.scheduling import PodGroup


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """The job with its defaults, its pods in their places, and what they amount to."""

    seen: Observed
    job: Job
    members: Members
    notes: Notes
    doomed: list[Member]
    counted: Tally
    podgroup: PodGroup | None
    """Ours and of this attempt; it may be going."""
    lost: dict[str, frozenset[int]]
    """Places that were alive and whose pod is gone."""
    hash: str
    """Of the defaulted spec."""

    @property
    def phase(self) -> str:
        return self.job.status.state.phase

    @property
    def unsure(self) -> dict[str, frozenset[int]]:
        """Places that only seem lost, because the pods shown may be older than the job."""
        return {} if self.seen.pods_complete else self.lost


def look(seen: Observed) -> Sight:
    """The first look."""
    job = with_defaults(seen.job, seen.scheduler_name)
    return _look(seen, job, members=Members(job, seen.pods), hashed=seen.spec_hash or hash_of(job))


def hash_of(defaulted: Job) -> str:
    """What answers of plugins are about."""
    return spec_hash(defaulted.spec)


def look_again(sight: Sight, status: JobStatus) -> Sight:
    """The same pods under another status: what a step changes about them."""
    job = msgspec.structs.replace(sight.job, status=status)
    return _look(sight.seen, job, members=sight.members, hashed=sight.hash)


def _look(seen: Observed, job: Job, *, members: Members, hashed: str) -> Sight:
    notes = read_notes(job.status.controlled_resources)
    going = doomed(job, members, notes)
    counted = tally(job, members, notes=notes, doomed={member.pod.metadata.uid for member in going})
    return Sight(
        seen=seen,
        job=job,
        members=members,
        notes=notes,
        doomed=going,
        counted=counted,
        podgroup=_ours(job, seen.podgroup),
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
    """Whether a pod group was made for an attempt that is over."""
    return podgroup.metadata.annotations.get(keys.JOB_VERSION, "0") != str(job.status.version)
