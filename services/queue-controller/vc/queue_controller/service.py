"""The shell: follow queues, PodGroups and Commands; lead; decide about all queues at once.

There are few queues, so every decision covers the whole tree, at most once per period. A new leader
first waits until its view has reached the state of the API server at the time it began to lead:
with less it could carry out Commands a second time.
"""

import os
from typing import Final

from vc.messages.effects import CreateObject, Effect, PatchObject, RecordEvent
from vc.model.api.job import Command
from vc.model.api.keys import DEFAULT_QUEUE, ROOT_QUEUE
from vc.model.api.kinds import COMMANDS, PODGROUPS, QUEUES
from vc.model.api.scheduling import PodGroup, Queue
from vc.queue_controller.config import Config
from vc.queue_controller.logic import Observed, decide
from vc.queue_controller.metrics import QueueMetrics
from vc.runtime.applying.effects import OutcomeStatus
from vc.runtime.applying.expectations import Expectations
from vc.runtime.containment.boundaries import DECIDE
from vc.runtime.hosting.context import Context
from vc.runtime.leading.replica import Lead

POLL_SECONDS: Final = 0.1
REST_SECONDS: Final = 0.1
"""Pause between two polls. Counters may be late by this time."""
FOLLOWED: Final = (QUEUES, PODGROUPS, COMMANDS)
_ALL: Final = "queues"


class QueueController:
    """One replica of the queue-controller. The leader writes."""

    def __init__(self, context: Context, config: Config) -> None:
        self.name = context.name
        self._context = context
        self._config = config
        self._lead = Lead(context, FOLLOWED, rest_seconds=REST_SECONDS)
        self._expectations = Expectations()
        self._metrics = QueueMetrics(context)
        self._shown = False
        """Whether our metrics show queues. They are cleared when another replica leads."""
        self._dirty = True
        self._due_at = 0.0
        self._epoch = -1
        """The epoch under which everything was last decided."""

    def unready(self) -> str:
        """Why the service is not ready, also while `root` or `default` does not exist yet."""
        why = self._lead.unready()
        # Jobs without a queue use `default`, so the system is not usable without it.
        missing = [n for n in (ROOT_QUEUE, DEFAULT_QUEUE) if not self._lead.view.get(QUEUES, n)]
        return why or (f"no queue {missing[0]} yet" if missing else "")

    async def run(self) -> None:
        await self._lead.run(self._follow())

    async def _follow(self) -> None:
        while True:
            batch = await self._lead.follower.poll(wait_seconds=POLL_SECONDS)
            if batch.rebuilt:
                self._expectations.clear()
            if batch.rebuilt or batch.changes:
                self._dirty = True
            # A new term starts with a decision, because the last leader may have stopped halfway.
            if self._epoch != self._lead.epoch:
                self._epoch, self._dirty = self._lead.epoch, True
            taken_over = await self._lead.taken_over()
            # Metrics are kept through a short loss of the lease, to avoid gaps in the series.
            if self._shown and self._lead.lease.passed_on(self._lead.epoch):
                self._shown = False
                self._metrics.clear()
            if taken_over and self._may_decide():
                await self._decide()

    def _may_decide(self) -> bool:
        # The period bounds the writes of counters.
        if not self._dirty or self._context.clock.monotonic() < self._due_at:
            return False
        if self._lead.unready():
            return False
        # Until the view shows the last writes, a decision would repeat them.
        return not self._expectations.unseen(_ALL, self._lead.view)

    async def _decide(self) -> None:
        view = self._lead.view
        seen = Observed(
            queues=tuple(q for q in view.objects(QUEUES) if isinstance(q, Queue)),
            groups=tuple(g for g in view.objects(PODGROUPS) if isinstance(g, PodGroup)),
            commands=tuple(c for c in view.objects(COMMANDS) if isinstance(c, Command)),
            heeded_namespace="" if self._config.commands_vetted else self._context.namespace,
        )
        # Metrics are set before the decision, so that they are current even if a write fails.
        self._metrics.show(seen.queues, seen.groups)
        self._shown = True
        self._dirty = False
        self._due_at = self._context.clock.monotonic() + self._config.counters_period_seconds
        epoch = self._lead.epoch
        left_out: list[tuple[Queue, Exception]] = []
        decided = decide(seen, left_out=left_out)
        problems = self._context.problems
        for queue, error in left_out:
            problems.caught(DECIDE, QUEUES, queue.key, uid=queue.metadata.uid, error=error)
        # Queues that were decided without an error are no problem any longer.
        failed = {queue.key for queue, _ in left_out}
        for row in problems.rows():
            if row.boundary == DECIDE and row.key not in failed:
                problems.resolved(DECIDE, QUEUES, row.key)
        for effects in decided:
            await self._apply(effects, epoch)

    async def _apply(self, effects: list[Effect], epoch: int) -> None:
        for outcome in await self._lead.applier.apply(effects, epoch=epoch):
            kind = getattr(outcome.effect, "kind", None)
            if outcome.status is not OutcomeStatus.DONE:
                # A failed write is decided again in the next period.
                self._dirty = True
                fields = {"queue": getattr(outcome.effect, "name", "")} if kind is QUEUES else {}
                self._context.log.info(
                    "write not done status=%s error=%s",
                    outcome.status.value,
                    outcome.error,
                    extra=fields,
                )
                continue
            if message := log_message(outcome.effect):
                self._context.log.info(
                    message, extra={"queue": getattr(outcome.effect, "name", "")}
                )
            if outcome.written is not None and kind in FOLLOWED:
                self._expectations.expect(_ALL, [(kind, outcome.written)])


def log_message(effect: Effect) -> str:
    """Log line for a decision about a queue, or empty for counters."""
    match effect:
        case CreateObject(kind=kind) if kind is QUEUES:
            return "queue created"
        case PatchObject(kind=kind, patch=patch) if kind is QUEUES:
            state = (patch.get("status") or {}).get("state")
            return f"queue state changed state={state}" if state else ""
        case RecordEvent(message=message):
            return f"command refused message={message}"
    return ""


def build(context: Context, config: Config | None = None) -> QueueController:
    """Create the service. Without a Config, the environment is read."""
    return QueueController(context, config or Config.from_env(os.environ))
