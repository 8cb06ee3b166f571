"""All queues at once: create required queues, carry out Commands,
compute states, write counters."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import msgspec

from vc.messages.effects import CreateObject, DeleteObject, Effect, PatchObject, RecordEvent
from vc.model.api.graft import merge_patch, to_json
from vc.model.api.job import Command
from vc.model.api.keys import CLOSED_BY_PARENT, DEFAULT_QUEUE, ROOT_QUEUE
from vc.model.api.kinds import COMMANDS, QUEUES
from vc.model.api.scheduling import PodGroup, Queue
from vc.model.api.struct import JsonObject
from vc.model.values.times import parse_time
from vc.queue_controller.logic.counters import FIELDS, count_groups
from vc.queue_controller.logic.states import OPEN, SHUT, QueueAction, next_state
from vc.queue_controller.logic.tree import parent_of, top_down

COMMAND_NOTE: Final = "volcano.sh/last-queue-command"
"""uid of the last Command that was carried out on a queue."""

_MUST_EXIST: Final[Mapping[str, JsonObject]] = {
    ROOT_QUEUE: {"weight": 1, "reclaimable": False},
    DEFAULT_QUEUE: {"weight": 1, "reclaimable": True, "parent": ROOT_QUEUE},
}


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about queues, as the view shows it."""

    queues: tuple[Queue, ...] = ()
    groups: tuple[PodGroup, ...] = ()
    commands: tuple[Command, ...] = ()
    """Commands for queues. Each names its queue."""
    heeded_namespace: str = ""
    """The only namespace whose Commands count. Empty means all,
    because admission has checked them."""


class _Plan(msgspec.Struct, kw_only=True):
    """The decision so far."""

    states: dict[str, str] = {}
    effects: list[list[Effect]] = []


def decide(
    seen: Observed, *, left_out: list[tuple[Queue, Exception]] | None = None
) -> list[list[Effect]]:
    """The effects for all queues, parents first.

    Each list is independent: one that cannot be applied does not block the others. A queue that
    cannot be decided is added to `left_out` with its error.
    """
    queues = {queue.metadata.name: queue for queue in seen.queues}
    plan = _Plan()
    plan.effects += [[_make(name)] for name in _MUST_EXIST if name not in queues]
    commands = _by_target(seen.commands)
    plan.effects += _refuse_others(queues, commands, seen.heeded_namespace)
    counted = count_groups(seen.groups)
    # Top-down, because the state of a parent determines the states of its children.
    for queue in top_down(seen.queues):
        name = queue.metadata.name
        # A terminating queue needs no state, and its name may be free soon.
        if queue.metadata.deletion_timestamp is not None:
            continue
        try:
            _decide_queue(plan, queue, commands.pop(name, []), counted.get(name, Counter()))
        # One queue that cannot be decided must not block the whole tree.
        except Exception as error:
            if left_out is None:
                raise
            left_out.append((queue, error))
    for name in sorted(commands):
        plan.effects.append([_delete(command) for command in commands[name]])  # no such queue
    return plan.effects


def _refuse_others(
    queues: Mapping[str, Queue], commands: dict[str, list[Command]], namespace: str
) -> list[list[Effect]]:
    """Remove Commands that were not checked. They are deleted without
    effect, with an Event on the queue."""
    refused: list[list[Effect]] = []
    # Without a namespace all Commands were checked by admission.
    for name in sorted(commands) if namespace else ():
        others = [c for c in commands[name] if c.metadata.namespace != namespace]
        commands[name] = [c for c in commands[name] if c.metadata.namespace == namespace]
        for command in others:
            message = (
                f"Command {command.key} has no effect: without admission only those of namespace "
                f"{namespace} count; create it there"
            )
            events = [_event(queues[name], message)] if name in queues else []
            refused.append([*events, _delete(command)])
    return refused


def _make(name: str) -> CreateObject:
    return CreateObject(
        kind=QUEUES,
        name=name,
        body={
            "apiVersion": QUEUES.api_version,
            "kind": QUEUES.kind,
            "metadata": {"name": name},
            "spec": dict(_MUST_EXIST[name]),
        },
    )


