"""When the pods of a job were created and bound, recorded with the phase they led to.

Pods are deleted by drains, restarts and clean-up policies, but the output of `vcctl job
timeline` must not change with them. So when a job leaves Pending, the times of its pods are
written to its status, in the patch that changes the phase. This costs no further write. A
restarted job has one record per run.

A record is `made=<time>,bound=<time>,ran=<time>,pods=<count>,nodes=<count>`.
What did not happen is omitted.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from vc.job_controller.logic.phases import PENDING, RUNNING
from vc.model.api.pod import Pod
from vc.model.values.bounded import read_count

RUN: Final = "run-"
RUNS_RECORDED_MAX: Final = 8
"""Limit of records: the first run and the latest ones, so that the status cannot grow for ever."""


def with_run(
    recorded: Mapping[str, str], pods: Sequence[Pod], *, before: str, phase: str, at: str
) -> dict[str, str]:
    """The records, by number, after a change of phase. `pods` are the pods of this run."""
    if before not in ("", PENDING) or phase == PENDING or not pods:
        return dict(recorded)
    numbers = {read_count(number) or 0: number for number in recorded}
    made = {**recorded, str(max(numbers, default=0) + 1): _record(pods, phase, at)}
    if len(made) > RUNS_RECORDED_MAX:
        # Keep the first run and the latest ones: remove the second oldest.
        del made[numbers[sorted(numbers)[1]]]
    return made


def _record(pods: Sequence[Pod], phase: str, at: str) -> str:
    bound = [pod for pod in pods if pod.spec.node_name]
    facts = {
        "made": min(pod.metadata.creation_timestamp or "" for pod in pods),
        "bound": max((_bound_at(pod) for pod in bound), default=""),
        "ran": at if phase == RUNNING else "",
        "pods": str(len(pods)),
        "nodes": str(len({pod.spec.node_name for pod in bound})),
    }
    return ",".join(f"{name}={fact}" for name, fact in facts.items() if fact)


def _bound_at(pod: Pod) -> str:
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "True":
            return condition.last_transition_time or ""
    # Without the condition, the kubelet's start time is the nearest known value.
    return pod.status.start_time or ""
