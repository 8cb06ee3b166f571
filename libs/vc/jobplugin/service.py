"""The shell every plugin service runs in: receive, look, decide, apply, reply, commit.

Members of the group `vc-plugin-<name>` share the requests. An offset is committed after the reply
was published, so a crash repeats a request and never loses one; effects are idempotent by
deterministic names. The announcement goes out at the start and again after the topics were wiped.
A request that cannot be read goes to the dead letters; one whose effects the API server refuses, or on
which the plugin itself fails, is answered with that as its problem: no request stops those behind it.
What may pass by itself (a server that is away, an older object that is still going) is tried again, and
then left unanswered: the job-controller asks again. A member whose answers did not get through is not
kept: it has read on, and its next commit would be beyond what had no effect.
"""

import asyncio
from typing import Final

import msgspec

from vc.bus import BusError, BusForbiddenError, BusUnavailableError, GroupMember, OversizeError
from vc.bus.limits import checked_bytes
from vc.clock import VirtualLoop
from vc.cluster import ClusterError, NotFoundError
from vc.jobplugin.answers import Core, Decorated, Found, Reference
from vc.jobplugin.config import PluginConfig
from vc.messages.codec import (
    HEADER_TRACEPARENT,
    MessageTooLargeError,
    check_size,
    decode,
    unreadable,
)
from vc.messages.plugins import (
    APPLY,
    REMOVE,
    PluginReply,
    PluginRequest,
    announcement_message,
    reply_message,
)
from vc.messages.record import Message, Record, TopicPartition
from vc.messages.topics import PLUGIN_REGISTRY, PLUGINS, plugin_requests
from vc.messages.trace import plugin_span
from vc.model.api.struct import JsonObject
from vc.model.values.backoff import delay_seconds
from vc.runtime.applying.effects import EffectApplier, Outcome, OutcomeStatus
from vc.runtime.consuming.dead_letters import dead_letter
from vc.runtime.consuming.topics_owner import TopicsOwner
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.job_fields import job_fields
from vc.runtime.hosting.tracing import Span, SpanReporter

REQUESTS_PER_POLL_MAX: Final = 256
POLL_SECONDS: Final = 0.25
ATTEMPTS_MAX: Final = 5
"""At one answer, before the request is left to be asked again."""

_PASSING: Final = frozenset({OutcomeStatus.STALE, OutcomeStatus.UNAVAILABLE})
_FAILED: Final = _PASSING | {OutcomeStatus.FOREIGN, OutcomeStatus.REFUSED}

_FAILED_ON_JOB: Final = Decorated(problem="the plugin failed on this job; its log says why")

