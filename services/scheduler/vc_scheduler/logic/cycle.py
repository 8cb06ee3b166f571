"""A session, on one screen.

Pure: no clock, no chance, no environment, no await. The same snapshot, configuration and `now` give
the same decisions, byte for byte, in any process.
"""

from collections.abc import Sequence

import msgspec

from vc_messages.sessions import Reason
from vc_scheduler.logic import actions, plugins, reasons
from vc_scheduler.logic.actions.queue_gates import lift_queue_gates
from vc_scheduler.logic.actions.surplus import surplus_delay_seconds
from vc_scheduler.logic.closing import close
from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.decisions import Decisions, LeftOut
from vc_scheduler.logic.faults import (
    all_aside,
    blame,
    may_set_aside,
    nothing,
    without,
    without_groups,
)
from vc_scheduler.logic.framework import Framework, Plugin
from vc_scheduler.logic.releasing import release_broken_gangs
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.snapshot import Snapshot
from vc_scheduler.logic.stopwatch import ACTION, NO_STOPWATCH, Stopwatch


class UnknownActionError(ValueError):
    """The configuration names an action that is not there; says what there is."""


def run_cycle(
    snapshot: Snapshot, conf: Conf, now: float, stopwatch: Stopwatch = NO_STOPWATCH
) -> Decisions:
    """Decide what to let in, bind, release and write; without plugins, groups and actions that raise.

    Who raised is left out and the session is held again: a plugin that may be missing; a group that our own code
    cannot decide on, for one tenant's group must not keep all others waiting; and at last, when it is not the fault
    of a few groups, the action.
    """
    left_out: list[LeftOut] = []
    aside: dict[str, LeftOut] = {}
    while True:  # each time with one less of them
        attempt = _Attempt(without_groups(snapshot, aside), conf, now, stopwatch)
        try:
            decisions = attempt.decide()
            fault = next(iter(aside.values())) if all_aside(snapshot, aside) else None
        except Exception as error:  # noqa: BLE001 - whatever third parties' code may raise
            fault = blame(error, attempt.plugins, attempt.action)
        if fault is None:
            told = (*left_out, *(group for group in aside.values()))
            return msgspec.structs.replace(decisions, left_out=told)
        if may_set_aside(fault, aside):
            aside[fault.group] = fault
            continue
        aside.clear()  # it is not they
        left_out.append(msgspec.structs.replace(fault, group=""))
        rest = without(conf, left_out[-1])
        if rest is None or rest == conf:  # nobody to leave out: the next time would end the same
            return nothing(snapshot, left_out, now)
        conf = rest


class _Attempt:
    """One run over the snapshot; knows what it was at when somebody raised."""

    def __init__(self, snapshot: Snapshot, conf: Conf, now: float, stopwatch: Stopwatch) -> None:
        self._snapshot = snapshot
        self._conf = conf
        self._now = now
        self._stopwatch = stopwatch
        self.plugins: Sequence[tuple[str, Plugin]] = ()
        self.action = ""

    def decide(self) -> Decisions:
        # 1. Ask nobody who is not configured.
        framework = Framework(self._conf, plugins.REGISTRY, self._stopwatch)
        self.plugins = framework.plugins
        session = Session(self._snapshot, framework, self._now)
        # 2. Put aside what cannot be decided: broken objects, missing and closed queues.
        _screen(session)
        # 3. Run the actions in their order; each sees what those before it did.
        for name in self._conf.actions:
            self.action = name
            with self._stopwatch.part(ACTION, name):
                actions.REGISTRY[name](session)
        self.action = ""
        # 4. Give back the nodes of gangs that could not be completed in time.
        release_broken_gangs(session)
        # 5. Lift the gates of pods that their queue has room for and no node yet.
        lift_queue_gates(session)
        # 6. Say what is: statuses, reasons, queues, and when to look again.
        return close(session)


def check_conf(conf: Conf) -> None:
    """Raise, with what is known instead, when the configuration names what is not there."""
    surplus_delay_seconds(Framework(conf, plugins.REGISTRY).action_arguments("allocate"))
    for name in conf.actions:
        if name not in actions.REGISTRY:
            known = ", ".join(sorted(actions.REGISTRY))
            raise UnknownActionError(f"action {name!r} is not known; there are {known}")


def _screen(session: Session) -> None:
    for group in session.snapshot.groups:
        queue = session.snapshot.queues.get(group.queue)
        if group.problem:
            session.refuse(group, reasons.invalid(group.problem))
        elif group.namespace in session.snapshot.terminating:
            session.refuse(group, reasons.namespace_terminating(group.namespace))
        elif group.unsupported:
            session.refuse(group, _unsupported(group))
        elif queue is None:
            session.refuse(group, reasons.queue_missing(group.queue))
        elif queue.problem:
            session.refuse(group, reasons.invalid(f"queue {queue.name!r}: {queue.problem}"))
        elif queue.unsupported:
            why = reasons.unsupported(queue.unsupported, kind="queue", name=queue.name)
            session.refuse(group, why)
        elif not queue.open:
            session.refuse(group, reasons.queue_closed(queue))
        elif (barred := _barred(session, group)) is not None:
            session.refuse(group, reasons.queue_not_allowed(barred, group.namespace))


def _barred(session: Session, group: GroupRow) -> str | None:
    """The queue of its line whose allow list does not have the group's namespace."""
    allowed = session.snapshot.allowed
    if not allowed:
        return None
    line = [row.name for row in session.line(group.queue)]
    return next((q for q in line if q in allowed and group.namespace not in allowed[q]), None)


def _unsupported(group: GroupRow) -> Reason:
    return reasons.unsupported(group.unsupported, kind="podgroup", name=group.name)
