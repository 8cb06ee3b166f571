"""Labels and annotations of Volcano and of this project."""

from typing import Final

from vc.model.api import keys
from vc.model.support.answers import UNSUPPORTED, Case, Entry, effect, warned
from vc.model.support.kinds_batch import NUMA_CASES, TOPOLOGY_CASES
from vc.model.support.matching import in_template, is_duration, one_of

SCOPE: Final = "Label or annotation"
_WORK: Final = ("Job", "PodGroup", "Pod")
_TDM: Final = f"has no effect: the plugin tdm is {UNSUPPORTED}"
_DEVICES: Final = f"has no effect: sharing of devices is {UNSUPPORTED}"
_CLUSTERS: Final = f"has no effect: jobs in several clusters are {UNSUPPORTED}"


def _key(key: str, *cases: Case, on: tuple[str, ...] = _WORK) -> Entry:
    return Entry(scope=SCOPE, path=key, cases=cases, on=on)


def _mark(key: str, text: str, *, on: tuple[str, ...] = ("Pod",)) -> Entry:
    return _key(key, effect(text), on=on)


_TEMPLATE_CASE: Final = warned(
    "has no effect in a vcjob; write spec.networkTopology",
    when="in a task's template",
    match=in_template,
)
_MODE_CASES: Final = (
    _TEMPLATE_CASE,
    warned(
        TOPOLOGY_CASES[0].text,
        when="soft",
        match=one_of("soft"),
        sample="soft",
    ),
    effect("networkTopology of the generated PodGroup, which waits with a condition"),
)

_BY_CONTROLLERS: Final = (
    _mark(keys.JOB_NAME, "written on pods: the job"),
    _mark(keys.JOB_NAMESPACE, "written on pods: the job's namespace"),
    _mark(keys.TASK_SPEC, "written on pods: the task"),
    _mark(keys.TASK_INDEX, "written on pods: the index in the task"),
    _mark(keys.QUEUE_NAME, "written on pods: the job's queue"),
    _mark(keys.JOB_VERSION, "written on pods and the PodGroup: the attempt"),
    _mark(keys.JOB_RETRY_COUNT, "written on pods: the retry"),
    _mark(keys.TEMPLATE_UID, "written on pods: job and task"),
    _mark(keys.PARTITION_ID, "written on pods: the partition, for RestartPartition"),
    _mark(keys.OUT_OF_SYNC, "written on pods: the controller ends them, and no policy applies"),
    _mark(keys.GANG_RELEASED, "written on pods: released with a gang that was not completed"),
    _mark(
        keys.COMPLETED_MEMBERS,
        "written on PodGroups of vcjobs: members that have succeeded and whose pods are gone",
        on=(),
    ),
    _mark(
        "volcano.sh/job-forwarding", "written on pods of queues with extendClusters", on=("Pod",)
    ),
    _mark(keys.CLOSED_BY_PARENT, "written on queues that were closed with their parent", on=()),
    _mark("volcano.sh/last-queue-command", "written on queues: the last Command", on=()),
    _mark(keys.QUEUE_ALLOCATED, "written on pods whose queue-allocation gate was lifted", on=()),
    _mark("volcano.sh/usage", "label of the usage ledger's ConfigMaps", on=()),
)

