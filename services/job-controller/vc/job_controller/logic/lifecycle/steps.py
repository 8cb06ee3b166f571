"""Orders and the steps they start.

An order comes from a Command or, without one, from a policy. Taking a step means writing a new
status that contains the whole intent: the phase, the version, the retry count, the scope of the
restart and the Command that was carried out. Pods are not changed here.
"""

import msgspec

from vc.job_controller.logic.lifecycle.policies import (
    POD_EVICTED_EVENT,
    Happening,
    Order,
    Verdict,
    happenings,
    resolve,
)
from vc.job_controller.logic.notes import Notes, RestartScope, write_notes
from vc.job_controller.logic.observation import Observation
from vc.job_controller.logic.observed import live_job
from vc.job_controller.logic.phases import (
    LIVE,
    RESTART_PARTITION,
    RESTART_POD,
    RESTARTING,
    STEPS,
    PhaseStep,
    Restart,
)
from vc.messages.effects import DeleteObject, Effect, RecordEvent
from vc.model.api.job import Command, JobStatus
from vc.model.api.kinds import COMMANDS, JOBS
from vc.model.values.times import parse_time


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """The current order, and the effects on Commands."""

    verdict: Verdict = Verdict()
    command: str = ""
    """uid of the Command that the order came from."""
    effects: tuple[Effect, ...] = ()
    """Deletions of finished Commands, applied after the status."""


def next_orders(observation: Observation, now: float) -> Orders:
    """The order of the oldest Command, or else of the policies."""
    commands = sorted(observation.seen.commands, key=_age)
    finished = [c for c in commands if _is_done_with(observation, c)]
    # Finished Commands are deleted before the next one starts, so that one decision does one step.
    if finished:
        return Orders(effects=tuple(_delete_finished(observation, command) for command in finished))
    # An order during a restart waits until the restart is complete, and is not dropped.
    if commands and observation.phase != RESTARTING:
        return _carry_out(observation, commands[0])
    if not commands and observation.phase in LIVE:
        return Orders(verdict=_from_policies(observation, now))
    return Orders()


def _is_done_with(observation: Observation, command: Command) -> bool:
    """Whether a Command was carried out before, or was sent to an earlier job of this name."""
    # The note is written with the status, before the Command is deleted. So a Command whose
    # deletion failed is not carried out twice.
    if command.metadata.uid == observation.notes.command:
        return True
    return command.target is not None and command.target.uid not in (
        "",
        observation.job.metadata.uid,
    )


def _carry_out(observation: Observation, command: Command) -> Orders:
    order = Order(action=command.action, because=command.message or command.reason or "a command")
    if step_for(observation, order) is not None:
        return Orders(
            verdict=Verdict(order=order),
            command=command.metadata.uid,
            effects=(_delete(command),),
        )
    # A Command without effect is deleted too, or it would block the Commands after it.
    ignored = RecordEvent(
        kind=JOBS,
        namespace=observation.job.metadata.namespace,
        name=observation.job.metadata.name,
        uid=observation.job.metadata.uid,
        type="Warning",
        reason="CommandIgnored",
        message=f"{command.action} does nothing to a job that is {observation.phase or 'new'}",
    )
    return Orders(effects=(ignored, _delete(command)))


def certain_happenings(observation: Observation, now: float) -> list[Happening]:
    """Events that a policy may act on. A pod that may only seem lost is left out."""
    found = happenings(
        observation.job,
        observation.members,
        notes=observation.notes,
        counted=observation.counted,
        podgroup=observation.podgroup,
        now=now,
    )
    unsure = observation.unsure
    return [
        h
        for h in found
        if h.event != POD_EVICTED_EVENT or h.index not in unsure.get(h.task, frozenset())
    ]


def _from_policies(observation: Observation, now: float) -> Verdict:
    verdict = resolve(observation.job, certain_happenings(observation, now), now)
    # An order without a step must not stop the wake-up of other policies.
    if verdict.order is not None and step_for(observation, verdict.order) is None:
        return Verdict(wake_after_seconds=verdict.wake_after_seconds)
    return verdict


def step_for(observation: Observation, order: Order) -> PhaseStep | None:
    """The step that an order starts in this phase, or None."""
    step = STEPS.get(observation.phase, {}).get(order.action)
    if step is None or step.restart is not Restart.TARGET:
        return step
    return step if scope_of(observation, order, step) is not None else None


def scope_of(observation: Observation, order: Order, step: PhaseStep) -> RestartScope | None:
    """What a restart covers, or None if the order does not name the target that it needs."""
    if step.restart is not Restart.TARGET:
        return RestartScope(restart=step.restart)
    if not order.task:
        return None
    if order.action == RESTART_POD and order.index is not None:
        return RestartScope(restart=Restart.TARGET, task=order.task, index=order.index)
    if order.action == RESTART_PARTITION:
        sizes = {
            task.name: task.partition_policy.partition_size
            for task in observation.job.spec.tasks
            if task.partition_policy is not None
        }
        size = sizes.get(order.task, 0)
        if size < 1 or order.index is None:
            return None
        return RestartScope(
            restart=Restart.TARGET,
            task=order.task,
            partition=order.index // size,
            partition_size=size,
        )
    return RestartScope(restart=Restart.TARGET, task=order.task)


def take_step(
    observation: Observation, *, order: Order, step: PhaseStep, command: str
) -> JobStatus:
    """The status with the whole intent. The caller fills in counters and times."""
    status, notes = observation.job.status, observation.notes
    retry, version, scope = status.retry_count, status.version, None
    if step.restart is not Restart.NONE:
        # Restarts of single pods count as well, or a policy could restart one pod for ever.
        retry += 1
        scope = scope_of(observation, order, step)
        if retry >= observation.job.spec.max_retry:
            # Keep the pods of the last attempt for their logs.
            scope = RestartScope(restart=Restart.UNFINISHED)
        # The version grows, so pods of the old attempt that still exist are no longer counted.
        if scope is not None and scope.restart is Restart.WHOLE:
            version += 1
    return msgspec.structs.replace(
        status,
        state=msgspec.structs.replace(
            status.state, phase=step.to, reason=order.action, message=_sentence(order)
        ),
        retry_count=retry,
        version=version,
        controlled_resources=write_notes(_noted(notes, scope, command or notes.command)),
    )


def _noted(notes: Notes, scope: RestartScope | None, command: str) -> Notes:
    """The notes after a step. Indices that run again are no longer noted as completed."""
    completed = notes.completed
    if scope is not None:
        completed = {
            task: frozenset(i for i in at if not scope.covers_index(task, i))
            for task, at in completed.items()
        }
    return msgspec.structs.replace(notes, scope=scope, command=command, completed=completed)


def _sentence(order: Order) -> str:
    return f"{order.action} because of {order.because}"


def _age(command: Command) -> tuple[float, str]:
    return (parse_time(command.metadata.creation_timestamp) or 0.0, command.metadata.name)


def _delete_finished(observation: Observation, command: Command) -> DeleteObject:
    """Delete a finished Command.

    A Command for another job of this name is deleted only if the API server confirms
    that this job is the live one.
    """
    deleted = _delete(command)
    if command.metadata.uid == observation.notes.command:
        return deleted
    return msgspec.structs.replace(deleted, only_if_live=live_job(observation.job))


def _delete(command: Command) -> DeleteObject:
    return DeleteObject(
        kind=COMMANDS,
        namespace=command.metadata.namespace,
        name=command.metadata.name,
        uid=command.metadata.uid,
    )
