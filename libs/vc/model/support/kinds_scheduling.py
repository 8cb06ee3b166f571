"""Fields of PodGroup, Queue and HyperNode."""

from typing import Final

from vc.model.support.answers import UNSUPPORTED, Case, Entry, effect, waits, warned
from vc.model.support.kinds_batch import TOPOLOGY_CASES
from vc.model.support.matching import is_sub_gang, is_unset

HYPERNODE: Final = (
    f"stored, but network topology is {UNSUPPORTED}: no placement looks at HyperNodes"
)


def _group(path: str, *cases: Case, below: bool = False) -> Entry:
    return Entry(scope="PodGroup", path=path, cases=cases, below=below)


def _queue(path: str, *cases: Case, below: bool = False) -> Entry:
    return Entry(scope="Queue", path=path, cases=cases, below=below)


PODGROUP: Final[tuple[Entry, ...]] = (
    _group("spec", effect("the gang and its queue")),
    _group("spec.minMember", effect("size of the gang")),
    _group("spec.minTaskMember", effect("size of the gang by task"), below=True),
    _group("spec.queue", effect("the queue the gang waits in")),
    _group("spec.priorityClassName", effect("priority of the gang")),
    _group("spec.minResources", effect("what the gang needs to be enqueued"), below=True),
    _group("spec.networkTopology", *TOPOLOGY_CASES, below=True),
    _group("spec.subGroupPolicy", effect("see its fields")),
    _group(
        "spec.subGroupPolicy[]",
        waits(
            f"a gang of sub-groups is {UNSUPPORTED}, so the group is not enqueued; write minSubGroups 0",
            when="minSubGroups > 0",
            match=is_sub_gang,
            sample={"name": "s", "subGroupSize": 2, "minSubGroups": 1},
        ),
        effect("no sub-group is requested; the group's own gang holds"),
        below=True,
    ),
    _group("spec.subGroupPolicy[].networkTopology", *TOPOLOGY_CASES, below=True),
    _group("status", effect("written by the scheduler"), below=True),
)

QUEUE: Final[tuple[Entry, ...]] = (
    _queue("spec", effect("the queue's share and rules")),
    _queue("spec.weight", effect("share of proportion")),
    _queue("spec.capability", effect("upper limit"), below=True),
    _queue("spec.reclaimable", effect("whether others reclaim from it")),
    _queue(
        "spec.extendClusters",
        effect("no other cluster", when="empty", match=is_unset),
        waits(
            f"forwarding jobs to other clusters is {UNSUPPORTED}, so jobs of this queue wait; remove it",
            when="not empty",
            sample=[{"name": "west", "weight": 1}],
        ),
        below=True,
    ),
    _queue("spec.guarantee", effect("reserved for this queue"), below=True),
    _queue(
        "spec.affinity",
        effect("nothing is requested", when="empty", match=is_unset),
        warned(
            f"has no effect: the plugin nodegroup is {UNSUPPORTED}; give the pods a nodeSelector",
            when="not empty",
            sample={
                "nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["gpu"]}
            },
        ),
        below=True,
    ),
    _queue(
        "spec.type",
        effect("nothing is said", when="empty", match=is_unset),
        warned("has no effect in this release", when="not empty", sample="batch"),
    ),
    _queue("spec.parent", effect("the queue above")),
    _queue("spec.deserved", effect("share of capacity"), below=True),
    _queue("spec.priority", effect("order of queues")),
    _queue("spec.dequeueStrategy", effect("fifo or traverse")),
    _queue("status", effect("written by the queue-controller and the scheduler"), below=True),
)

HYPERNODES: Final[tuple[Entry, ...]] = (
    Entry(scope="HyperNode", path="", cases=(warned(HYPERNODE, sample={}),), below=True),
)

SCHEDULING: Final[tuple[Entry, ...]] = (*PODGROUP, *QUEUE, *HYPERNODES)
