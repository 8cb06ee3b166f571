"""Pod fields that a gang scheduler must handle.
All other fields are for the kubelet and are passed on unchanged.
"""

from typing import Final

from vc.model.support.answers import UNSUPPORTED, Case, Entry, effect, waits
from vc.model.support.matching import is_unset

NEVER_ALONE: Final = (
    f"gangs of Kubernetes' Workload API are {UNSUPPORTED}, and a pod of one is never bound alone; use a "
    "PodGroup of scheduling.volcano.sh, or another scheduler"
)


def _pod(path: str, *cases: Case, below: bool = False) -> Entry:
    return Entry(scope="Pod", path=path, cases=cases, below=below)


PODS: Final[tuple[Entry, ...]] = (
    _pod(
        "spec.containers", effect("requests and host ports decide where the pod fits"), below=True
    ),
    _pod("spec.initContainers", effect("requests count, sidecars included"), below=True),
    _pod("spec.overhead", effect("added to the request"), below=True),
    _pod("spec.resources", effect("requests of the pod as a whole"), below=True),
    _pod("spec.nodeName", effect("the pod is placed already")),
    _pod("spec.schedulerName", effect("whose pod it is")),
    _pod("spec.priority", effect("order of pods in a job")),
    _pod("spec.priorityClassName", effect("system classes are never evicted")),
    _pod("spec.preemptionPolicy", effect("Never evicts no pod")),
    _pod("spec.nodeSelector", effect("required labels of the node"), below=True),
    _pod("spec.affinity", effect("node and pod (anti-)affinity"), below=True),
    _pod("spec.tolerations", effect("taints of nodes"), below=True),
    _pod("spec.topologySpreadConstraints", effect("spread over domains"), below=True),
    _pod("spec.schedulingGates", effect("the pod waits until they are removed"), below=True),
    _pod("spec.volumes", effect("claims are bound before the pod"), below=True),
    _pod(
        "spec.resourceClaims",
        effect("no device is claimed", when="empty", match=is_unset),
        waits(
            f"dynamic resource allocation is {UNSUPPORTED}: claims are not allocated, so the pod is not "
            "bound; request devices as extended resources",
            when="not empty",
            sample=[{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
        ),
        below=True,
    ),
    _pod(
        "spec.schedulingGroup",
        effect("no group", when="empty", match=is_unset),
        waits(NEVER_ALONE, when="set (Kubernetes 1.36)", sample={"podGroupName": "workers"}),
        below=True,
    ),
    _pod(
        "spec.workloadRef",
        effect("no workload", when="empty", match=is_unset),
        waits(
            NEVER_ALONE,
            when="set (Kubernetes 1.35)",
            sample={"name": "training", "podGroup": "workers"},
        ),
        below=True,
    ),
)
