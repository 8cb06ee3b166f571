"""The shell: follow our share of the jobs, decide when the view is ready, apply, look again.

Two followers. One shares partitions with the other replicas and holds whole jobs: jobs, pod groups,
pods, commands, and the plugins' replies. The other reads what all jobs share. A job is worked on by one
task at a time; many jobs at once. After a decision a job rests until the view shows what was written, so
nothing is written twice.

Offsets are committed when nothing is due and nothing under way. Nothing rests on them: partitions
are materialised from their beginnings, and a lost reply is asked for again.
"""

import asyncio
import os
from collections.abc import Iterable
from typing import Final

from vc.bus import BusError
from vc.job_controller.config import Config
from vc.job_controller.decision_log import blocker_of, concealed, message_topic, what_was_done
from vc.job_controller.logic import Blocker, Decision, Observed, decide
from vc.job_controller.logic.observed import sooner
from vc.job_controller.logic.podgroup import choose_podgroup
from vc.job_controller.manifests import Manifests, Unread
from vc.job_controller.metrics import JobMetrics
from vc.job_controller.ownership import Ownership
from vc.job_controller.pacing import Pacing
from vc.job_controller.plugin_requests import PluginRequests
from vc.job_controller.shared_objects import Reference
from vc.job_controller.spans import JobSpans
from vc.messages.codec import decode, unreadable
from vc.messages.effects import DeleteObject, Effect, PatchObject, PublishMessage
from vc.messages.partition import partition_of_key
from vc.messages.plugins import PluginReply, request_message
from vc.messages.record import Record
from vc.messages.topics import PLUGIN_REPLIES
from vc.model.api.job import Job
from vc.model.api.keys import DEFAULT_QUEUE
from vc.model.api.kinds import COMMANDS, JOBS, PODGROUPS, PODS
from vc.model.values.bounded import read_version
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
"""How long we wait for news when nothing is due."""

REST_SECONDS: Final = 0.01
"""Between two reads of news: short, because a job waits for each of a few in turn."""

POLL_SECONDS_MIN: Final = 0.001
"""A shorter wait may be none at all to a clock."""

UNREADY_SECONDS: Final = 0.05
UNSEEN_SECONDS: Final = 0.25
"""How soon to look again at a job whose last writes the view has not shown; news come sooner."""

WAKE_SECONDS_MIN: Final = 0.01
"""Time-outs that are nearly over are over: no job is looked at in circles."""

LARGE_JOB_PODS: Final = 500
COALESCE_SECONDS_PER_POD: Final = 2e-5
COALESCE_SECONDS_MAX: Final = 0.25
"""A decision costs about 8 µs a pod: this keeps one large job from taking the whole loop."""

COMMIT_PERIOD_SECONDS: Final = 1.0

_FOLLOWED: Final = (JOBS, PODGROUPS, PODS, COMMANDS)