_READ: Final = (
    _mark(keys.GROUP_NAME, "the pod's PodGroup"),
    _mark(keys.GROUP_NAME_ALTERNATIVE, "the pod's PodGroup, where the other is absent"),
    _mark(keys.GROUP_MIN_MEMBER, "minMember of the generated PodGroup", on=()),
    _mark(keys.QUEUE_NAME_ANNOTATION, "queue of a generated PodGroup, or of a namespace"),
    _mark(
        keys.QUEUE_ALLOCATION_GATE, "the pod waits behind a gate until its queue has free resources"
    ),
    _mark(keys.PREEMPTABLE, "false protects from eviction", on=_WORK),
    _key(
        keys.COOLDOWN_TIME,
        effect(
            "protects from eviction so long after the bind, with the plugin cdp",
            when="a duration",
            match=is_duration,
        ),
        warned("has no effect: it is not a duration; write one like 10m", sample="a while"),
    ),
    _mark(keys.TASK_PRIORITY, "order of pods in a job"),
    _mark(keys.SLA_WAITING_TIME, "waiting time, with the plugin sla", on=("Job", "PodGroup")),
    _mark(keys.SLA_WAITING_TIME_LEGACY, "the same", on=("Job", "PodGroup")),
    _mark(keys.TASK_TOPOLOGY_AFFINITY, "with the plugin task-topology", on=("Job", "PodGroup")),
    _mark(
        keys.TASK_TOPOLOGY_ANTI_AFFINITY, "with the plugin task-topology", on=("Job", "PodGroup")
    ),
    _mark(keys.TASK_TOPOLOGY_ORDER, "with the plugin task-topology", on=("Job", "PodGroup")),
    _mark(keys.ALLOWED_NAMESPACES, "namespaces that may use the queue", on=("Queue",)),
    _mark(
        keys.ALLOWED_NAMESPACE_SELECTOR,
        "labels of namespaces that may use the queue",
        on=("Queue",),
    ),
    _mark(
        keys.HONOR_NON_PREEMPTABLE,
        "false: its pods cannot exempt themselves from eviction",
        on=("Queue",),
    ),
    _mark(keys.HIERARCHY, "path of the queue, with drf and enableHierarchy", on=("Queue",)),
    _mark(keys.HIERARCHY_WEIGHTS, "weights of the path", on=("Queue",)),
    _mark(keys.ALLOW_DELETE, "lets the queue be deleted while it is in use", on=("Queue",)),
    _mark(keys.OVERUSE_TOLERANCE, "part above deserved that reclaim leaves alone", on=("Queue",)),
    _mark("volcano.sh/resource-group", "resource group of admission"),
    _mark(keys.JOB_TYPE, "column JobType of `vcctl job list`", on=("Job",)),
    _mark(
        keys.ALLOW_UNSUPPORTED,
        '"true" stores a CronJob or JobFlow that nothing runs',
        on=("CronJob", "JobFlow"),
    ),
    _mark(keys.SIM_RUN_SECONDS, "embedded cluster: how long the pod runs"),
    _mark(keys.SIM_EXIT_CODE, "embedded cluster: how the pod ends"),
    _mark(keys.SIM_FAIL_ATTEMPTS, "embedded cluster: attempts that fail"),
    _mark("hccl/rankIndex", "passed to the pod; the job plugin hcclrank is refused as unknown"),
    _mark(
        "volcano.sh/cronjob-scheduled-timestamp",
        "kept and copied to the PodGroup, for people and tools",
        on=("Job",),
    ),
    _mark("volcano.sh/createdByJobTemplate", "kept, for people and tools", on=("Job",)),
    _mark("volcano.sh/createdByJobFlow", "kept, for people and tools", on=("Job",)),
)

_ANSWERED: Final = (
    _key(keys.NETWORK_TOPOLOGY_MODE, *_MODE_CASES, on=("Pod",)),
    _key(
        keys.NETWORK_TOPOLOGY_HIGHEST_TIER,
        _TEMPLATE_CASE,
        effect("networkTopology of the generated PodGroup, which waits with a condition"),
        on=("Pod",),
    ),
    _key(keys.NUMA_TOPOLOGY_POLICY, *NUMA_CASES, on=("Pod",)),
    _key(keys.REVOCABLE_ZONE, warned(_TDM, sample="*")),
    _key(keys.JDB_MIN_AVAILABLE, warned(_TDM, sample="1")),
    _key(keys.JDB_MAX_UNAVAILABLE, warned(_TDM, sample="50%")),
    _key(
        "scheduling.volcano.sh/group-min-resources",
        warned("has no effect: minResources follow from the pods", sample="{}"),
    ),
    _key(
        "volcano.sh/topology-decision",
        warned("has no effect: only its writer reads it", sample="x"),
    ),
    _key("volcano.sh/qos-level", warned("has no effect: there is no node agent", sample="LC")),
    _key("volcano.sh/forward-cluster", warned(_CLUSTERS, sample="west")),
    _key("volcano.sh/burst-name", warned(_CLUSTERS, sample="west")),
    _key("volcano.sh/silo-resource", warned(_CLUSTERS, sample="west")),
    _key("volcano.sh/vgpu-mode", warned(_DEVICES, sample="mig")),
    _key("volcano.sh/vgpu-podgroup-policy", warned(_DEVICES, sample="spread")),
    _key(
        "volcano.sh/resource-strategy-scoring-type",
        warned(f"has no effect: resource-strategy-fit is {UNSUPPORTED}", sample="MostAllocated"),
    ),
    _key(
        "volcano.sh/resource-strategy-scoring-weight",
        warned(f"has no effect: resource-strategy-fit is {UNSUPPORTED}", sample="1"),
    ),
    _key(
        "volcano.sh/nodegroup-name",
        effect("a label of nodes; Queue spec.affinity, which names it, gives a warning"),
        on=("Node",),
    ),
    _key(
        "volcano.sh/network-topology-source",
        effect("a label of HyperNodes; those give a warning"),
        on=(),
    ),
)

METADATA: Final[tuple[Entry, ...]] = (*_READ, *_ANSWERED, *_BY_CONTROLLERS)
