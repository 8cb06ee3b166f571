"""Orders and the steps they start.

An order comes from a command or, if there is none, from a policy. Taking a step means writing a new
status that holds the whole intent: the phase, the version, the retry, what the restart covers and
which command was carried out. Nothing is done to pods here.
"""

import msgspec

from vc_job_controller.logic.notes import Notes, Scope, write_notes
from vc_job_controller.logic.observed import live_job
from vc_job_controller.logic.phases import (
    LIVE,
    RESTART_PARTITION,
    RESTART_POD,
    RESTARTING,
    STEPS,
    Restart,
    Step,
)
from vc_job_controller.logic.policies import (
    POD_EVICTED_EVENT,
    Happening,
    Order,
    Verdict,
    happenings,
    resolve,
)
from vc_job_controller.logic.sight import Sight
from vc_messages.effects import DeleteObject, Effect, RecordEvent
from vc_model.job import Command, JobStatus
from vc_model.kinds import COMMANDS, JOBS
from vc_model.times import parse_time


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """What is ordered now, and what becomes of the commands."""

    verdict: Verdict = Verdict()
    command: str = ""
    """uid of the command the order came from."""
    effects: tuple[Effect, ...] = ()
    """Deletions of commands that are done with; to be applied after the status."""


def next_orders(sight: Sight, now: float) -> Orders:
    """A command if there is one, else what the policies say."""
    commands = sorted(sight.seen.commands, key=_age)
    finished = [c for c in commands if _is_done_with(sight, c)]
    if finished:
        return Orders(effects=tuple(_delete_finished(sight, command) for command in finished))
    if commands and sight.phase != RESTARTING:
        return _carry_out(sight, commands[0])
    if not commands and sight.phase in LIVE:
        return Orders(verdict=_from_policies(sight, now))
    return Orders()


def _is_done_with(sight: Sight, command: Command) -> bool:
    """Carried out before, or meant for an earlier job of this name."""
    if command.metadata.uid == sight.notes.command:
        return True
    return command.target is not None and command.target.uid not in ("", sight.job.metadata.uid)


def _carry_out(sight: Sight, command: Command) -> Orders:
    order = Order(action=command.action, because=command.message or command.reason or "a command")
    if step_for(sight, order) is not None:
        return Orders(
            verdict=Verdict(order=order),
            command=command.metadata.uid,
            effects=(_delete(command),),
        )
    ignored = RecordEvent(
        kind=JOBS,
        namespace=sight.job.metadata.namespace,
        name=sight.job.metadata.name,
        uid=sight.job.metadata.uid,
        type="Warning",
        reason="CommandIgnored",
        message=f"{command.action} does nothing to a job that is {sight.phase or 'new'}",
    )
    return Orders(effects=(ignored, _delete(command)))


def certain_happenings(sight: Sight, now: float) -> list[Happening]:
    """What a policy may act on: a pod that only seems lost is left out."""
    found = happenings(
        sight.job,
        sight.members,
        notes=sight.notes,
        counted=sight.counted,
        podgroup=sight.podgroup,
        now=now,
    )
    unsure = sight.unsure
    return [
        h
        for h in found
        if h.event != POD_EVICTED_EVENT or h.index not in unsure.get(h.task, frozenset())
    ]


def _from_policies(sight: Sight, now: float) -> Verdict:
    verdict = resolve(sight.job, certain_happenings(sight, now), now)
    if verdict.order is not None and step_for(sight, verdict.order) is None:
        return Verdict(wake_after_seconds=verdict.wake_after_seconds)
    return verdict


def step_for(sight: Sight, order: Order) -> Step | None:
    """The step an order starts in this phase; None when it starts none."""
    step = STEPS.get(sight.phase, {}).get(order.action)
    if step is None or step.restart is not Restart.TARGET:
        return step
    return step if scope_of(sight, order, step) is not None else None


def scope_of(sight: Sight, order: Order, step: Step) -> Scope | None:
    """What a restart covers; None for a target that the order does not name."""
    if step.restart is not Restart.TARGET:
        return Scope(restart=step.restart)
    if not order.task:
        return None
    if order.action == RESTART_POD and order.index is not None:
        return Scope(restart=Restart.TARGET, task=order.task, index=order.index)
    if order.action == RESTART_PARTITION:
        sizes = {
            task.name: task.partition_policy.partition_size
            for task in sight.job.spec.tasks
            if task.partition_policy is not None
        }
        size = sizes.get(order.task, 0)
        if size < 1 or order.index is None:
            return None
        return Scope(
            restart=Restart.TARGET,
            task=order.task,
            partition=order.index // size,
            partition_size=size,
        )
    return Scope(restart=Restart.TARGET, task=order.task)


def take_step(sight: Sight, *, order: Order, step: Step, command: str) -> JobStatus:
    """The status that holds the intent; counters and times are filled in by the caller."""
    status, notes = sight.job.status, sight.notes
    retry, version, scope = status.retry_count, status.version, None
    if step.restart is not Restart.NONE:
        retry += 1
        scope = scope_of(sight, order, step)
        if retry >= sight.job.spec.max_retry:
            scope = Scope(restart=Restart.UNFINISHED)  # the last attempt's pods stay for their logs
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


def _noted(notes: Notes, scope: Scope | None, command: str) -> Notes:
    """What runs anew has neither been alive nor completed."""
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


def _delete_finished(sight: Sight, command: Command) -> DeleteObject:
    """One for another job of this name goes only when that job is proven gone."""
    deleted = _delete(command)
    if command.metadata.uid == sight.notes.command:
        return deleted
    return msgspec.structs.replace(deleted, only_if_live=live_job(sight.job))


def _delete(command: Command) -> DeleteObject:
    return DeleteObject(
        kind=COMMANDS,
        namespace=command.metadata.namespace,
        name=command.metadata.name,
        uid=command.metadata.uid,
    )
