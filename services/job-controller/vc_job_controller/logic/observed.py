"""What a decision is made of, and what comes out of it."""

from collections.abc import Mapping

import msgspec

from vc_messages.effects import Effect, LiveObject
from vc_messages.plugins import PluginAnnouncement, PluginReply, PluginRequest
from vc_model.compat import Compat
from vc_model.job import Command, Job
from vc_model.keys import SCHEDULER_NAME
from vc_model.kinds import JOBS
from vc_model.pod import Pod
from vc_model.scheduling import PodGroup, PriorityClass, Queue


class Trouble(msgspec.Struct, frozen=True):
    """Why a job does not go on: a reason for programs, a sentence for people."""

    reason: str
    message: str
    event: str = ""
    """The reason of its event, where the field has a word of its own for it: FailedCreate."""


class Asked(msgspec.Struct, frozen=True):
    """How long ago a plugin was asked about a job as it is now."""

    first_seconds_ago: float
    last_seconds_ago: float


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """One job and everything that bears on it, as the view shows it now."""

    job: Job
    manifest: Job | None = None
    """The same job whole, if it was read: its templates are no outlines, its annotations all there."""
    pods: tuple[Pod, ...] = ()
    """Controlled by a vcjob of this name; of which incarnation, the decision finds out."""
    podgroup: PodGroup | None = None
    """The job's, whatever its name; else one of the job's name, whoever made it."""
    spare_podgroups: tuple[PodGroup, ...] = ()
    """More that this job controls: made under another compatibility setting, and not needed."""
    commands: tuple[Command, ...] = ()
    queue: Queue | None = None
    missing_claims: tuple[str, ...] = ()
    """Claims the job's volumes name and that do not exist."""
    priorities: Mapping[str, PriorityClass] = {}
    registry: Mapping[str, PluginAnnouncement] = {}
    answers: Mapping[str, PluginReply] = {}
    """The newest reply of each plugin about this job; it may be about an older spec."""
    asked: Mapping[tuple[str, str], Asked] = {}
    """Questions (verb, plugin) about the job as it is now that have no answer yet."""
    spec_hash: str = ""
    """Of the defaulted spec, where the shell knows it already."""
    pods_complete: bool = True
    """Whether the pods shown are at least as new as the job: else a pod may only seem gone."""
    counters_due: bool = True
    """Whether counters may be written now; phases always may."""
    trouble: Trouble | None = None
    """Why the last decision could not be carried out."""
    compat: Compat = Compat.LENIENT
    scheduler_name: str = SCHEDULER_NAME
    """Who places the pods of a job that does not say."""
    traceparent: str = ""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do, in this order, and when to look again even if nothing happens."""

    effects: tuple[Effect, ...] = ()
    questions: tuple[PluginRequest, ...] = ()
    """For the plugins, after the effects."""
    wake_after_seconds: float | None = None
    wants_manifest: bool = False
    """More is to be done once the job was read whole: nothing is made of outlines."""
    late: bool = False
    """The status says more than was written: to be decided again when counters are due."""
    trouble: Trouble | None = None


def live_job(job: Job) -> LiveObject:
    """The proof that every other job of this name is gone: this very one exists."""
    return LiveObject(
        kind=JOBS,
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        uid=job.metadata.uid,
    )


def sooner(first: float | None, second: float | None) -> float | None:
    """The earlier of two wake-ups."""
    if first is None or second is None:
        return second if first is None else first
    return min(first, second)
