"""The shell: follow this replica's share of the jobs, decide when the view is ready, apply effects.

There are two followers. One shares partitions with the other replicas and reads everything that
belongs to one job: jobs, PodGroups, pods, Commands and the replies of plugins. The other reads what
all jobs use: queues, priority classes, claims and announcements. Many jobs are reconciled
concurrently, each by one task at a time. After a decision a job is not reconciled again until the
view shows what was written, so nothing is written twice.

Offsets are committed when no job is due or being reconciled. Correctness does not depend on them:
partitions are read from their beginning after an assignment, and a lost reply is requested again.
"""

import asyncio
import os
from collections.abc import Iterable
from typing import Final

from vc.bus import BusError
from vc.job_controller.config import Config
from vc.job_controller.decision_log import blocker_of, concealed, message_topic, summary_of
from vc.job_controller.logic import Blocker, Decision, ObservedJob, decide
from vc.job_controller.logic.observed import sooner
from vc.job_controller.logic.podgroup import choose_podgroup
from vc.job_controller.manifests import Manifests, Unread
from vc.job_controller.metrics import JobMetrics
from vc.job_controller.ownership import Ownership, pods_as_new_as
from vc.job_controller.pacing import Pacing, coalesce_seconds
from vc.job_controller.plugin_requests import PluginRequests
from vc.job_controller.shared_objects import SharedObjects
from vc.job_controller.spans import LifecycleSpans
from vc.messages.codec import decode, unreadable
from vc.messages.effects import DeleteObject, Effect, PatchObject, PublishMessage
from vc.messages.partition import partition_of_key
from vc.messages.plugins import PluginReply, request_message
from vc.messages.record import Record
from vc.messages.topics import PLUGIN_REPLIES
from vc.model.api.job import Job
from vc.model.api.keys import DEFAULT_QUEUE
from vc.model.api.kinds import COMMANDS, JOBS, PODGROUPS, PODS
from vc.runtime.applying.effects import EffectApplier, Outcome, OutcomeStatus
from vc.runtime.applying.expectations import Expectations
from vc.runtime.applying.workqueue import WorkQueue
from vc.runtime.consuming.dead_letters import send_to_dead_letters
from vc.runtime.consuming.follower import Batch, Follower
from vc.runtime.consuming.problem_events import report_problems
from vc.runtime.containment.boundaries import APPLY, DECIDE
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.job_fields import fields_of

GROUP: Final = "vc-job-controller"
POLL_SECONDS: Final = 0.1
"""Longest wait for changes when no job is due."""

REST_SECONDS: Final = 0.01
"""Pause between two reads. It is short, because a job goes through several changes in sequence."""

POLL_SECONDS_MIN: Final = 0.001
"""A shorter wait may be rounded to none by the clock."""

UNREADY_SECONDS: Final = 0.05
UNSEEN_SECONDS: Final = 0.25
"""When to check again whether the view shows the last writes of a job. A change wakes it earlier."""

WAKE_SECONDS_MIN: Final = 0.01
"""Shortest wake-up. Without it, a time-out that is nearly over would cause a busy loop."""

COMMIT_PERIOD_SECONDS: Final = 1.0

_FOLLOWED: Final = (JOBS, PODGROUPS, PODS, COMMANDS)


