"""The state machine as a table.

Two things move a job. A *step* is taken because somebody orders it: a command, or a policy that
matched something that happened. Settling is what the pods themselves bring about: the gang came up,
everything ended, everything that had to go is gone. `STEPS` and `SETTLES` are the whole of it;
`ALLOWED` is their union, and the property tests hold every run against it.

Different from upstream on purpose: an order that comes while the job restarts is not swallowed. It
waits until the restart is through.
"""

import enum
from typing import Final

import msgspec

PENDING: Final = "Pending"
RUNNING: Final = "Running"
RESTARTING: Final = "Restarting"
COMPLETING: Final = "Completing"
COMPLETED: Final = "Completed"
ABORTING: Final = "Aborting"
ABORTED: Final = "Aborted"
TERMINATING: Final = "Terminating"
TERMINATED: Final = "Terminated"
FAILED: Final = "Failed"

LIVE: Final = frozenset({PENDING, RUNNING})
"""Phases in which pods are made and policies apply."""
KILLING: Final = frozenset({COMPLETING, ABORTING, TERMINATING})
"""Phases that wait until no pod is alive."""
FINAL: Final = frozenset({COMPLETED, TERMINATED, FAILED})
"""Nothing leads out of these."""
EXPIRING: Final = FINAL | {ABORTED}
"""Phases that ttlSecondsAfterFinished counts for. Upstream forgets Aborted."""

RESTART_JOB: Final = "RestartJob"
RESTART_TASK: Final = "RestartTask"
RESTART_POD: Final = "RestartPod"
RESTART_PARTITION: Final = "RestartPartition"
ABORT_JOB: Final = "AbortJob"
TERMINATE_JOB: Final = "TerminateJob"
COMPLETE_JOB: Final = "CompleteJob"
RESUME_JOB: Final = "ResumeJob"


class Restart(enum.Enum):
    """Which pods a restart runs anew."""

    NONE = ""
    WHOLE = "whole"
    """All pods, the finished ones too: the job's version grows and older pods count no more."""
    UNFINISHED = "unfinished"
    """Only pods that have not ended; what has succeeded is not run again."""
    TARGET = "target"
    """A task, a pod or a partition; the pod group stays."""


class Step(msgspec.Struct, frozen=True):
    """Where an order leads. Every restart costs one of the job's retries."""

    to: str
    restart: Restart = Restart.NONE


_ORDERS_TO_LIVE: Final[dict[str, Step]] = {
    RESTART_JOB: Step(RESTARTING, Restart.WHOLE),
    RESTART_TASK: Step(RESTARTING, Restart.TARGET),
    RESTART_POD: Step(RESTARTING, Restart.TARGET),
    RESTART_PARTITION: Step(RESTARTING, Restart.TARGET),
    ABORT_JOB: Step(ABORTING),
    TERMINATE_JOB: Step(TERMINATING),
    COMPLETE_JOB: Step(COMPLETING),
}
_ORDERS_TO_SUSPENDED: Final[dict[str, Step]] = {
    RESUME_JOB: Step(RESTARTING, Restart.UNFINISHED),
}

STEPS: Final[dict[str, dict[str, Step]]] = {
    PENDING: _ORDERS_TO_LIVE,
    RUNNING: _ORDERS_TO_LIVE,
    RESTARTING: {},
    ABORTING: _ORDERS_TO_SUSPENDED,
    ABORTED: _ORDERS_TO_SUSPENDED,
    COMPLETING: {},
    TERMINATING: {},
    COMPLETED: {},
    TERMINATED: {},
    FAILED: {},
}

SETTLES: Final[dict[str, frozenset[str]]] = {
    "": frozenset({PENDING}),
    PENDING: frozenset({RUNNING}),
    RUNNING: frozenset({PENDING, COMPLETED, FAILED}),
    RESTARTING: frozenset({PENDING, FAILED}),
    ABORTING: frozenset({ABORTED}),
    COMPLETING: frozenset({COMPLETED}),
    TERMINATING: frozenset({TERMINATED}),
    ABORTED: frozenset(),
    COMPLETED: frozenset(),
    TERMINATED: frozenset(),
    FAILED: frozenset(),
}

ENDS_AS: Final[dict[str, str]] = {
    COMPLETING: COMPLETED,
    ABORTING: ABORTED,
    TERMINATING: TERMINATED,
}

ALLOWED: Final[dict[str, frozenset[str]]] = {
    phase: settles | {step.to for step in STEPS.get(phase, {}).values()}
    for phase, settles in SETTLES.items()
}
"""Every phase change there is."""
