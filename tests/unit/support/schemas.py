"""What a user can write, collected from the schemas, the code and the registries; never from the table."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[3]
CRDS: Final = ROOT / "deploy" / "crds"
NOT_OURS: Final = ("apiVersion", "kind", "metadata")
"""The API server's own, on every kind."""

_KEY: Final = re.compile(
    r"""["']((?:[a-z.]*volcano\.sh|scheduling\.k8s\.io|sim\.pyroclast\.io)/[A-Za-z][A-Za-z-]*)["']"""
)
_VERSION: Final = re.compile(r"/v\d")


def kinds() -> dict[str, Any]:
    """Kind → schema."""
    found = {}
    for path in sorted(CRDS.glob("*.yaml")):
        definition = yaml.safe_load(path.read_text())
        version = definition["spec"]["versions"][0]
        found[definition["spec"]["names"]["kind"]] = version["schema"]["openAPIV3Schema"]
    return found


def fields(schema: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """Every path of a schema; `[]` stands for members of lists, `{}` for values of maps."""
    for name, below in (schema.get("properties") or {}).items():
        if not at and name in NOT_OURS:
            continue
        path = f"{at}.{name}" if at else name
        yield path
        yield from _below(below, path)


def _below(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    yield from fields(schema, path)
    items, values = schema.get("items"), schema.get("additionalProperties")
    if isinstance(items, dict) and (items.get("properties") or items.get("items")):
        yield f"{path}[]"
        yield from _below(items, f"{path}[]")
    if isinstance(values, dict) and values.get("properties"):
        yield from _below(values, f"{path}{{}}")


def free_paths(schema: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """Paths of the parts that keep fields which the schema does not name."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        yield at
    for name, below in (schema.get("properties") or {}).items():
        yield from free_paths(below, f"{at}.{name}" if at else name)
    if isinstance(schema.get("items"), dict):
        yield from free_paths(schema["items"], f"{at}[]")


def all_fields() -> list[tuple[str, str]]:
    """(kind, path) of every field of every CRD."""
    return [(kind, path) for kind, schema in kinds().items() for path in fields(schema)]


def keys_in_code() -> list[str]:
    """Labels and annotations that the code names, in libraries and services."""
    found: set[str] = set()
    for folder in ("libs", "services"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "vc/model/support" in path.as_posix():
                continue
            found |= set(_KEY.findall(path.read_text()))
    return sorted(key for key in found if not _VERSION.search(key))


def words(text: str) -> list[str]:
    """A list of names, written as a text."""
    return text.split()


UPSTREAM_KEYS: Final = words("""
scheduling.k8s.io/group-name scheduling.volcano.sh/group-name scheduling.volcano.sh/group-min-member
scheduling.volcano.sh/group-min-resources scheduling.volcano.sh/queue-name
scheduling.volcano.sh/queue-allocation-gate volcano.sh/job-name volcano.sh/job-namespace volcano.sh/task-spec
volcano.sh/task-index volcano.sh/queue-name volcano.sh/job-version volcano.sh/job-retry-count
volcano.sh/template-uid volcano.sh/partition-id volcano.sh/controller-out-of-sync volcano.sh/job-type
volcano.sh/preemptable volcano.sh/cooldown-time volcano.sh/revocable-zone volcano.sh/jdb-min-available
volcano.sh/jdb-max-unavailable volcano.sh/numa-topology-policy volcano.sh/topology-decision
volcano.sh/qos-level volcano.sh/sla-waiting-time volcano.sh/hierarchy volcano.sh/hierarchy-weights
volcano.sh/closed-by-parent volcano.sh/task-topology-affinity volcano.sh/task-topology-anti-affinity
volcano.sh/task-topology-task-order volcano.sh/network-topology-mode
volcano.sh/network-topology-highest-tier volcano.sh/resource-group volcano.sh/job-forwarding
volcano.sh/forward-cluster volcano.sh/burst-name volcano.sh/silo-resource
volcano.sh/cronjob-scheduled-timestamp volcano.sh/createdByJobTemplate volcano.sh/createdByJobFlow
volcano.sh/nodegroup-name hccl/rankIndex
""")
"""Of docs/behaviour.md 1.9."""

UPSTREAM_PLUGINS: Final = words("""
gang priority conformance drf proportion capacity overcommit sla predicates nodeorder binpack
resource-strategy-fit task-topology numa-aware network-topology-aware deviceshare usage tdm nodegroup
rescheduling pdb resourcequota cdp extender
""")
UPSTREAM_ACTIONS: Final = words(
    "enqueue allocate backfill preempt reclaim gangpreempt gangreclaim shuffle"
)
UPSTREAM_SWITCHES: Final = words("""
enableJobOrder enableHierarchy enableJobReady enableJobPipelined enableTaskOrder enablePreemptable
enableReclaimable enablePreemptive enableQueueOrder EnabledClusterOrder enablePredicate enableBestNode
enableNodeOrder enableTargetJob enableReservedNodes enableJobEnqueued enabledVictim enableJobStarving
enabledOverused enabledAllocatable enabledHyperNodeOrder enabledSubJobReady enabledSubJobPipelined
enabledSubJobOrder enabledHyperNodeGradient
""")
"""Of docs/behaviour.md 5.3 and 5.7."""

UPSTREAM_ARGUMENTS: Final = {
    "overcommit": "overcommit-factor",
    "sla": "sla-waiting-time",
    "predicates": """predicate.NodeAffinityEnable predicate.NodePortsEnable predicate.TaintTolerationEnable
        predicate.PodAffinityEnable predicate.NodeVolumeLimitsEnable predicate.VolumeZoneEnable
        predicate.PodTopologySpreadEnable predicate.VolumeBindingEnable
        predicate.DynamicResourceAllocationEnable predicate.CacheEnable""",
    "nodeorder": """leastrequested.weight mostrequested.weight nodeaffinity.weight podaffinity.weight
        balancedresource.weight tainttoleration.weight imagelocality.weight podtopologyspread.weight""",
    "binpack": "binpack.weight binpack.cpu binpack.memory binpack.resources binpack.resources.<name>",
    "task-topology": "task-topology.weight",
    "capacity": """ancestorReclaimLevel capacity.DynamicResourceAllocationEnable
        capacity.DRAConsumableCapacityEnable""",
    "preempt": """predicateErrorCacheEnable enableTopologyAwarePreemption topologyAwarePreemptWorkerNum
        minCandidateNodesPercentage minCandidateNodesAbsolute maxCandidateNodesAbsolute""",
}
"""Of the plugins and actions that there are here, as docs/behaviour.md 5.5 and 5.7 name them."""