class JobController:
    """One replica of the job-controller."""

    def __init__(self, context: Context, config: Config) -> None:
        self.name = context.name
        self._context = context
        self._config = config
        self._jobs = Follower(
            context, _FOLLOWED, group=GROUP, extra=(PLUGIN_REPLIES,), rest_seconds=REST_SECONDS
        )
        self._shared = SharedObjects(context)
        self._applier = EffectApplier(context, concurrency=config.requests_at_once)
        self._spans = LifecycleSpans(context)
        self._metrics = JobMetrics(context.metrics)
        self._committed_at = 0.0
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._start_over()

    def _start_over(self) -> None:
        """Discard everything that was derived from the view, because the view is built again."""
        self._queue = WorkQueue(self._context)
        self._ownership = Ownership()
        self._plugin_requests = PluginRequests(self._config.scheduler_name)
        self._manifests = Manifests(self._context)
        self._expectations = Expectations()
        self._ended: dict[str, set[str]] = {}
        """Per job, uids of objects whose deletion the API server accepted."""
        self._blockers: dict[str, Blocker] = {}
        """Per job, why the last decision could not be carried out."""
        self._waiting: set[str] = set()
        """Jobs whose last decision had a blocker."""
        self._pacing = Pacing()
        self._again: set[str] = set()
        """Jobs that became due while they were reconciled. They are queued again afterwards."""
        for task in self._busy.values():
            task.cancel()
        self._busy = {}

    def unready(self, partition: int | None = None) -> str:
        unknown = self._context.time_unknown()
        return unknown or self._jobs.unready(partition) or self._shared.unready()

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._follow_shared())
                group.create_task(self._follow_jobs(group))
                group.create_task(report_problems(self._context))
        finally:
            await self._jobs.close()
            await self._shared.close()

    # -- following -------------------------------------------------------------------------------

    async def _follow_shared(self) -> None:
        while True:
            news = await self._shared.poll()
            for queue in news.queues:
                self._wake(self._jobs_in(queue))
            if news.others:
                self._wake(self._waiting)

    def _jobs_in(self, queue: str) -> list[str]:
        jobs = (job for job in self._jobs.view.objects(JOBS) if isinstance(job, Job))
        return sorted(job.key for job in jobs if (job.spec.queue or DEFAULT_QUEUE) == queue)

    async def _follow_jobs(self, group: asyncio.TaskGroup) -> None:
        while True:
            batch = await self._jobs.poll(wait_seconds=self._wait_seconds())
            await self._take(batch)
            self._start_due(group)
            await self._commit_when_idle()

    def _at_capacity(self) -> bool:
        return len(self._busy) >= self._config.jobs_at_once

    def _wait_seconds(self) -> float:
        """Time until a job is due. At capacity no job can start, so nothing is due before one ends."""
        if self._at_capacity():
            return POLL_SECONDS
        return max(self._queue.seconds_until_due(at_most=POLL_SECONDS), POLL_SECONDS_MIN)

    async def _take(self, batch: Batch) -> None:
        if batch.rebuilt:
            self._start_over()
        for change in batch.changes:
            with self._context.problems.contain(APPLY, change.kind, change.key):
                self._wake(self._ownership.take(change))
        for record in batch.records:
            try:
                self._take_reply(record)
            except Exception as error:  # noqa: BLE001 - of one record, whatever it is
                await send_to_dead_letters(self._context, record, unreadable(error))

    def _take_reply(self, record: Record) -> None:
        reply = decode(record.value or b"", into=PluginReply, headers=record.headers)
        seconds = self._plugin_requests.round_trip(reply, now=self._context.clock.monotonic())
        if seconds is not None:
            self._metrics.replied(reply.plugin, seconds)
        if self._plugin_requests.note_reply(reply):
            self._queue.add(reply.job_key)

    def _wake(self, keys: Iterable[str]) -> None:
        """Reconcile at once, or a large job a little later: its changes arrive by the thousand."""
        for key in sorted(keys):
            self._queue.add(key, delay=coalesce_seconds(self._ownership.pod_count(key)))

    async def _commit_when_idle(self) -> None:
        now = self._context.clock.monotonic()
        if self._busy or now - self._committed_at < COMMIT_PERIOD_SECONDS or self.unready():
            return
        self._committed_at = now
        try:
            await self._jobs.commit()
        except BusError as error:
            self._context.log.info("offsets not committed error=%s", error)

    # -- deciding --------------------------------------------------------------------------------

    def _start_due(self, group: asyncio.TaskGroup) -> None:
        """Start tasks for due jobs that are not being reconciled, up to the limit."""
        slots = self._config.jobs_at_once - len(self._busy)
        if slots <= 0:
            return
        for key in self._queue.take_due(limit=slots):
            # One task per job: two decisions at once would be based on the same state.
            if key in self._busy:
                self._again.add(key)
                continue
            self._busy[key] = group.create_task(self._turn(key, group), name=key)

    async def _turn(self, key: str, group: asyncio.TaskGroup) -> None:
        """Reconcile a job, then start the jobs that waited for its slot."""
        await self._work(key)
        self._start_due(group)

    async def _work(self, key: str) -> None:
        """Reconcile one job and contain its errors.

        A job that cannot be processed must not stop the others. It gets an Event, is left out, and is
        retried with backoff and when it changes.
        """
        task = asyncio.current_task()
        entry = self._jobs.view.entries(JOBS).get(key)
        uid = entry.identity.uid if entry is not None else ""
        contained = self._context.problems.contain(DECIDE, JOBS, key, uid=uid)
        try:
            with contained:
                await self._work_on(key, task)
            if contained.failed and self._busy.get(key) is task:
                self._queue.retry(key)
        finally:
            # After `_start_over` another task may own the key; its entry must stay.
            if self._busy.get(key) is task:
                del self._busy[key]
                if key in self._again:
                    self._again.discard(key)
                    self._queue.add(key)

    async def _work_on(self, key: str, task: "asyncio.Task[None] | None") -> None:
        seen = self._observe(key)
        if seen is None:
            return
        self._spans.before_decision(seen)
        began = self._context.clock.wall()
        decision, unread = decide(seen, now=self._context.clock.now()), None
        if decision.wants_manifest:
            unread = await self._manifests.read(seen.job)
            # The view may have changed during the GET, so the job is observed again.
            if unread is None:
                seen = self._observe(key)
                if seen is None:
                    return
                decision = decide(seen, now=self._context.clock.now())
        effects = self._effects(key, decision, seen.traceparent)
        # Errors of the API server may quote values of templates, which must not be published.
        outcomes = [concealed(outcome) for outcome in await self._applier.apply(effects)]
        self._spans.after_decision(seen, outcomes, began=began)
        self._metrics.after_decision(seen, outcomes, now=self._context.clock.wall())
        if summary := summary_of(seen, outcomes):
            self._context.log.info(
                "reconciled %s", summary, extra=fields_of(seen.job, queue=seen.job.spec.queue)
            )
        if self._busy.get(key) is task:
            self._take_outcomes(key, decision, outcomes, unread=unread)

    def _observe(self, key: str) -> ObservedJob | None:
        """Everything that affects a job, or None if no decision may be made about it now."""
        view = self._jobs.view
        entry = view.entries(JOBS).get(key)
        if entry is None or not isinstance(entry.object, Job):
            self._forget(key)
            return None
        if self.unready(partition_of_key(key)):
            self._queue.add(key, delay=UNREADY_SECONDS)
            return None
        # A decision on a view without our own last writes would repeat them.
        if self._expectations.unseen(key, view):
            self._queue.add(key, delay=UNSEEN_SECONDS)
            return None
        job = entry.object
        pods = self._ownership.pods(key)
        podgroup, superfluous = choose_podgroup(job, self._ownership.podgroups(key), pods)
        now = self._context.clock.monotonic()
        spec_hash = self._plugin_requests.hash_of(key, job)
        return ObservedJob(
            job=job,
            manifest=self._manifests.of(job),
            pods=pods,
            podgroup=podgroup,
            superfluous_podgroups=superfluous,
            commands=self._ownership.commands(key),
            queue=self._shared.queue_of(job),
            missing_claims=self._shared.missing_claims(job),
            priorities=self._shared.priorities(),
            registry=self._shared.registry,
            replies=self._plugin_requests.replies(key),
            open_requests=self._plugin_requests.open_requests(key, now=now),
            spec_hash=spec_hash,
            pods_complete=pods_as_new_as(job, view),
            counters_due=self._pacing.is_due(
                key, now=now, pods=self._ownership.pod_count(key), busy=self._at_capacity()
            ),
            blocker=self._blockers.get(key),
            compat=self._config.compat,
            scheduler_name=self._config.scheduler_name,
            traceparent=entry.identity.traceparent,
        )

    # -- applying --------------------------------------------------------------------------------

    def _effects(self, key: str, decision: Decision, traceparent: str) -> list[Effect]:
        """The effects to apply: without accepted deletions, and with the requests to plugins."""
        ended = self._ended.get(key, set())
        effects: list[Effect] = [
            effect
            for effect in decision.effects
            if not (isinstance(effect, DeleteObject) and effect.uid in ended)
        ]
        for request in decision.requests:
            message = request_message(request, traceparent=traceparent)
            effects.append(PublishMessage(message=message))
        return effects

    def _take_outcomes(
        self, key: str, decision: Decision, outcomes: list[Outcome], *, unread: Unread | None
    ) -> None:
        done = [outcome for outcome in outcomes if outcome.status is OutcomeStatus.DONE]
        now = self._context.clock.monotonic()
        published = {message_topic(o.effect) for o in done}
        for request in decision.requests:
            # A request that was not published is sent again by the next decision.
            if request_message(request).topic in published:
                self._plugin_requests.note_request(key, request, at=now)
        for outcome in done:
            effect = outcome.effect
            if isinstance(effect, DeleteObject):
                self._ended.setdefault(key, set()).add(effect.uid)
            if isinstance(effect, PatchObject) and (effect.kind is JOBS or not decision.late):
                self._pacing.written(key, now=now)
            kind = getattr(effect, "kind", None)
            if outcome.written is not None and kind in _FOLLOWED:
                self._expectations.expect(key, [(kind, outcome.written)])
        self._note_blockers(key, decision, outcomes, unread=unread)

    def _note_blockers(
        self, key: str, decision: Decision, outcomes: list[Outcome], *, unread: Unread | None
    ) -> None:
        """Schedule the next reconcile: as the decision says, or with backoff after a failure."""
        if decision.blocker is not None:
            self._waiting.add(key)
        else:
            self._waiting.discard(key)
        failed = [o for o in outcomes if o.status is not OutcomeStatus.DONE]
        was_blocked = self._blockers.pop(key, None)
        if unread is None and decision.wants_manifest:
            unread = Unread(why="the job has changed while it was read")
        if not failed and unread is None:
            self._queue.succeeded(key)
            # A blocker that is gone must be removed from the status at once.
            wake = 0.0 if was_blocked else self._wake_after(key, decision)
            if wake is not None:
                self._queue.add(key, delay=max(wake, WAKE_SECONDS_MIN))
            return
        found = [*map(blocker_of, failed), unread.blocker if unread is not None else None]
        blocker = next((each for each in found if each is not None), None)
        if blocker is not None:
            self._blockers[key] = blocker
        # No request was sent during the backoff of the read, so this is no further failure.
        if unread is not None and unread.backoff_seconds and not failed:
            self._queue.add(key, delay=unread.backoff_seconds)
            return
        retry_after = unread.retry_after_seconds if unread is not None else 0.0
        delay = self._queue.retry(key, least=retry_after)
        if unread is not None:
            self._manifests.rest(key, unread, delay)
        why = (failed[0].error or failed[0].status.value) if failed else unread and unread.why
        self._context.log.info(
            "reconcile failed job=%s retry_seconds=%.2f error=%s", key, delay, why
        )

    def _wake_after(self, key: str, decision: Decision) -> float | None:
        """When to reconcile again: as the decision says, or when unwritten counters are due."""
        if not decision.late:
            return decision.wake_after_seconds
        now, pods = self._context.clock.monotonic(), self._ownership.pod_count(key)
        due = self._pacing.late(key, now=now, pods=pods, busy=self._at_capacity())
        return sooner(decision.wake_after_seconds, due)

    def _forget(self, key: str) -> None:
        self._metrics.forget(key)
        self._queue.forget(key)
        self._plugin_requests.forget(key)
        self._manifests.forget(key)
        self._expectations.forget(key)
        self._ended.pop(key, None)
        self._blockers.pop(key, None)
        self._pacing.forget(key)
        self._waiting.discard(key)


def build(context: Context, config: Config | None = None) -> JobController:
    """Create the service. Without a Config, the environment is read."""
    return JobController(context, config or Config.from_env(os.environ))
