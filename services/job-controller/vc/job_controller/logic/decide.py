"""Reconcile one job: observe, choose the next phase, write the intent, do the work of that phase."""

from typing import Final

import msgspec

from vc.job_controller.logic.lifecycle.steps import Orders, next_orders, step_for, take_step
from vc.job_controller.logic.lifecycle.transitions import next_phase
from vc.job_controller.logic.notes import read_notes, write_notes
from vc.job_controller.logic.observation import Observation, observe, observe_again
from vc.job_controller.logic.observed import Blocker, Decision, ObservedJob, sooner
from vc.job_controller.logic.phases import FAILED
from vc.job_controller.logic.status import status_after, status_patch
from vc.job_controller.logic.work import Work, job_event, work
from vc.messages.effects import CreateObject, Effect
from vc.model.api.job import JobStatus
from vc.model.api.kinds import PODS

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
EXECUTE_ACTION: Final = "ExecuteAction"


def decide(seen: ObservedJob, *, now: float) -> Decision:
    """Reconcile one job: compare its wanted and observed state and return what to do next."""
    if seen.job.metadata.deletion_timestamp is not None:
        return Decision()  # the garbage collector deletes what the job owns
    # 1. Observe: sort the pods by task and index, count them, and read the notes of the status.
    observation = observe(seen)
    # 2. Choose the phase. An order of a Command or policy comes first, else the pods determine it.
    orders = next_orders(observation, now)
    moved = _move(observation, orders)
    # 3. Derive the work of the new phase, and the blocker if the job cannot continue.
    todo = work(moved, now)
    blocker = seen.blocker or todo.blocker
    # 4. Build the status. It is written first, because a restarted controller continues from it.
    noted = _with_notes(moved, todo)
    after = status_after(noted, phase=moved.phase, blocker=blocker, now=now)
    # The counters change as soon as the first pods are observed. Writing them now would be wasted.
    due = seen.counters_due and not _makes_first_pods(moved, todo)
    patch = status_patch(noted, after, counters_due=due)
    wake = sooner(todo.wake_after_seconds, orders.verdict.wake_after_seconds)
    return Decision(
        effects=(
            *((patch,) if patch is not None else ()),
            # Events come before the work: when a create is refused again, the
            # effects after it are skipped.
            *_events(observation, after, orders=orders, blocker=blocker),
            *orders.effects,
            *todo.effects,
        ),
        requests=todo.requests,
        wake_after_seconds=wake,
        wants_manifest=todo.wants_manifest,
        # An unwritten difference means that counters were held back, so
        # the job must be decided again.
        late=todo.late or (patch is None and after != seen.job.status),
        blocker=blocker,
    )


def _move(observation: Observation, orders: Orders) -> Observation:
    """The observation under the next phase, or the same one if the phase does not change."""
    order = orders.verdict.order
    # An order that starts no step in this phase must not prevent the
    # transition that the pods cause.
    step = step_for(observation, order) if order is not None else None
    if order is not None and step is not None:
        stepped = take_step(observation, order=order, step=step, command=orders.command)
        return observe_again(observation, stepped)
    # A restart ends only after every deletion was requested; terminating pods are counted apart.
    deletions_left = sum(1 for member in observation.pods_to_delete if not member.terminating)
    phase = next_phase(observation.job, observation.counted, deletions_left=deletions_left)
    if phase == observation.phase:
        return observation
    status = observation.job.status
    state = msgspec.structs.replace(status.state, phase=phase, reason="", message="")
    return observe_again(observation, msgspec.structs.replace(status, state=state))


def _makes_first_pods(observation: Observation, todo: Work) -> bool:
    """Whether this decision creates the first pods of the job.

    The status then waits: it changes again as soon as the pods are observed.
    """
    makes = any(isinstance(e, CreateObject) and e.kind is PODS for e in todo.effects)
    return makes and not any(True for _ in observation.members)


def _with_notes(observation: Observation, todo: Work) -> Observation:
    """Add the notes of the work to the status, so that they are written in the same patch."""
    status = observation.job.status
    notes = read_notes(status.controlled_resources)
    others = {**notes.others, **todo.notes}
    kept = msgspec.structs.replace(
        notes,
        # An empty value removes a note.
        others={key: value for key, value in others.items() if value},
        plugins_for=todo.plugins_for or notes.plugins_for,
    )
    written = msgspec.structs.replace(status, controlled_resources=write_notes(kept))
    return msgspec.structs.replace(
        observation, job=msgspec.structs.replace(observation.job, status=written), notes=kept
    )


def _events(
    observation: Observation, after: JobStatus, *, orders: Orders, blocker: Blocker | None
) -> list[Effect]:
    """Events for orders, failures and blockers.

    Normal progress and completion have no events: each event is one more write,
    and the status shows the same.
    """
    before, state, job = observation.seen.job.status.state, after.state, observation.job
    events: list[Effect] = []
    order = orders.verdict.order
    if order is not None and step_for(observation, order) is not None:
        message = f"Start to execute action {order.action}"
        because = f": {order.because}" if order.because else ""
        events.append(
            job_event(job, type_=NORMAL, reason=EXECUTE_ACTION, message=message + because)
        )
    if blocker is not None and (blocker.reason, blocker.message) != (before.reason, before.message):
        reason = blocker.event or blocker.reason
        events.append(job_event(job, type_=WARNING, reason=reason, message=blocker.message))
    if state.phase == before.phase:
        return events
    # With a blocker, the message of the status is the blocker's, which already has its own event.
    ordered = state.message if blocker is None else ""
    if ordered or state.phase == FAILED:
        kind = WARNING if state.phase == FAILED else NORMAL
        message = ordered or "the job has failed"
        events.append(job_event(job, type_=kind, reason=f"Job{state.phase}", message=message))
    return events
