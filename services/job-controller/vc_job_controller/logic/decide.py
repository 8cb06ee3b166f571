"""The one door: look, step or settle, write intent, do the work of the phase."""

from typing import Final

import msgspec

from vc_job_controller.logic.notes import read_notes, write_notes
from vc_job_controller.logic.observed import Decision, Observed, Trouble, sooner
from vc_job_controller.logic.phases import FAILED
from vc_job_controller.logic.settling import settle
from vc_job_controller.logic.sight import Sight, look, look_again
from vc_job_controller.logic.status import settled_status, status_patch
from vc_job_controller.logic.steps import Orders, next_orders, step_for, take_step
from vc_job_controller.logic.work import Work, job_event, work
from vc_messages.effects import CreateObject, Effect
from vc_model.job import JobStatus
from vc_model.kinds import PODS

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
EXECUTE_ACTION: Final = "ExecuteAction"


def decide(seen: Observed, *, now: float) -> Decision:
    """What one job needs next."""
    if seen.job.metadata.deletion_timestamp is not None:
        return Decision()  # the garbage collector has the word
    # 1. What there is: pods in their places, what they amount to, what was noted.
    sight = look(seen)
    # 2. Where it goes: by order of a command or a policy, else by what the pods bring about.
    orders = next_orders(sight, now)
    moved = _move(sight, orders)
    # 3. What the new phase wants done, and what holds it up.
    todo = work(moved, now)
    trouble = seen.trouble or todo.trouble
    # 4. The status that says all this; it is written first.
    noted = _with_notes(moved, todo)
    after = settled_status(noted, phase=moved.phase, trouble=trouble, now=now)
    due = seen.counters_due and not _makes_first_pods(moved, todo)
    patch = status_patch(noted, after, counters_due=due)
    wake = sooner(todo.wake_after_seconds, orders.verdict.wake_after_seconds)
    return Decision(
        effects=(
            *((patch,) if patch is not None else ()),
            # Events come before the work: a create that is refused again skips whatever follows it.
            *_events(sight, after, orders=orders, trouble=trouble),
            *orders.effects,
            *todo.effects,
        ),
        questions=todo.questions,
        wake_after_seconds=wake,
        wants_manifest=todo.wants_manifest,
        late=patch is None and after != seen.job.status,
        trouble=trouble,
    )


def _move(sight: Sight, orders: Orders) -> Sight:
    """The look under the phase that is next."""
    order = orders.verdict.order
    step = step_for(sight, order) if order is not None else None
    if order is not None and step is not None:
        stepped = take_step(sight, order=order, step=step, command=orders.command)
        return look_again(sight, stepped)
    doomed_left = sum(1 for member in sight.doomed if not member.terminating)
    phase = settle(sight.job, sight.counted, doomed_left=doomed_left)
    if phase == sight.phase:
        return sight
    status = sight.job.status
    state = msgspec.structs.replace(status.state, phase=phase, reason="", message="")
    return look_again(sight, msgspec.structs.replace(status, state=state))


def _makes_first_pods(sight: Sight, todo: Work) -> bool:
    """Then nobody waits for a status that is another one as soon as they are seen."""
    makes = any(isinstance(e, CreateObject) and e.kind is PODS for e in todo.effects)
    return makes and not any(True for _ in sight.members)


def _with_notes(sight: Sight, todo: Work) -> Sight:
    """With what the work wants remembered."""
    status = sight.job.status
    notes = read_notes(status.controlled_resources)
    others = {**notes.others, **todo.notes}
    kept = msgspec.structs.replace(
        notes,
        others={key: value for key, value in others.items() if value},
        plugins_for=todo.plugins_for or notes.plugins_for,
    )
    written = msgspec.structs.replace(status, controlled_resources=write_notes(kept))
    return msgspec.structs.replace(
        sight, job=msgspec.structs.replace(sight.job, status=written), notes=kept
    )


def _events(
    sight: Sight, after: JobStatus, *, orders: Orders, trouble: Trouble | None
) -> list[Effect]:
    """Orders, failures and troubles are told. Coming up and completing are not: every event is a
    write, and the status says as much."""
    before, state, job = sight.seen.job.status.state, after.state, sight.job
    events: list[Effect] = []
    order = orders.verdict.order
    if order is not None and step_for(sight, order) is not None:
        message = f"Start to execute action {order.action}"
        because = f": {order.because}" if order.because else ""
        events.append(
            job_event(job, type_=NORMAL, reason=EXECUTE_ACTION, message=message + because)
        )
    if trouble is not None and (trouble.reason, trouble.message) != (before.reason, before.message):
        reason = trouble.event or trouble.reason
        events.append(job_event(job, type_=WARNING, reason=reason, message=trouble.message))
    if state.phase == before.phase:
        return events
    ordered = state.message if trouble is None else ""
    if ordered or state.phase == FAILED:
        kind = WARNING if state.phase == FAILED else NORMAL
        message = ordered or "the job has failed"
        events.append(job_event(job, type_=kind, reason=f"Job{state.phase}", message=message))
    return events