def _decide_queue(
    plan: _Plan, queue: Queue, commands: list[Command], counted: Counter[str]
) -> None:
    """Decide about one queue.

    The effects are in this order: the mark that the parent closed it (otherwise it would
    stay closed after a crash), the state, then the note that mark and Command are done, and
    last the deletion of the Command.
    """
    name = queue.metadata.name
    # An unknown parent counts as open, so that a wrong name cannot close a queue.
    parent_shut = plan.states.get(parent_of(queue), OPEN) in SHUT
    command, finished = _next_command(queue, commands)
    action, refused = _requested_action(queue, command, parent_shut=parent_shut)
    state = next_state(queue.status.state, action, groups=sum(counted.values()))
    plan.states[name] = state
    mark = _mark(queue, action, command=command, parent_shut=parent_shut)
    before: JsonObject = {}
    after: JsonObject = {}
    # A mark is set before the state and removed after it, so that a crash in between loses nothing.
    if mark is not None and mark != queue.metadata.annotations.get(CLOSED_BY_PARENT):
        (before if mark == "true" else after)[CLOSED_BY_PARENT] = mark
    if command is not None:
        after[COMMAND_NOTE] = command.metadata.uid
    effects: list[Effect] = []
    if before:
        effects.append(_patch(queue, {"metadata": {"annotations": before}}))
    status = _status_patch(queue, state, counted)
    if status:
        effects.append(_patch(queue, {"status": status}, subresource="status"))
    rest: JsonObject = {"metadata": {"annotations": after}} if after else {}
    # The parent is made explicit, so that other readers need no default.
    if name != ROOT_QUEUE and not queue.spec.parent:
        rest["spec"] = {"parent": ROOT_QUEUE}
    if rest:
        effects.append(_patch(queue, rest))
    if refused:
        effects.append(_event(queue, refused))
    effects += [_delete(each) for each in finished]
    if effects:
        plan.effects.append(effects)


def _next_command(queue: Queue, commands: list[Command]) -> tuple[Command | None, list[Command]]:
    """The oldest Command that was not carried out yet, and the Commands to delete."""
    noted = queue.metadata.annotations.get(COMMAND_NOTE, "")
    # A Command for an earlier queue of this name must not act on the new one.
    done = [c for c in commands if c.metadata.uid == noted or not _is_for(queue, c)]
    if done:
        return None, done
    return (commands[0], []) if commands else (None, [])


def _is_for(queue: Queue, command: Command) -> bool:
    target = command.target
    return target is not None and target.uid in ("", queue.metadata.uid)


def _requested_action(
    queue: Queue, command: Command | None, *, parent_shut: bool
) -> tuple[QueueAction, str]:
    """The requested state of the queue, and why its Command is refused, or an empty text."""
    name = queue.metadata.name
    commanded = (
        QueueAction(command.action)
        if command and command.action in _ACTIONS
        else QueueAction.NOTHING
    )
    # A closed root would close every queue of the cluster.
    if commanded is QueueAction.CLOSE and name == ROOT_QUEUE:
        return QueueAction.NOTHING, "the root queue cannot be closed"
    # A queue below a closed one is never open, whatever is requested.
    if parent_shut:
        message = f"cannot be opened while its parent {parent_of(queue)!r} is not open"
        return QueueAction.CLOSE, message if commanded is QueueAction.OPEN else ""
    if commanded is not QueueAction.NOTHING:
        return commanded, ""
    # The parent is open again, so the mark is removed by opening the queue.
    if queue.metadata.annotations.get(CLOSED_BY_PARENT) == "true":
        return QueueAction.OPEN, ""
    return QueueAction.NOTHING, ""


_ACTIONS: Final = frozenset(action.value for action in QueueAction if action.value)


def _mark(
    queue: Queue, action: QueueAction, *, command: Command | None, parent_shut: bool
) -> str | None:
    """Whether the queue is closed only because of its parent. None keeps the mark."""
    closed_itself = queue.status.state in SHUT
    if parent_shut:
        # A queue that was closed before its parent stays closed when the parent opens.
        return None if closed_itself else "true"
    # A Command for the queue itself replaces the mark: the queue no longer follows its parent.
    if action is QueueAction.OPEN or (command is not None and action is QueueAction.CLOSE):
        marked = CLOSED_BY_PARENT in queue.metadata.annotations
        return "false" if marked else None
    return None


def _status_patch(queue: Queue, state: str, counted: Counter[str]) -> JsonObject:
    """Only changed fields of ours. `allocated` belongs to the scheduler."""
    after = msgspec.structs.replace(
        queue.status, state=state, **{field: counted[field] for field in FIELDS}
    )
    patch: JsonObject = merge_patch(to_json(queue.status), to_json(after))
    return patch


def _patch(queue: Queue, patch: JsonObject, *, subresource: str = "") -> PatchObject:
    return PatchObject(
        kind=QUEUES,
        name=queue.metadata.name,
        patch=patch,
        subresource=subresource,
        uid=queue.metadata.uid,
    )


def _by_target(commands: tuple[Command, ...]) -> dict[str, list[Command]]:
    found: dict[str, list[Command]] = {}
    # The oldest first, so that Commands act in the order in which they were created.
    for command in sorted(
        commands,
        key=lambda c: (parse_time(c.metadata.creation_timestamp) or 0.0, c.key),
    ):
        if command.target is not None and command.target.kind == QUEUES.kind:
            found.setdefault(command.target.name, []).append(command)
    return found


def _delete(command: Command) -> DeleteObject:
    return DeleteObject(
        kind=COMMANDS,
        namespace=command.metadata.namespace,
        name=command.metadata.name,
        uid=command.metadata.uid,
    )


def _event(queue: Queue, message: str) -> RecordEvent:
    return RecordEvent(
        kind=QUEUES,
        namespace="",
        name=queue.metadata.name,
        uid=queue.metadata.uid,
        type="Warning",
        reason="CommandRefused",
        message=message,
    )