ANNOUNCE_PERIOD_SECONDS: Final = 10.0
"""How often we look whether our announcement is still there, and put it back if not."""


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What goes back for a record, and the question it answers; a dead letter answers none."""

    message: Message
    request: PluginRequest | None = None


class PluginService:
    """One replica of one plugin."""

    def __init__(
        self,
        context: Context,
        core: Core,
        config: PluginConfig | None = None,
        *,
        slow: bool = False,
        acts: bool = True,
    ) -> None:
        """`slow`: decisions take long enough to be made beside the event loop.

        `acts`: it may write to the cluster, so the topics must be this cluster's.
        """
        self.name = context.name
        self._context = context
        self._core = core
        self._slow = slow
        self._topic = plugin_requests(core.announcement.plugin)
        self._applier = EffectApplier(
            context, concurrency=(config or PluginConfig()).requests_at_once
        )
        self._reporter = SpanReporter(context.tracer)
        self._owner = TopicsOwner(context) if acts else None
        self._ours = asyncio.Event()
        """Set while the topics are known to be our cluster's."""
        self._member: GroupMember | None = None
        self._failures = 0
        self._trouble = "not started"

    def unready(self) -> str:
        return self._trouble

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_announced())
                group.create_task(self._serve())
        finally:
            await self._leave()

    # -- being known -----------------------------------------------------------------------------

    async def _keep_announced(self) -> None:
        """Put our announcement on the registry, and back on it after a wipe."""
        while True:
            await self._ours.wait()
            try:
                if not await self._is_announced():
                    await self._bring_topic()
                    message = announcement_message(self._core.announcement)
                    await self._context.bus.publish([message])
                    continue
            except BusError as error:
                self._context.log.info("not announced yet: %s", error)
            await self._context.clock.sleep(ANNOUNCE_PERIOD_SECONDS)

    async def _is_announced(self) -> bool:
        wanted = announcement_message(self._core.announcement)
        bus = self._context.bus
        position = (await bus.start_offsets(PLUGIN_REGISTRY.name))[0]
        end = (await bus.end_offsets(PLUGIN_REGISTRY.name))[0]
        reader = await bus.reader({TopicPartition(PLUGIN_REGISTRY.name, 0): position})
        newest: Record | None = None
        try:
            while position < end:
                records = await reader.poll(
                    max_records=REQUESTS_PER_POLL_MAX, wait_seconds=POLL_SECONDS
                )
                if not records:
                    break
                position = records[-1].offset + 1
                newest = next((r for r in reversed(records) if r.key == wanted.key), newest)
        finally:
            await reader.close()
        return newest is not None and newest.value == wanted.value

    # -- serving ---------------------------------------------------------------------------------

    async def _serve(self) -> None:
        """Never ends for a bus that is away or was wiped."""
        while True:
            try:
                if foreign := await self._foreign():
                    await self._leave()
                    await self._wait_out(foreign)
                    continue
                if self._member is None:
                    await self._join()
                await self._serve_once()
                self._failures = 0
            except BusError as error:
                await self._leave()
                away = isinstance(error, BusUnavailableError)
                why = "bus away" if away else "topics are not what they were"
                forbidden = isinstance(error, BusForbiddenError)
                if forbidden and self._trouble != str(error):
                    self._context.log.error("%s", error)
                await self._wait_out(str(error) if forbidden else f"{why}: {error}")

    async def _foreign(self) -> str:
        """Why we must not take part; a cluster that does not say which it is counts as another."""
        try:
            foreign = await self._owner.foreign() if self._owner else ""
        except ClusterError as error:
            foreign = f"the cluster does not say which it is: {error}"
        if foreign:
            self._ours.clear()
            if foreign != self._trouble:
                self._context.log.warning("%s", foreign)
        else:
            self._ours.set()
        return foreign

    async def _join(self) -> None:
        await self._bring_topic()
        plugin = self._core.announcement.plugin
        self._member = await self._context.bus.member(f"vc-plugin-{plugin}", [self._topic.name])

    async def _bring_topic(self) -> None:
        """A guest brings its topic, before anybody hears of it; ours are born with all the others."""
        if self._core.announcement.plugin not in PLUGINS:
            await self._context.bus.ensure_topics([self._topic])

    async def _serve_once(self) -> None:
        assert self._member is not None
        polled = await self._member.poll(
            max_records=REQUESTS_PER_POLL_MAX, wait_seconds=POLL_SECONDS
        )
        self._trouble = ""
        if not polled.records:
            return
        taken = self._context.clock.wall()
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._answer(record))
                for record in _newest_per_job(polled.records)
            ]
        answers = [answer for task in tasks if (answer := task.result()) is not None]
        try:
            await self._context.bus.publish([answer.message for answer in answers])
        except BusUnavailableError:
            self._tell(answers, taken=taken, edition="unacknowledged")
            raise
        self._tell(answers, taken=taken)
        await self._member.commit({record.log: record.offset + 1 for record in polled.records})

    def _tell(self, answers: list[_Answer], *, taken: float, edition: str = "") -> None:
        """The span of a job's first answer; told before the offset moves, so a crash repeats it.

        An answer whose acknowledgement was lost may be there, and nobody would ask again.
        """
        for answer in answers:
            request = answer.request
            if request is None:
                continue
            self._context.log.info("answered %s", request.verb, extra=_fields(request))
            if request.verb != APPLY:
                continue
            self._reporter.report(
                Span(
                    request.job.metadata.uid,
                    plugin_span(request.plugin),
                    started=taken,
                    ended=self._context.clock.wall(),
                    attributes={"job": request.job.key, "queue": request.job.spec.queue},
                ),
                edition=edition,
            )

    async def _answer(self, record: Record) -> _Answer | None:
        """What goes back for a record; only reads and writes the cluster."""
        try:
            request = decode(record.value or b"", into=PluginRequest, headers=record.headers)
        except Exception as error:  # noqa: BLE001 - of one record, whatever it is
            return _Answer(message=dead_letter(self._context, record, unreadable(error)))
        traceparent = record.headers.get(HEADER_TRACEPARENT, "")
        try:
            reply = await self._reply_or_problem(request)
            if reply is None:
                return None
            return _Answer(message=_sendable(reply, traceparent=traceparent), request=request)
        except Exception as error:  # noqa: BLE001 - of one record, whatever it is
            return _Answer(message=dead_letter(self._context, record, unreadable(error)))

    async def _reply_or_problem(self, request: PluginRequest) -> PluginReply | None:
        """Whatever a core raises, wherever: the same request would raise it for ever."""
        try:
            return await self.reply_to(request)
        except Exception:
            self._context.log.exception("cannot answer for %s", request.job.key)
            return _reply(request, _FAILED_ON_JOB)

    async def reply_to(self, request: PluginRequest) -> PluginReply | None:
        """The answer; None when it cannot be given now."""
        for attempt in range(1, ATTEMPTS_MAX + 1):
            decorated = await self._try(request)
            if decorated is not None:
                return _reply(request, decorated)
            await self._context.clock.sleep(delay_seconds(attempt, self._context.rng))
        return None

    async def _try(self, request: PluginRequest) -> Decorated | None:
        """Look, decide, apply; None when it may go better later."""
        try:
            found = await self._look(request)
            if self._slow and not isinstance(asyncio.get_running_loop(), VirtualLoop):
                decorated = await asyncio.to_thread(self._decide, request, found)
            else:
                decorated = self._decide(request, found)
        except ClusterError as error:
            if error.temporary:
                return None
            return Decorated(problem=f"cannot read the cluster: {error}")
        if decorated.problem:
            return decorated
        outcomes = await self._applier.apply(decorated.effects)
        failed = [o for o in outcomes if o.status in _FAILED]
        if any(o.status in _PASSING for o in failed):
            return None
        return Decorated(problem=_told(failed[0])) if failed else decorated

    def _decide(self, request: PluginRequest, found: Found) -> Decorated:
        try:
            if request.verb == REMOVE:
                return self._core.remove(request, found)
            return self._core.decorate(request, found)
        except Exception:
            self._context.log.exception("cannot answer for %s", request.job.key)
            return _FAILED_ON_JOB

    async def _look(self, request: PluginRequest) -> Found:
        found: dict[Reference, JsonObject] = {}
        for reference in self._core.looks_at(request):
            try:
                found[reference] = await self._context.cluster.get(
                    reference.kind, name=reference.name, namespace=reference.namespace
                )
            except NotFoundError:
                continue
        return found

    async def _wait_out(self, why: str) -> None:
        self._failures += 1
        self._trouble = why
        await self._context.clock.sleep(delay_seconds(self._failures, self._context.rng))

    async def _leave(self) -> None:
        member, self._member = self._member, None
        if member is not None:
            await member.close()


