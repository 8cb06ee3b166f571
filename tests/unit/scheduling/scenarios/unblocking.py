"""What a reason proposes, applied to a cluster by the same function that the remedy search uses."""

from collections.abc import Mapping
from typing import Final

from tests.unit.scheduling.scenarios.scenario import Wait
from vc.messages.sessions import JobReason, Unblock
from vc.scheduling.explain.apply_remedy import apply_remedy
from vc.scheduling.explain.cluster_objects import Cluster

ACTIONS: Final = {
    "create-queue", "open-queue", "move-job", "raise-capability", "raise-weight", "raise-quota",
    "add-room", "reach-volume", "create-pods", "lift-gates", "create-peer", "wait", "create-claim",
    "create-volume", "bind-claim", "free-claim", "add-volume", "remove-field", "fix",
}  # fmt: skip
"""What sessions propose; the remedy search knows more."""


def unblock(ground: Cluster, job: JobReason, wait: Wait, others: Mapping[str, JobReason]) -> None:
    """Do what the reason proposes, all of it."""
    proposed = job.reason.unblock
    assert proposed is not None, f"{job.group} has no remedy"
    for part in (proposed, *proposed.also):
        _do(ground, part, job, wait, others)


def _do(
    ground: Cluster, proposed: Unblock, job: JobReason, wait: Wait, others: Mapping[str, JobReason]
) -> None:
    if proposed.action == "fix":
        assert wait.fix, "a scenario with `fix` says what it is"
        ground.put(*wait.fix)
    elif proposed.action == "wait" and proposed.target:
        unblock(ground, others[proposed.target], wait, others)
    else:
        apply_remedy(ground, _alone(proposed), job.group)


def _alone(proposed: Unblock) -> Unblock:
    """Without what else it names: each part is applied by itself."""
    return Unblock(
        action=proposed.action,
        target=proposed.target,
        pods=proposed.pods,
        amounts=proposed.amounts,
        weight=proposed.weight,
        where=proposed.where,
    )
