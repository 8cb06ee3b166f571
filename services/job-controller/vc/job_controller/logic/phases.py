"""The state machine as a table.

A job changes its phase in two ways. A *step* follows an order: a Command, or a policy that
matched. A transition follows from the pods: the gang runs, all pods have ended, or all pods to
delete are gone. `STEPS` and `TRANSITIONS` list all of them. `ALLOWED` is their union, and property
tests check every run against it.

One difference from upstream is deliberate: an order that arrives while the job restarts is not
dropped. It waits until the restart is complete.
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
"""Phases in which pods are created and policies apply."""
KILLING: Final = frozenset({COMPLETING, ABORTING, TERMINATING})
"""Phases that wait until no pod is alive."""
FINAL: Final = frozenset({COMPLETED, TERMINATED, FAILED})
"""Phases that a job never leaves."""
EXPIRING: Final = FINAL | {ABORTED}
"""Phases to which ttlSecondsAfterFinished applies. Upstream omits Aborted."""

RESTART_JOB: Final = "RestartJob"
RESTART_TASK: Final = "RestartTask"
RESTART_POD: Final = "RestartPod"
RESTART_PARTITION: Final = "RestartPartition"
ABORT_JOB: Final = "AbortJob"
TERMINATE_JOB: Final = "TerminateJob"
COMPLETE_JOB: Final = "CompleteJob"
RESUME_JOB: Final = "ResumeJob"


class Restart(enum.Enum):
    """Which pods a restart runs again."""

    NONE = ""
    WHOLE = "whole"
    """All pods, including finished ones. The version of the job grows
    and older pods no longer count."""
    UNFINISHED = "unfinished"
    """Only pods that have not ended. Pods that succeeded are not run again."""
    TARGET = "target"
    """A task, a pod or a partition. The PodGroup is kept."""


class PhaseStep(msgspec.Struct, frozen=True):
    """The phase that an order leads to. Every restart uses one of the job's retries."""

    to: str
    restart: Restart = Restart.NONE


# A restart of a target keeps the PodGroup, because the rest of the gang goes on running.
_ORDERS_TO_LIVE: Final[dict[str, PhaseStep]] = {
    RESTART_JOB: PhaseStep(RESTARTING, Restart.WHOLE),
    RESTART_TASK: PhaseStep(RESTARTING, Restart.TARGET),
    RESTART_POD: PhaseStep(RESTARTING, Restart.TARGET),
    RESTART_PARTITION: PhaseStep(RESTARTING, Restart.TARGET),
    ABORT_JOB: PhaseStep(ABORTING),
    TERMINATE_JOB: PhaseStep(TERMINATING),
    COMPLETE_JOB: PhaseStep(COMPLETING),
}
# Resuming keeps finished pods: an aborted job must not repeat work that is done.
_ORDERS_TO_SUSPENDED: Final[dict[str, PhaseStep]] = {
    RESUME_JOB: PhaseStep(RESTARTING, Restart.UNFINISHED),
}

STEPS: Final[dict[str, dict[str, PhaseStep]]] = {
    PENDING: _ORDERS_TO_LIVE,
    RUNNING: _ORDERS_TO_LIVE,
    # An order during a restart waits in its Command or in the pods; see the module's docstring.
    RESTARTING: {},
    ABORTING: _ORDERS_TO_SUSPENDED,
    ABORTED: _ORDERS_TO_SUSPENDED,
    COMPLETING: {},
    TERMINATING: {},
    COMPLETED: {},
    TERMINATED: {},
    FAILED: {},
}

TRANSITIONS: Final[dict[str, frozenset[str]]] = {
    "": frozenset({PENDING}),
    PENDING: frozenset({RUNNING}),
    # Running returns to Pending if the gang is no longer complete.
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
    phase: targets | {step.to for step in STEPS.get(phase, {}).values()}
    for phase, targets in TRANSITIONS.items()
}
"""All allowed changes of phase."""