class JobController:
    """One replica."""

    def __init__(self, context: Context, config: Config) -> None:
        self.name = context.name
        self._context = context
        self._config = config
        self._jobs = Follower(
            context, _FOLLOWED, group=GROUP, extra=(PLUGIN_REPLIES,), rest_seconds=REST_SECONDS
        )
        self._reference = Reference(context)
        self._applier = EffectApplier(context, concurrency=config.requests_at_once)
        self._spans = JobSpans(context)
        self._meters = JobMetrics(context.metrics)
        self._committed_at = 0.0
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._start_over()

    def _start_over(self) -> None:
        """The view is new: nothing that was derived from the old one holds."""
        self._queue = WorkQueue(self._context)
        self._belongings = Ownership()
        self._conversations = PluginRequests(self._config.scheduler_name)
        self._manifests = Manifests(self._context)
        self._expectations = Expectations()
        self._ended: dict[str, set[str]] = {}
        """Per job, uids whose deletion the API server has taken."""
        self._troubles: dict[str, Blocker] = {}
        """Per job, why the last decision could not be carried out."""
        self._waiting: set[str] = set()
        """Jobs whose last decision saw some trouble."""
        self._pacing = Pacing()
        self._again: set[str] = set()
        """Jobs that were due while they were worked on: once more when that has ended."""
        for task in self._busy.values():
            task.cancel()
        self._busy = {}

    def unready(self, partition: int | None = None) -> str:
        unknown = self._context.time_unknown()
        return unknown or self._jobs.unready(partition) or self._reference.unready()

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._follow_reference())
                group.create_task(self._follow_jobs(group))
                group.create_task(report_problems(self._context))
        finally:
            await self._jobs.close()
            await self._reference.close()

    # -- being told ------------------------------------------------------------------------------

    async def _follow_reference(self) -> None:
        while True:
            news = await self._reference.poll()
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

    def _hands_full(self) -> bool:
        return len(self._busy) >= self._config.jobs_at_once

    def _wait_seconds(self) -> float:
        """Until a job is due. While all hands are full none is: its turn comes when a work ends."""
        if self._hands_full():
            return POLL_SECONDS
        return max(self._queue.seconds_until_due(at_most=POLL_SECONDS), POLL_SECONDS_MIN)

    async def _take(self, batch: Batch) -> None:
        if batch.rebuilt:
            self._start_over()
        for change in batch.changes:
            with self._context.problems.contain(APPLY, change.kind, change.key):
                self._wake(self._belongings.take(change))
        for record in batch.records:
            try:
                self._take_reply(record)
            except Exception as error:  # noqa: BLE001 - of one record, whatever it is
                await send_to_dead_letters(self._context, record, unreadable(error))

    def _take_reply(self, record: Record) -> None:
        reply = decode(record.value or b"", into=PluginReply, headers=record.headers)
        took = self._conversations.round_trip(reply, now=self._context.clock.monotonic())
        if took is not None:
            self._meters.answered(reply.plugin, took)
        if self._conversations.note_answer(reply):
            self._queue.add(reply.job_key)

    def _wake(self, keys: Iterable[str]) -> None:
        """Soon, or for a large job a little later: its news come in by the thousand."""
        for key in sorted(keys):
            pods = self._belongings.pod_count(key)
            delay = min(pods * COALESCE_SECONDS_PER_POD, COALESCE_SECONDS_MAX)
            self._queue.add(key, delay=delay if pods >= LARGE_JOB_PODS else 0.0)

    async def _commit_when_idle(self) -> None:
        now = self._context.clock.monotonic()
        if self._busy or now - self._committed_at < COMMIT_PERIOD_SECONDS or self.unready():
            return
        self._committed_at = now
        try:
            await self._jobs.commit()
        except BusError as error:
            self._context.log.info("offsets not committed: %s", error)

    # -- deciding --------------------------------------------------------------------------------

    def _start_due(self, group: asyncio.TaskGroup) -> None:
        """Begin work on jobs whose time has come and that nobody works on."""
        room = self._config.jobs_at_once - len(self._busy)
        if room <= 0:
            return
        for key in self._queue.take_due(limit=room):
            if key in self._busy:
                self._again.add(key)
                continue
            self._busy[key] = group.create_task(self._turn(key, group), name=key)

    async def _turn(self, key: str, group: asyncio.TaskGroup) -> None:
        """Work on a job, then begin at once with whatever waited for that."""
        await self._work(key)
        self._start_due(group)

    async def _work(self, key: str) -> None:
        """One job that cannot be read must not stop the others: it is left out, told of on the job, and
        looked at again later and when it changes."""
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
            if self._busy.get(key) is task:
                del self._busy[key]
                if key in self._again:
                    self._again.discard(key)
                    self._queue.add(key)

    async def _work_on(self, key: str, task: "asyncio.Task[None] | None") -> None:
        seen = self._observe(key)
        if seen is None:
            return
        self._spans.looked(seen)
        began = self._context.clock.wall()
        decision, unread = decide(seen, now=self._context.clock.now()), None
        if decision.wants_manifest:
            unread = await self._manifests.read(seen.job)
            if unread is None:  # the view has moved on meanwhile
                seen = self._observe(key)
                if seen is None:
                    return
                decision = decide(seen, now=self._context.clock.now())
        effects = self._effects(key, decision, seen.traceparent)
        outcomes = [concealed(outcome) for outcome in await self._applier.apply(effects)]
        self._spans.worked(seen, outcomes, began=began)
        self._meters.worked(seen, outcomes, now=self._context.clock.wall())
        if line := what_was_done(seen, outcomes):
            self._context.log.info(line, extra=fields_of(seen.job, queue=seen.job.spec.queue))
        if self._busy.get(key) is task:
            self._take_outcomes(key, decision, outcomes, unread=unread)

    def _observe(self, key: str) -> Observed | None:
        """Everything about a job; None when nothing may be decided about it now."""
        view = self._jobs.view
        entry = view.entries(JOBS).get(key)
        if entry is None or not isinstance(entry.object, Job):
            self._forget(key)
            return None
        if self.unready(partition_of_key(key)):
            self._queue.add(key, delay=UNREADY_SECONDS)
            return None
        if self._expectations.unseen(key, view):
            self._queue.add(key, delay=UNSEEN_SECONDS)
            return None
        job = entry.object
        pods = self._belongings.pods(key)
        podgroup, spares = choose_podgroup(job, self._belongings.podgroups(key), pods)
        now = self._context.clock.monotonic()
        spec_hash = self._conversations.hash_of(key, job)
        return Observed(
            job=job,
            manifest=self._manifests.of(job),
            pods=pods,
            podgroup=podgroup,
            spare_podgroups=spares,
            commands=self._belongings.commands(key),
            queue=self._reference.queue_of(job),
            missing_claims=self._reference.missing_claims(job),
            priorities=self._reference.priorities(),
            registry=self._reference.registry,
            answers=self._conversations.answers(key),
            asked=self._conversations.asked(key, now=now),
            spec_hash=spec_hash,
            pods_complete=self._pods_reach(job),
            counters_due=self._pacing.is_due(
                key, now=now, pods=self._belongings.pod_count(key), busy=self._hands_full()
            ),
            blocker=self._troubles.get(key),
            compat=self._config.compat,
            scheduler_name=self._config.scheduler_name,
            traceparent=entry.identity.traceparent,
        )

    def _pods_reach(self, job: Job) -> bool:
        """Whether our pods are at least as new as this job: topics are read side by side."""
        progress = self._jobs.view.progress(PODS)
        reached, wanted = (
            progress.resource_version if progress else "",
            job.metadata.resource_version,
        )
        if not read_version(reached) or not read_version(wanted):
            return True
        return read_version(reached) >= read_version(wanted)

    # -- acting ----------------------------------------------------------------------------------

    def _effects(self, key: str, decision: Decision, traceparent: str) -> list[Effect]:
        """Without deletions that were taken already, and with the questions to the plugins."""
        ended = self._ended.get(key, set())
        effects: list[Effect] = [
            effect
            for effect in decision.effects
            if not (isinstance(effect, DeleteObject) and effect.uid in ended)
        ]
        for question in decision.questions:
            message = request_message(question, traceparent=traceparent)
            effects.append(PublishMessage(message=message))
        return effects

    def _take_outcomes(
        self, key: str, decision: Decision, outcomes: list[Outcome], *, unread: Unread | None
    ) -> None:
        done = [outcome for outcome in outcomes if outcome.status is OutcomeStatus.DONE]
        now = self._context.clock.monotonic()
        asked = {message_topic(o.effect) for o in done}
        for question in decision.questions:
            if request_message(question).topic in asked:
                self._conversations.note_question(key, question, at=now)
        for outcome in done:
            effect = outcome.effect
            if isinstance(effect, DeleteObject):
                self._ended.setdefault(key, set()).add(effect.uid)
            if isinstance(effect, PatchObject) and (effect.kind is JOBS or not decision.late):
                self._pacing.written(key, now=now)
            kind = getattr(effect, "kind", None)
            if outcome.written is not None and kind in _FOLLOWED:
                self._expectations.expect(key, [(kind, outcome.written)])
        self._note_trouble(key, decision, outcomes, unread=unread)

    def _note_trouble(
        self, key: str, decision: Decision, outcomes: list[Outcome], *, unread: Unread | None
    ) -> None:
        """All done: look again when the decision says so. Else: again, later and later."""
        if decision.blocker is not None:
            self._waiting.add(key)
        else:
            self._waiting.discard(key)
        failed = [o for o in outcomes if o.status is not OutcomeStatus.DONE]
        was_troubled = self._troubles.pop(key, None)
        if unread is None and decision.wants_manifest:
            unread = Unread(why="the job has changed while it was read")
        if not failed and unread is None:
            self._queue.succeeded(key)
            wake = 0.0 if was_troubled else self._wake_after(key, decision)
            if wake is not None:
                self._queue.add(key, delay=max(wake, WAKE_SECONDS_MIN))
            return
        troubles = [*map(blocker_of, failed), unread.blocker if unread is not None else None]
        blocker = next((t for t in troubles if t is not None), None)
        if blocker is not None:
            self._troubles[key] = blocker
        if unread is not None and unread.rests_seconds and not failed:
            self._queue.add(key, delay=unread.rests_seconds)
            return
        told = unread.retry_after_seconds if unread is not None else 0.0
        delay = self._queue.retry(key, least=told)
        if unread is not None:
            self._manifests.rest(key, unread, delay)
        why = (failed[0].error or failed[0].status.value) if failed else unread and unread.why
        self._context.log.info("%s: %s; again in %.2f s", key, why, delay)

    def _wake_after(self, key: str, decision: Decision) -> float | None:
        """When the decision says so, or when counters that it left unwritten are due."""
        if not decision.late:
            return decision.wake_after_seconds
        now, pods = self._context.clock.monotonic(), self._belongings.pod_count(key)
        due = self._pacing.late(key, now=now, pods=pods, busy=self._hands_full())
        return sooner(decision.wake_after_seconds, due)

    def _forget(self, key: str) -> None:
        self._meters.forget(key)
        self._queue.forget(key)
        self._conversations.forget(key)
        self._manifests.forget(key)
        self._expectations.forget(key)
        self._ended.pop(key, None)
        self._troubles.pop(key, None)
        self._pacing.forget(key)
        self._waiting.discard(key)


def build(context: Context, config: Config | None = None) -> JobController:
    """The service on its context; without a Config the environment says."""
    return JobController(context, config or Config.from_env(os.environ))
