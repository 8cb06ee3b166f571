"""The vcjob API: Job, CronJob and Command of batch.volcano.sh and bus.volcano.sh,
and JobFlow, with all fields.
"""

import msgspec

from vc.model.api.meta import ApiObject, OwnerReference
from vc.model.api.struct import ApiStruct, JsonObject


class LifecyclePolicy(ApiStruct, frozen=True, kw_only=True):
    """The action for an event or exit code of a pod, a task or the job."""

    action: str = ""
    event: str = ""
    events: list[str] = []
    exit_code: int | None = None
    timeout: str | None = None


class DependsOn(ApiStruct, frozen=True, kw_only=True):
    """Tasks that must be ready before the pods of this one are created."""

    name: list[str] = []
    iteration: str = ""


class NetworkTopology(ApiStruct, frozen=True, kw_only=True):
    """How close to each other the pods must be placed."""

    mode: str = "hard"
    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""


class PartitionPolicy(ApiStruct, frozen=True, kw_only=True):
    """Divides a task into partitions that are restarted and placed as a unit."""

    total_partitions: int = 1
    partition_size: int = 1
    min_partitions: int = 0
    network_topology: NetworkTopology | None = None


class TaskSpec(ApiStruct, frozen=True, kw_only=True):
    """A task: a named group of equal pods."""

    name: str = ""
    replicas: int = 0
    min_available: int | None = None
    template: JsonObject = {}
    policies: list[LifecyclePolicy] = []
    topology_policy: str = ""
    max_retry: int = 0
    depends_on: DependsOn | None = None
    partition_policy: PartitionPolicy | None = None


class VolumeSpec(ApiStruct, frozen=True, kw_only=True):
    """A claim that is mounted in every container of the job."""

    mount_path: str
    volume_claim_name: str = ""
    volume_claim: JsonObject | None = None


class JobSpec(ApiStruct, frozen=True, kw_only=True):
    """The spec of a vcjob."""

    scheduler_name: str = ""
    min_available: int = 0
    volumes: list[VolumeSpec] = []
    tasks: list[TaskSpec] = []
    policies: list[LifecyclePolicy] = []
    plugins: dict[str, list[str]] = {}
    running_estimate: str | None = None
    queue: str = ""
    max_retry: int = 0
    ttl_seconds_after_finished: int | None = None
    priority_class_name: str = ""
    min_success: int | None = None
    network_topology: NetworkTopology | None = None


class JobState(ApiStruct, frozen=True, kw_only=True):
    """The phase of a job, with its reason."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class TaskState(ApiStruct, frozen=True, kw_only=True):
    """The number of a task's pods by phase."""

    phase: dict[str, int] = {}


class JobCondition(ApiStruct, frozen=True, kw_only=True):
    """When the job entered a phase; at most one entry per phase, the newest last."""

    status: str
    last_transition_time: str | None = None


class JobStatus(ApiStruct, frozen=True, kw_only=True):
    """The observed state of a vcjob."""

    state: JobState = JobState()
    min_available: int = 0
    task_status_count: dict[str, TaskState] = {}
    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    unknown: int = 0
    version: int = 0
    retry_count: int = 0
    running_duration: str | None = None
    controlled_resources: dict[str, str] = {}
    conditions: list[JobCondition] = []


class Job(ApiObject, frozen=True, kw_only=True):
    """A vcjob: the tasks that a user asks for, and the state that the job-controller writes."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class Command(ApiObject, frozen=True, kw_only=True):
    """A request to act on a job or queue, which is executed once."""

    action: str = ""
    target: OwnerReference | None = None
    reason: str = ""
    message: str = ""


class JobTemplateSpec(ApiStruct, frozen=True, kw_only=True):
    """The template of the jobs that a CronJob creates."""

    metadata: JsonObject = {}
    spec: JobSpec = JobSpec()


class CronJobSpec(ApiStruct, frozen=True, kw_only=True):
    """The schedule and the rules of a CronJob."""

    schedule: str = ""
    time_zone: str | None = None
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    job_template: JobTemplateSpec = JobTemplateSpec()
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1


class CronJobStatus(ApiStruct, frozen=True, kw_only=True):
    """The active jobs and the last runs of a CronJob."""

    active: list[JsonObject] = []
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(ApiObject, frozen=True, kw_only=True):
    """Creates vcjobs on a schedule."""

    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()


class FlowDependsOn(ApiStruct, frozen=True, kw_only=True):
    """Flows that must have completed before this one starts."""

    targets: list[str] = []
    probe: JsonObject | None = None


class Flow(ApiStruct, frozen=True, kw_only=True):
    """One step of a JobFlow."""

    name: str
    depends_on: FlowDependsOn | None = None
    patch: JsonObject | None = None


class JobFlowSpec(ApiStruct, frozen=True, kw_only=True):
    """The steps of a JobFlow, and whether their jobs are kept."""

    flows: list[Flow] = []
    job_retain_policy: str = "retain"


class JobFlowState(ApiStruct, frozen=True, kw_only=True):
    """The phase of a JobFlow."""

    phase: str = ""


class JobFlowStatus(ApiStruct, frozen=True, kw_only=True):
    """The jobs of a JobFlow by state."""

    pending_jobs: list[str] = []
    running_jobs: list[str] = []
    failed_jobs: list[str] = []
    completed_jobs: list[str] = []
    terminated_jobs: list[str] = []
    unknown_jobs: list[str] = msgspec.field(default_factory=list, name="unKnowJobs")
    job_status_list: list[JsonObject] = []
    conditions: dict[str, JsonObject] = {}
    state: JobFlowState = JobFlowState()


class JobFlow(ApiObject, frozen=True, kw_only=True):
    """A sequence of vcjobs with dependencies."""

    spec: JobFlowSpec = JobFlowSpec()
    status: JobFlowStatus = JobFlowStatus()


class JobTemplateStatus(ApiStruct, frozen=True, kw_only=True):
    """The jobs that were created from the template."""

    job_depends_on_list: list[str] = []


class JobTemplate(ApiObject, frozen=True, kw_only=True):
    """A template of a vcjob for JobFlows."""

    spec: JobSpec = JobSpec()
    status: JobTemplateStatus = JobTemplateStatus()
