"""When a job's pods were made and bound, recorded with the phase they led to.

Pods go: a drain deletes them, a restart makes new ones, a clean-up policy takes them away. What
`vcctl job timeline` tells must not change with them. So the moment a job leaves Pending, the times that
its pods show are written into its status, in the patch that brings the phase: no further write, and no
other source afterwards. A restarted job has one record a run.

A record is `made=<time>,bound=<time>,ran=<time>,pods=<count>,nodes=<count>`; what did not happen is left out.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from vc_job_controller.logic.phases import PENDING, RUNNING
from vc_model.bounded import read_count
from vc_model.pod import Pod

RUN: Final = "run-"
RUNS_RECORDED_MAX: Final = 8
"""The first run and the latest ones; a job that restarts for ever must not grow for ever."""


def with_run(
    recorded: Mapping[str, str], pods: Sequence[Pod], *, before: str, phase: str, at: str
) -> dict[str, str]:
    """The records (by number) after the job went from one phase to another; `pods` are this run's."""
    if before not in ("", PENDING) or phase == PENDING or not pods:
        return dict(recorded)
    numbers = {read_count(number) or 0: number for number in recorded}
    made = {**recorded, str(max(numbers, default=0) + 1): _record(pods, phase, at)}
    if len(made) > RUNS_RECORDED_MAX:
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
    return pod.status.start_time or ""
