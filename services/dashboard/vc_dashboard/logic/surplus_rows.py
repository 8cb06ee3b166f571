"""Jobs of a queue that have their minimum, and more pods that wait."""

from collections.abc import Collection
from typing import Final

from vc_dashboard.logic.amounts import PODS, Amounts, add, pod_amounts, shown
from vc_dashboard.logic.future_answers import WaitingRow
from vc_dashboard.logic.picture import STARTED_PHASES, Picture, unplaced
from vc_model.pod import Pod

BEYOND_MINIMUM: Final = "beyond-minimum"
"""In place of a stage: no session refused the job, which runs."""
_SCHEDULED: Final = "PodScheduled"


def surplus_rows(picture: Picture, queue: str, *, known: Collection[str]) -> list[WaitingRow]:
    """By key, without groups that are `known` to wait as a whole; positions are counted by the caller."""
    found: list[WaitingRow] = []
    for key, group in picture.groups.items():
        if group.spec.queue != queue or key in known or group.status.phase not in STARTED_PHASES:
            continue
        pods = unplaced(picture, key)
        if pods:
            found.append(
                WaitingRow(
                    position=0,
                    group=key,
                    stage=BEYOND_MINIMUM,
                    needed_pods=len(pods),
                    missing=shown(_asked(pods)),
                    unblock=None,
                    reason=_sentence(pods, group.spec.min_member),
                    created=group.metadata.creation_timestamp or "",
                )
            )
    return found


def _asked(pods: list[Pod]) -> Amounts:
    total: Amounts = {}
    for pod in pods:
        add(total, pod_amounts(pod.spec))
    total.pop(PODS, None)
    return total


def _sentence(pods: list[Pod], minimum: int) -> str:
    """What the scheduler wrote on the first of them that has a word."""
    for pod in pods:
        for condition in pod.status.conditions:
            if condition.type == _SCHEDULED and condition.status == "False" and condition.message:
                return condition.message
    count = "1 pod waits" if len(pods) == 1 else f"{len(pods)} pods wait"
    return f"{count} beyond the minimum of {minimum}; the job runs"
