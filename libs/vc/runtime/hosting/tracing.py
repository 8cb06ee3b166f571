"""One trace per job, without keeping a span open across messages.

Span ids are derived from the job's uid (`vc.messages.trace`) and times are passed explicitly. A
span that is sent twice, or by a restarted service, is therefore the same span. Without
`OTEL_EXPORTER_OTLP_ENDPOINT` nothing is imported and nothing is recorded.

Services use a `SpanReporter`, which sends each span once per process, so that duplicates on the bus and
repeated decisions do not send it again.
"""

import os
import threading
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from vc.messages.trace import ROOT_SPAN, span_id, trace_id

ENDPOINT_VARIABLE: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"

SEND_PERIOD_SECONDS: Final = 0.5
"""How long spans are collected into one request;
spans of this time are lost if a process is killed.
"""

SEND_SECONDS_MAX: Final = 3.0
"""Time-out of one request to the collector, including its retries."""

CLOSE_SECONDS_MAX: Final = 3.0
"""Time limit for sending spans at shutdown, so that an unreachable collector does not delay it."""

REPORTED_MAX: Final = 20_000
"""Number of sent spans that are remembered; an older span would be sent again under the same id."""

_MICROSECONDS: Final = 1_000_000
_THOUSAND: Final = 1_000
"""Milliseconds per second, and nanoseconds per microsecond."""

Attributes: TypeAlias = Mapping[str, str | int]


class SpanRef(NamedTuple):
    """Identifies a span in any trace."""

    uid: str
    """The uid of the job, or the substitute of a session (`session_trace`)."""
    name: str


@dataclass(frozen=True, slots=True)
class Span:
    """A finished step of a job; times are wall-clock seconds."""

    uid: str
    """The uid of the job whose trace contains the span."""
    name: str
    _: KW_ONLY
    started: float
    ended: float
    parent: str = ROOT_SPAN
    """A span that is its own parent is the root of its trace."""
    attributes: Attributes = field(default_factory=dict)
    link: SpanRef | None = None
    """A related span in another trace."""


class Tracer(Protocol):
    """The interface to which finished spans are sent."""

    @property
    def enabled(self) -> bool:
        """Whether spans are sent. If not, a caller need not collect the data of a span."""
        ...

    def send(self, span: Span) -> None:
        """Queue the span for sending; never blocks."""
        ...

    def close(self) -> None:
        """Send queued spans within a bounded time."""
        ...


class NoTracer:
    """The tracer without an endpoint; it discards all spans."""

    enabled = False

    def send(self, span: Span) -> None:
        """Discard the span without sending it."""

    def close(self) -> None:
        """Do nothing: no span is queued."""


class OtlpTracer:
    """Sends spans over OTLP in the background. Its queue is bounded:
    if it is full, spans are dropped.
    """

    enabled = True

    def __init__(self, service: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._resource = Resource.create({"service.name": f"vc-{service}"})
        self._processor = BatchSpanProcessor(
            OTLPSpanExporter(timeout=SEND_SECONDS_MAX),
            schedule_delay_millis=SEND_PERIOD_SECONDS * _THOUSAND,
        )

    def send(self, span: Span) -> None:
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import Link

        self._processor.on_end(
            ReadableSpan(
                name=span.name,
                context=_context(span.uid, span.name),
                parent=_context(span.uid, span.parent) if span.parent != span.name else None,
                attributes=dict(span.attributes),
                links=[Link(_context(*span.link))] if span.link is not None else [],
                resource=self._resource,
                start_time=_nanoseconds(span.started),
                end_time=_nanoseconds(span.ended),
            )
        )

    def close(self) -> None:
        """Send queued spans. The thread bounds the wait: the processor's own shutdown waits far
        longer than a process may.
        """
        # The exporter's shutdown retries an unreachable collector, so it must not block the exit.
        ending = threading.Thread(target=self._processor.shutdown, daemon=True)
        ending.start()
        ending.join(CLOSE_SECONDS_MAX)


def _nanoseconds(seconds: float) -> int:
    """Rounds to microseconds, the precision of a float that holds today's epoch seconds."""
    return round(seconds * _MICROSECONDS) * _THOUSAND


def _context(job_uid: str, name: str) -> Any:
    from opentelemetry.trace import SpanContext, TraceFlags

    return SpanContext(
        trace_id=int(trace_id(job_uid), 16),
        span_id=int(span_id(job_uid, name), 16),
        is_remote=False,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )


class SpanReporter:
    """Sends each span once per process, within the limit of its memory."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._reported: dict[tuple[str, str, str], None] = {}

    @property
    def enabled(self) -> bool:
        return self._tracer.enabled

    def has_reported(self, uid: str, name: str, *, edition: str = "") -> bool:
        return (uid, name, edition) in self._reported

    def report(self, span: Span, *, edition: str = "") -> None:
        """Send the span unless it was sent; a new `edition` is sent again under the same id.

        The start may come from another machine's clock, so it is limited to the end of the span.
        """
        if not self._tracer.enabled or self.has_reported(span.uid, span.name, edition=edition):
            return
        self._reported[span.uid, span.name, edition] = None
        # The oldest span is the least likely to be sent again.
        if len(self._reported) > REPORTED_MAX:
            del self._reported[next(iter(self._reported))]
        # The start may come from another machine's clock, which may be ahead of ours.
        self._tracer.send(replace(span, started=min(span.started, span.ended)))


def tracer_from_env(service: str) -> Tracer:
    """An OTLP tracer if an endpoint is configured, else one that discards spans."""
    return OtlpTracer(service) if os.environ.get(ENDPOINT_VARIABLE) else NoTracer()