def _fields(request: PluginRequest) -> dict[str, str | int]:
    job = request.job
    return job_fields(job.key, job.metadata.uid, plugin=request.plugin)


def _reply(request: PluginRequest, decorated: Decorated) -> PluginReply:
    return PluginReply(
        verb=request.verb,
        plugin=request.plugin,
        job_key=request.job.key,
        job_uid=request.job.metadata.uid,
        spec_hash=request.spec_hash,
        decoration=decorated.decoration,
        problem=decorated.problem,
        warnings=list(decorated.warnings),
    )


def _sendable(reply: PluginReply, *, traceparent: str) -> Message:
    """The reply as a message, or that it cannot be one; CodecError when not even that fits.

    A core may put anything into its answer: too much, or what no message can carry.
    """
    try:
        check_size(reply)
        return _checked(reply_message(reply, traceparent=traceparent))
    except (TypeError, ValueError) as error:
        problem = f"the plugin's answer cannot be sent: {error}"
        short = msgspec.structs.replace(reply, decoration=None, problem=problem)
        return _checked(reply_message(short))


def _checked(message: Message) -> Message:
    """The bus refuses a whole batch for one message that is too large, so each is looked at before."""
    try:
        checked_bytes(message)
    except OversizeError as error:
        raise MessageTooLargeError(str(error)) from error
    return message


def _newest_per_job(records: list[Record]) -> list[Record]:
    """A job that was asked about twice wants one answer: to the newest question."""
    newest: dict[str, Record] = {}
    for record in records:
        newest[record.key] = record
    return list(newest.values())


def _told(outcome: Outcome) -> str:
    name = getattr(outcome.effect, "name", "")
    kind = getattr(outcome.effect, "kind", None)
    what = f"{kind.kind} {name!r}" if kind is not None else "a write"
    return f"{what}: {outcome.error}"
