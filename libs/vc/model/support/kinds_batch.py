"""Fields of Job, CronJob, Command, JobFlow and JobTemplate."""

from typing import Final

from vc.model.api.keys import ALLOW_UNSUPPORTED
from vc.model.support.answers import (
    UNSUPPORTED,
    Case,
    Entry,
    FieldValue,
    effect,
    refused,
    waits,
    warned,
)
from vc.model.support.matching import is_partition_gang, is_soft, names_job_updated, one_of

TOPOLOGY_CASES: Final = (
    warned(
        "mode soft has no effect: network topology is not supported by this release",
        when="mode is soft",
        match=is_soft,
        sample={"mode": "soft", "highestTierAllowed": 1},
    ),
    waits(
        f"mode hard is {UNSUPPORTED}, so the gang is not enqueued; create it without this field",
        when="mode is hard, or not written",
        sample={"mode": "hard", "highestTierAllowed": 1},
    ),
)
"""The cases of every networkTopology."""

NUMA_CASES: Final = (
    effect("nothing is requested", when="empty or none", match=one_of("", "none")),
    warned(
        "best-effort has no effect: NUMA placement is not supported by this release",
        when="best-effort",
        match=one_of("best-effort"),
        sample="best-effort",
    ),
    waits(
        f"NUMA placement is {UNSUPPORTED}, so the pods are not bound; create it without this",
        when="restricted or single-numa-node",
        sample="single-numa-node",
    ),
)
"""The cases of a task's policy and of the annotation on its pods."""

EVENT_CASES: Final = (
    warned(
        "no such event occurs: a change of a job sets off no policy, as in Volcano",
        when="JobUpdated",
        match=names_job_updated,
        sample="JobUpdated",
    ),
    effect("what sets the action off"),
)

CRONJOB: Final = (
    f"no controller runs CronJobs: {UNSUPPORTED}; let a Kubernetes CronJob create the vcjob "
    "with `vcctl job run -f`"
)
JOBFLOW: Final = (
    f"no controller runs JobFlows: {UNSUPPORTED}; create the vcjobs one by one, or write the steps "
    "as tasks of one vcjob with dependsOn"
)
JOBTEMPLATE: Final = f"stored, but no controller makes jobs of JobTemplates: {UNSUPPORTED}"


def job(path: str, *cases: Case, below: bool = False) -> Entry:
    """A field of a Job."""
    return Entry(scope="Job", path=path, cases=cases, below=below)


