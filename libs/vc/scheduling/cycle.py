"""One scheduling session: the actions in order, over one snapshot.

The module is pure: it uses no clock, no randomness, no environment and no `await`. The same
snapshot, configuration and `now` produce the same decisions, byte for byte, in any process.
"""

from collections.abc import Sequence

import msgspec

from vc.messages.sessions import Reason
from vc.model.api.keys import ROOT_QUEUE
from vc.scheduling import actions, plugins
from vc.scheduling.actions.queue_gates import lift_queue_gates
from vc.scheduling.actions.release import release_broken_gangs
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.closing.close import close
from vc.scheduling.conf.model import Conf
from vc.scheduling.conf.surplus_delay import surplus_delay_seconds
from vc.scheduling.framework.extension_point import Plugin
from vc.scheduling.framework.faults import (
    all_quarantined,
    blame,
    may_quarantine,
    nothing,
    without,
    without_groups,
)
from vc.scheduling.framework.framework import Framework
from vc.scheduling.framework.stopwatch import ACTION, NO_STOPWATCH, Stopwatch
from vc.scheduling.model.decisions import Decisions, LeftOut
from vc.scheduling.model.rows import GroupRow
from vc.scheduling.session import reasons
from vc.scheduling.session.session import Session


class UnknownActionError(ValueError):
    """The configuration names an action that does not exist.

    The message lists the known actions.
    """


def run_cycle(
    snapshot: Snapshot, conf: Conf, now: float, stopwatch: Stopwatch = NO_STOPWATCH
) -> Decisions:
    """Decide what to enqueue, bind, evict, release and write.

    Exceptions of plugins and actions do not reach the caller. What raised is left out, and the
    session runs again from the same snapshot:

    - a plugin, if a session without it is still safe;
    - a group on which our own code fails, so that one tenant's group does not stop all others;
    - the action, if leaving out a few groups does not help.

    `Decisions.left_out` lists what was left out. If the cause cannot be left out, nothing is
    decided and a later session tries again.
    """
    left_out: list[LeftOut] = []
    quarantined: dict[str, LeftOut] = {}
    # The loop ends because each further run leaves out one more group, plugin or action.
    while True:
        attempt = _Attempt(without_groups(snapshot, quarantined), conf, now, stopwatch)
        try:
            decisions = attempt.decide()
            # A run in which every group is left out proves nothing: the fault is not in the groups.
            fault = (
                next(iter(quarantined.values())) if all_quarantined(snapshot, quarantined) else None
            )
        except Exception as error:  # noqa: BLE001 - whatever third parties' code may raise
            fault = blame(error, attempt.plugins, attempt.action)
        if fault is None:
            left_out_now = (*left_out, *(group for group in quarantined.values()))
            return msgspec.structs.replace(decisions, left_out=left_out_now)
        if may_quarantine(fault, quarantined):
            quarantined[fault.group] = fault
            continue
        # Leaving out groups did not help. They take part again, and the plugin or action does not.
        quarantined.clear()
        left_out.append(msgspec.structs.replace(fault, group=""))
        rest = without(conf, left_out[-1])
        if rest is None or rest == conf:  # nothing can be left out, so another run would fail too
            return nothing(snapshot, left_out, now)
        conf = rest


class _Attempt:
    """One run over the snapshot. Keeps the plugins and the current action, to find what raised."""

    def __init__(self, snapshot: Snapshot, conf: Conf, now: float, stopwatch: Stopwatch) -> None:
        self._snapshot = snapshot
        self._conf = conf
        self._now = now
        self._stopwatch = stopwatch
        self.plugins: Sequence[tuple[str, Plugin]] = ()
        self.action = ""

    def decide(self) -> Decisions:
        """Run all steps of a session once. Exceptions pass to the caller."""
        # 1. Create only the configured plugins.
        framework = Framework(self._conf, plugins.REGISTRY, self._stopwatch)
        self.plugins = framework.plugins
        session = Session(self._snapshot, framework, self._now)
        # 2. Refuse groups that no action may place: invalid objects, missing and closed queues.
        _screen(session)
        # 3. Run the actions in the configured order. Each one sees the results of those before it.
        for name in self._conf.actions:
            self.action = name
            with self._stopwatch.part(ACTION, name):
                actions.REGISTRY[name](session)
        self.action = ""
        # 4. Evict the members of half-bound gangs that could not be completed in time.
        release_broken_gangs(session)
        # 5. Lift the gates of pods that fit into their queue's quota but on no node yet.
        lift_queue_gates(session)
        # 6. Collect decisions, statuses, reasons, queue amounts and the time of the next session.
        return close(session)


def check_conf(conf: Conf) -> None:
    """Raise if the configuration has a bad argument, an unknown plugin or an unknown action.

    The message of the exception lists the known names.
    """
    surplus_delay_seconds(Framework(conf, plugins.REGISTRY).action_arguments("allocate"))
    for name in conf.actions:
        if name not in actions.REGISTRY:
            known = ", ".join(sorted(actions.REGISTRY))
            raise UnknownActionError(f"action {name!r} is not known; there are {known}")


def _screen(session: Session) -> None:
    """Refuse groups that no action may place, each with the first reason that applies."""
    leaves: list[str] = []
    for group in session.snapshot.groups:
        queue = session.snapshot.queues.get(group.queue)
        if group.problem:
            session.refuse(group, reasons.invalid(group.problem))
        elif group.namespace in session.snapshot.terminating_namespaces:
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
        elif queue.name == ROOT_QUEUE:  # no queue reclaims from it, so its pods would stay for ever
            leaves = leaves or _leaves(session)
            session.refuse(group, reasons.queue_above(queue.name, leaves))
        elif not queue.open:
            session.refuse(group, reasons.queue_closed(queue))
        elif (barred := _barred(session, group)) is not None:
            session.refuse(group, reasons.queue_not_allowed(barred, group.namespace))


def _leaves(session: Session) -> list[str]:
    """Open queues without any below them."""
    queues = session.snapshot.queues
    above = {row.parent for row in queues.values()} | {ROOT_QUEUE}
    return sorted(name for name, row in queues.items() if row.open and name not in above)


def _barred(session: Session, group: GroupRow) -> str | None:
    """The nearest of the group's queue and its ancestors whose allow list lacks the namespace.

    Returns None when no allow list excludes the group's namespace.
    """
    allowed = session.snapshot.allowed
    if not allowed:
        return None
    names = [row.name for row in session.accounts.ancestors(group.queue)]
    return next((q for q in names if q in allowed and group.namespace not in allowed[q]), None)


def _unsupported(group: GroupRow) -> Reason:
    return reasons.unsupported(group.unsupported, kind="podgroup", name=group.name)
