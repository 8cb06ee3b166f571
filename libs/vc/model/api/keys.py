"""Label and annotation keys, and well-known names of the API."""

from typing import Final

GROUP_NAME: Final = "scheduling.k8s.io/group-name"
GROUP_NAME_ALTERNATIVE: Final = "scheduling.volcano.sh/group-name"
GROUP_MIN_MEMBER: Final = "scheduling.volcano.sh/group-min-member"
QUEUE_NAME_ANNOTATION: Final = "scheduling.volcano.sh/queue-name"
QUEUE_ALLOCATION_GATE: Final = "scheduling.volcano.sh/queue-allocation-gate"

JOB_NAME: Final = "volcano.sh/job-name"
JOB_NAMESPACE: Final = "volcano.sh/job-namespace"
JOB_VERSION: Final = "volcano.sh/job-version"
JOB_RETRY_COUNT: Final = "volcano.sh/job-retry-count"
JOB_TYPE: Final = "volcano.sh/job-type"
TASK_SPEC: Final = "volcano.sh/task-spec"
TASK_INDEX: Final = "volcano.sh/task-index"
QUEUE_NAME: Final = "volcano.sh/queue-name"
TEMPLATE_UID: Final = "volcano.sh/template-uid"
PARTITION_ID: Final = "volcano.sh/partition-id"
OUT_OF_SYNC: Final = "volcano.sh/controller-out-of-sync"
GANG_RELEASED: Final = "volcano.sh/gang-released"
"""Ours, on a pod that the scheduler evicts because its gang could not be completed. Policies and
retryCount must not treat this as an eviction.
"""
COMPLETED_MEMBERS: Final = "volcano.sh/completed-members"
"""Ours, on a PodGroup: members that succeeded and whose pods are gone
(`vc.model.completed_members`).
"""
QUEUE_ALLOCATED: Final = "volcano.sh/queue-allocated"
"""Ours, on a pod whose queue-allocation gate the scheduler has removed:
its queue has reserved quota for it.
"""
PREEMPTABLE: Final = "volcano.sh/preemptable"
COOLDOWN_TIME: Final = "volcano.sh/cooldown-time"
REVOCABLE_ZONE: Final = "volcano.sh/revocable-zone"
JDB_MIN_AVAILABLE: Final = "volcano.sh/jdb-min-available"
JDB_MAX_UNAVAILABLE: Final = "volcano.sh/jdb-max-unavailable"
NUMA_TOPOLOGY_POLICY: Final = "volcano.sh/numa-topology-policy"
SLA_WAITING_TIME: Final = "volcano.sh/sla-waiting-time"
HIERARCHY: Final = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS: Final = "volcano.sh/hierarchy-weights"
CLOSED_BY_PARENT: Final = "volcano.sh/closed-by-parent"
ALLOW_DELETE: Final = "volcano.sh/allow-delete"
"""On a queue, `"true"`: it may be deleted while it is in use."""
ALLOWED_NAMESPACES: Final = "volcano.sh/allowed-namespaces"
"""Ours, on a queue: the namespaces that may use it, separated by commas.
Without this annotation and the next, all may.
"""
ALLOWED_NAMESPACE_SELECTOR: Final = "volcano.sh/allowed-namespace-selector"
"""Ours, on a queue: a label selector of namespaces that may use it, in addition to those listed."""
HONOR_NON_PREEMPTABLE: Final = "volcano.sh/honor-non-preemptable"
"""Ours, on a queue: with `"false"` its pods may be evicted in spite of `volcano.sh/preemptable:
"false"`.
"""
OVERUSE_TOLERANCE: Final = "volcano.sh/overuse-tolerance"
TASK_PRIORITY: Final = "volcano.sh/task-priority"
SLA_WAITING_TIME_LEGACY: Final = "sla-waiting-time"
TASK_TOPOLOGY_AFFINITY: Final = "volcano.sh/task-topology-affinity"
TASK_TOPOLOGY_ANTI_AFFINITY: Final = "volcano.sh/task-topology-anti-affinity"
TASK_TOPOLOGY_ORDER: Final = "volcano.sh/task-topology-task-order"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""Kubernetes', on a claim: the node of its first consumer,
so that the volume is provisioned there.
"""
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
"""Kubernetes', on a volume: its claim was set by a controller, not by a user."""
NETWORK_TOPOLOGY_MODE: Final = "volcano.sh/network-topology-mode"
NETWORK_TOPOLOGY_HIGHEST_TIER: Final = "volcano.sh/network-topology-highest-tier"

ALLOW_UNSUPPORTED: Final = "volcano.sh/allow-unsupported"
"""Ours, on an object that this release stores but does not act on:
its author wants it stored nevertheless.
"""

SIM_RUN_SECONDS: Final = "sim.pyroclast.io/run-seconds"
SIM_EXIT_CODE: Final = "sim.pyroclast.io/exit-code"
SIM_FAIL_ATTEMPTS: Final = "sim.pyroclast.io/fail-attempts"

SCHEDULER_NAME: Final = "volcano"
DEFAULT_QUEUE: Final = "default"
ROOT_QUEUE: Final = "root"
SYSTEM_NAMESPACE: Final = "volcano-system"
KUBE_SYSTEM: Final = "kube-system"

PODGROUP_ANNOTATIONS: Final = (JOB_VERSION, COMPLETED_MEMBERS)
"""Annotations of pod groups that only our services write."""

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""kubectl's copy of the applied manifest."""