def _allowed(place: FieldValue) -> bool:
    metadata = place.value.get("metadata") if isinstance(place.value, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and annotations.get(ALLOW_UNSUPPORTED) == "true"


def _stored_only(sentence: str) -> tuple[Case, ...]:
    """A kind without a controller: refused, unless its author wants it stored."""
    return (
        warned(
            sentence,
            when=f'annotation {ALLOW_UNSUPPORTED} is "true"',
            match=_allowed,
            sample={"metadata": {"annotations": {ALLOW_UNSUPPORTED: "true"}}},
        ),
        refused(
            f'{sentence} (annotation {ALLOW_UNSUPPORTED}: "true" stores it)',
            when="CREATE without the annotation",
            sample={},
        ),
    )


JOB: Final[tuple[Entry, ...]] = (
    job("spec", effect("what the job-controller and the scheduler act on")),
    job("spec.schedulerName", effect("schedulerName of pods whose template names none")),
    job("spec.minAvailable", effect("minMember of the PodGroup: size of the gang")),
    job("spec.volumes", effect("mounted in every main container of every pod")),
    job("spec.volumes[].mountPath", effect("where the volume is mounted")),
    job("spec.volumes[].volumeClaimName", effect("the claim; the job waits until it exists")),
    job(
        "spec.volumes[].volumeClaim",
        effect("a claim is created with this spec, as the API server validates it"),
        below=True,
    ),
    job("spec.tasks", effect("pods are created for each task")),
    job("spec.tasks[].name", effect("part of pod names, labels, host lists and policies")),
    job("spec.tasks[].replicas", effect("number of pods")),
    job("spec.tasks[].minAvailable", effect("minTaskMember of the PodGroup")),
    job(
        "spec.tasks[].template",
        effect("passed to the pods; see Pod; unknown fields give a warning that names them"),
        below=True,
    ),
    job("spec.tasks[].policies", effect("policies of the task, before those of the job")),
    job("spec.tasks[].policies[].action", effect("what the job-controller does")),
    job("spec.tasks[].policies[].event", *EVENT_CASES),
    job("spec.tasks[].policies[].events", *EVENT_CASES),
    job("spec.tasks[].policies[].exitCode", effect("what sets the action off")),
    job("spec.tasks[].policies[].timeout", effect("delay before the action")),
    job("spec.tasks[].topologyPolicy", *NUMA_CASES),
    job("spec.tasks[].maxRetry", effect("container restarts before the event TaskFailed")),
    job("spec.tasks[].dependsOn", effect("pods are created when the named tasks are up")),
    job("spec.tasks[].dependsOn.name", effect("the tasks")),
    job("spec.tasks[].dependsOn.iteration", effect("all of them, or any")),
    job(
        "spec.tasks[].partitionPolicy",
        waits(
            f"minPartitions below totalPartitions is {UNSUPPORTED}, so the gang is not enqueued; write "
            "minPartitions 0, or totalPartitions",
            when="minPartitions > 0 and not every replica belongs to the gang",
            match=is_partition_gang,
            sample={"totalPartitions": 2, "partitionSize": 1, "minPartitions": 1},
        ),
        effect("labels of the pods; RestartPartition restarts one; the gang starts them whole"),
    ),
    job("spec.tasks[].partitionPolicy.totalPartitions", effect("times partitionSize is replicas")),
    job("spec.tasks[].partitionPolicy.partitionSize", effect("pods of a partition")),
    job("spec.tasks[].partitionPolicy.minPartitions", effect("the task's part of the gang")),
    job("spec.tasks[].partitionPolicy.networkTopology", *TOPOLOGY_CASES, below=True),
    job("spec.policies", effect("policies of tasks that have none for the event")),
    job("spec.policies[].action", effect("what the job-controller does")),
    job("spec.policies[].event", *EVENT_CASES),
    job("spec.policies[].events", *EVENT_CASES),
    job("spec.policies[].exitCode", effect("what sets the action off")),
    job("spec.policies[].timeout", effect("delay before the action")),
    job("spec.plugins", effect("job plugins; unknown names are refused, arguments checked")),
    job("spec.runningEstimate", effect("estimated start of waiting jobs in `vcctl job explain`")),
    job("spec.queue", effect("the queue the job waits in")),
    job("spec.maxRetry", effect("restarts before the job is Failed")),
    job("spec.ttlSecondsAfterFinished", effect("when the finished job is deleted")),
    job("spec.priorityClassName", effect("priority of the gang and default of its pods")),
    job("spec.minSuccess", effect("succeeded pods that complete the job")),
    job("spec.networkTopology", *TOPOLOGY_CASES, below=True),
    job("status", effect("written by the job-controller"), below=True),
)

OTHERS: Final[tuple[Entry, ...]] = (
    Entry(scope="CronJob", path="", cases=_stored_only(CRONJOB), below=True),
    Entry(scope="JobFlow", path="", cases=_stored_only(JOBFLOW), below=True),
    Entry(scope="JobTemplate", path="", cases=(warned(JOBTEMPLATE, sample={}),), below=True),
    Entry(
        scope="Command",
        path="action",
        cases=(effect("carried out by the job-controller or the queue-controller"),),
    ),
    Entry(scope="Command", path="target", cases=(effect("the job or queue"),), below=True),
    Entry(scope="Command", path="message", cases=(effect("why, in the job's status and event"),)),
    Entry(scope="Command", path="reason", cases=(effect("the same, where there is no message"),)),
)

BATCH: Final[tuple[Entry, ...]] = (*JOB, *OTHERS)
