"""Rows of started jobs with surplus pods that wait."""

from collections.abc import Collection
from typing import Final

from vc.dashboard.logic.amounts import PODS, Resources, pod_amounts, shown
from vc.dashboard.logic.answers.future_answers import WaitingRow
from vc.dashboard.logic.cluster_index import STARTED_PHASES, ClusterIndex, unplaced
from vc.model.api.pod import Pod

BEYOND_MINIMUM: Final = "beyond-minimum"
"""Shown instead of a stage, because no session refused the job: it runs."""
_SCHEDULED: Final = "PodScheduled"


def surplus_rows(
    cluster_index: ClusterIndex, queue: str, *, known: Collection[str]
) -> list[WaitingRow]:
    """Rows by key, without PodGroups that are `known` to wait as a
    whole. The caller sets positions."""
    found: list[WaitingRow] = []
    for key, group in cluster_index.groups.items():
        # Jobs that wait as a whole have a row of their own.
        if group.spec.queue != queue or key in known or group.status.phase not in STARTED_PHASES:
            continue
        pods = unplaced(cluster_index, key)
        if pods:
            found.append(
                WaitingRow(
                    position=0,
                    group=key,
                    stage=BEYOND_MINIMUM,
                    needed_pods=len(pods),
                    missing=shown(_requested(pods)),
                    unblock=None,
                    reason=_sentence(pods, group.spec.min_member),
                    created=group.metadata.creation_timestamp or "",
                )
            )
    return found


def _requested(pods: list[Pod]) -> Resources:
    # Pods are counted apart, in `needed_pods`.
    return Resources.total(pod_amounts(pod.spec) for pod in pods).without((PODS,))


def _sentence(pods: list[Pod], minimum: int) -> str:
    """The scheduler's message on the first pod that has one, or a general sentence."""
    for pod in pods:
        for condition in pod.status.conditions:
            if condition.type == _SCHEDULED and condition.status == "False" and condition.message:
                return condition.message
    count = "1 pod waits" if len(pods) == 1 else f"{len(pods)} pods wait"
    return f"{count} beyond the minimum of {minimum}; the job runs"
