"""Input and output of a decision."""

from collections.abc import Mapping

import msgspec

from vc.messages.effects import Effect, LiveObject
from vc.messages.plugins import PluginAnnouncement, PluginReply, PluginRequest
from vc.model.api.job import Command, Job
from vc.model.api.keys import SCHEDULER_NAME
from vc.model.api.kinds import JOBS
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, PriorityClass, Queue
from vc.model.compat import Compat


class Blocker(msgspec.Struct, frozen=True):
    """Why a job cannot continue: a reason for programs, a message for people."""

    reason: str
    message: str
    event: str = ""
    """Reason of the Event if Kubernetes has its own term for it, such as FailedCreate."""


class RequestAge(msgspec.Struct, frozen=True):
    """How long ago a plugin was first and last sent a request about the current spec of a job."""

    first_seconds_ago: float
    last_seconds_ago: float


class ObservedJob(msgspec.Struct, frozen=True, kw_only=True):
    """One job and everything that affects it, as the view shows it now."""

    job: Job
    manifest: Job | None = None
    """The same job with complete templates and annotations, if it was read from the API server."""
    pods: tuple[Pod, ...] = ()
    """Pods controlled by a vcjob of this name. The decision checks the uid of the vcjob."""
    podgroup: PodGroup | None = None
    """The PodGroup that this job controls, or else one with the job's name and any owner."""
    superfluous_podgroups: tuple[PodGroup, ...] = ()
    """More PodGroups of this job, created under another
    compatibility setting. They are not needed."""
    commands: tuple[Command, ...] = ()
    queue: Queue | None = None
    missing_claims: tuple[str, ...] = ()
    """Claims that the volumes of the job name and that do not exist."""
    priorities: Mapping[str, PriorityClass] = {}
    registry: Mapping[str, PluginAnnouncement] = {}
    replies: Mapping[str, PluginReply] = {}
    """The newest reply of each plugin about this job. It may be about an older spec."""
    open_requests: Mapping[tuple[str, str], RequestAge] = {}
    """Requests (verb, plugin) about the current spec that have no reply yet."""
    spec_hash: str = ""
    """Hash of the spec with defaults, if the shell has computed it already."""
    pods_complete: bool = True
    """Whether the observed pods are at least as new as the job. If
    not, a pod may only seem gone."""
    counters_due: bool = True
    """Whether counters may be written now. Phases may always be written."""
    blocker: Blocker | None = None
    """Why the last decision could not be carried out."""
    compat: Compat = Compat.LENIENT
    scheduler_name: str = SCHEDULER_NAME
    """Scheduler of a job that names none."""
    traceparent: str = ""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The effects in order, and when to reconcile again even if no change arrives."""

    effects: tuple[Effect, ...] = ()
    requests: tuple[PluginRequest, ...] = ()
    """Requests to plugins, sent after the effects."""
    wake_after_seconds: float | None = None
    wants_manifest: bool = False
    """More is to be done once the whole job was read. Pods are never made of outlines."""
    late: bool = False
    """Part of the status was not written. Decide again when counters are due."""
    blocker: Blocker | None = None


def live_job(job: Job) -> LiveObject:
    """Precondition that this job exists with its uid, so every other job of this name is gone."""
    return LiveObject(
        kind=JOBS,
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        uid=job.metadata.uid,
    )


def sooner(first: float | None, second: float | None) -> float | None:
    """The earlier of two wake-ups; None means no wake-up."""
    if first is None or second is None:
        return second if first is None else first
    return min(first, second)
