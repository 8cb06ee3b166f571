"""The shell of every plugin service: receive a request, read objects, decide, apply, reply, commit.

Members of the consumer group `vc-plugin-<name>` share the requests. An offset is committed after the
reply was published, so a crash repeats a request and never loses one. Effects are idempotent by
deterministic names. The plugin announces itself at its start and again after the topics were wiped.

No request blocks the requests after it:

- A request that cannot be decoded becomes a dead letter.
- If the API server refuses the effects, or the plugin itself fails, the reply carries that problem.
- A temporary failure (an unavailable server, an older object that is terminating) is retried with
  backoff and then left without a reply; the job-controller repeats its request.

A group member whose replies were not published is closed. It has already read further, and its next
commit would skip requests that had no effect.
"""

import asyncio
from typing import Final

import msgspec

from vc.bus import BusError, BusForbiddenError, BusUnavailableError, GroupMember, OversizeError
from vc.bus.limits import checked_bytes
from vc.clock import VirtualLoop
from vc.cluster import ClusterError, NotFoundError
from vc.jobplugin.answers import Core, Decorated, Found, ObjectReference
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
"""Attempts at one request. Afterwards it stays without a reply until it is repeated."""

_TEMPORARY: Final = frozenset({OutcomeStatus.STALE, OutcomeStatus.UNAVAILABLE})
_FAILED: Final = _TEMPORARY | {OutcomeStatus.FOREIGN, OutcomeStatus.REFUSED}

_FAILED_ON_JOB: Final = Decorated(problem="the plugin failed on this job; its log says why")

ANNOUNCE_PERIOD_SECONDS: Final = 10.0
"""How often the registry is checked for our announcement, which a wipe of the topics removes."""


class _Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """The message that results from a record, and the request it replies to.

    A dead letter replies to none.
    """

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
        """`slow`: decisions block for long and run in a thread, outside the event loop.

        `acts`: the plugin writes to the cluster, so the topics must belong to this cluster.
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
        """Set while the topics are known to belong to our cluster."""
        self._member: GroupMember | None = None
        self._failures = 0
        self._not_ready = "not started"

    def unready(self) -> str:
        return self._not_ready

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_announced())
                group.create_task(self._serve())
        finally:
            await self._leave()

    # -- announcement ----------------------------------------------------------------------------

    async def _keep_announced(self) -> None:
        """Publish our announcement on the registry, and again after a wipe."""
        while True:
            await self._ours.wait()
            try:
                if not await self._is_announced():
                    # The topic first: requests follow as soon as the announcement is read.
                    await self._create_own_topic()
                    message = announcement_message(self._core.announcement)
                    await self._context.bus.publish([message])
                    continue
            except BusError as error:
                self._context.log.info("announcement not published error=%s", error)
            await self._context.clock.sleep(ANNOUNCE_PERIOD_SECONDS)

    async def _is_announced(self) -> bool:
        """Whether the newest record of our key on the registry is our announcement."""
        wanted = announcement_message(self._core.announcement)
        bus = self._context.bus
        position = (await bus.start_offsets(PLUGIN_REGISTRY.name))[0]
        end = (await bus.end_offsets(PLUGIN_REGISTRY.name))[0]
        reader = await bus.reader({TopicPartition(PLUGIN_REGISTRY.name, 0): position})
        newest: Record | None = None
        # The registry is compacted and small, so it is read to its end each time.
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
        """Answer requests for ever. An unavailable or wiped bus is retried with backoff."""
        while True:
            try:
                # Requests of another cluster would create objects for jobs that do not exist here.
                if foreign := await self._foreign():
                    await self._leave()
                    await self._back_off(foreign)
                    continue
                if self._member is None:
                    await self._join()
                await self._serve_once()
                self._failures = 0
            except BusError as error:
                await self._leave()
                away = isinstance(error, BusUnavailableError)
                why = "bus unavailable" if away else "topics were wiped or changed"
                forbidden = isinstance(error, BusForbiddenError)
                # Missing rights do not heal by themselves, so they are logged, once per cause.
                if forbidden and self._not_ready != str(error):
                    self._context.log.error("%s", error)
                await self._back_off(str(error) if forbidden else f"{why}: {error}")

    async def _foreign(self) -> str:
        """Why we must not read these topics, or empty. An unknown cluster counts as another one."""
        try:
            foreign = await self._owner.foreign() if self._owner else ""
        except ClusterError as error:
            foreign = f"the uid of the cluster is unknown: {error}"
        if foreign:
            self._ours.clear()
            if foreign != self._not_ready:
                self._context.log.warning("%s", foreign)
        else:
            self._ours.set()
        return foreign

    async def _join(self) -> None:
        await self._create_own_topic()
        plugin = self._core.announcement.plugin
        self._member = await self._context.bus.member(f"vc-plugin-{plugin}", [self._topic.name])

    async def _create_own_topic(self) -> None:
        """Create the request topic of a third-party plugin. The watcher creates those of ours."""
        if self._core.announcement.plugin not in PLUGINS:
            await self._context.bus.ensure_topics([self._topic])

    async def _serve_once(self) -> None:
        assert self._member is not None
        polled = await self._member.poll(
            max_records=REQUESTS_PER_POLL_MAX, wait_seconds=POLL_SECONDS
        )
        self._not_ready = ""
        if not polled.records:
            return
        taken = self._context.clock.wall()
        # Requests of different jobs are independent and mostly wait for the API server.
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._answer(record))
                for record in _newest_per_job(polled.records)
            ]
        outgoing = [each for task in tasks if (each := task.result()) is not None]
        try:
            await self._context.bus.publish([each.message for each in outgoing])
        except BusUnavailableError:
            # The messages may have arrived without an acknowledgement, and then no request is
            # repeated, so the spans are exported now.
            self._export_spans(outgoing, taken=taken, edition="unacknowledged")
            raise
        # Before the commit: a crash in between repeats the request and the span, under one id.
        self._export_spans(outgoing, taken=taken)
        await self._member.commit({record.log: record.offset + 1 for record in polled.records})

    def _export_spans(self, outgoing: list[_Outgoing], *, taken: float, edition: str = "") -> None:
        """Log each reply, and export the span of an `apply` request."""
        for each in outgoing:
            request = each.request
            if request is None:
                continue
            self._context.log.info("request answered verb=%s", request.verb, extra=_fields(request))
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

    async def _answer(self, record: Record) -> _Outgoing | None:
        """The message for a record, or None if no reply can be given now."""
        try:
            request = decode(record.value or b"", into=PluginRequest, headers=record.headers)
        except Exception as error:  # noqa: BLE001 - of one record, whatever it is
            return _Outgoing(message=dead_letter(self._context, record, unreadable(error)))
        traceparent = record.headers.get(HEADER_TRACEPARENT, "")
        try:
            reply = await self._reply_or_problem(request)
            if reply is None:
                return None
            return _Outgoing(message=_sendable(reply, traceparent=traceparent), request=request)
        except Exception as error:  # noqa: BLE001 - of one record, whatever it is
            return _Outgoing(message=dead_letter(self._context, record, unreadable(error)))

    async def _reply_or_problem(self, request: PluginRequest) -> PluginReply | None:
        """Turn any error of a core into a reply: the same request would raise it for ever."""
        try:
            return await self.reply_to(request)
        except Exception:
            self._context.log.exception("request failed job=%s", request.job.key)
            return _reply(request, _FAILED_ON_JOB)

    async def reply_to(self, request: PluginRequest) -> PluginReply | None:
        """The reply, or None after the last attempt failed temporarily."""
        for attempt in range(1, ATTEMPTS_MAX + 1):
            decorated = await self._try(request)
            if decorated is not None:
                return _reply(request, decorated)
            await self._context.clock.sleep(delay_seconds(attempt, self._context.rng))
        return None

    async def _try(self, request: PluginRequest) -> Decorated | None:
        """Read objects, decide, apply. None if the failure is temporary."""
        try:
            found = await self._read(request)
            # Virtual time has no threads: a simulation must stay deterministic.
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
        # A retry repeats all effects, which are idempotent, so one temporary failure is enough.
        if any(o.status in _TEMPORARY for o in failed):
            return None
        return Decorated(problem=_problem_of(failed[0])) if failed else decorated

    def _decide(self, request: PluginRequest, found: Found) -> Decorated:
        try:
            if request.verb == REMOVE:
                return self._core.remove(request, found)
            return self._core.decorate(request, found)
        except Exception:
            self._context.log.exception("request failed job=%s", request.job.key)
            return _FAILED_ON_JOB

    async def _read(self, request: PluginRequest) -> Found:
        found: dict[ObjectReference, JsonObject] = {}
        for reference in self._core.looks_at(request):
            try:
                found[reference] = await self._context.cluster.get(
                    reference.kind, name=reference.name, namespace=reference.namespace
                )
            except NotFoundError:
                continue
        return found

    async def _back_off(self, why: str) -> None:
        self._failures += 1
        self._not_ready = why
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
    """The reply as a message. If it cannot be encoded or is too large, the reply says so.

    A core may put anything into its decoration. CodecError if not even the short reply fits.
    """
    try:
        # Before encoding, which would build a decoration of any size in memory first.
        check_size(reply)
        return _checked(reply_message(reply, traceparent=traceparent))
    except (TypeError, ValueError) as error:
        problem = f"the plugin's answer cannot be sent: {error}"
        short = msgspec.structs.replace(reply, decoration=None, problem=problem)
        return _checked(reply_message(short))


def _checked(message: Message) -> Message:
    """Check the size of one message, because the bus refuses a whole batch for one that is too large."""
    try:
        checked_bytes(message)
    except OversizeError as error:
        raise MessageTooLargeError(str(error)) from error
    return message


def _newest_per_job(records: list[Record]) -> list[Record]:
    """The newest record of each job. A reply to an older request would be dropped anyway."""
    newest: dict[str, Record] = {}
    for record in records:
        newest[record.key] = record
    return list(newest.values())


def _problem_of(outcome: Outcome) -> str:
    name = getattr(outcome.effect, "name", "")
    kind = getattr(outcome.effect, "kind", None)
    what = f"{kind.kind} {name!r}" if kind is not None else "a write"
    return f"{what}: {outcome.error}"
