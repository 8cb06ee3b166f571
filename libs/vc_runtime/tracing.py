"""One trace per job, without a span open across a message.

Ids come from the job's uid (`vc_messages.trace`) and times are given explicitly, so a span that is
told twice, or by a restarted service, is the same span. Without `OTEL_EXPORTER_OTLP_ENDPOINT`
nothing is imported and nothing is recorded.

Services speak to a `Teller`: it tells each span once in the life of a process, so that duplicates
on the bus and repeated decisions do not send it again.
"""

import os
import threading
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from vc_messages.trace import ROOT_SPAN, span_id, trace_id

ENDPOINT_VARIABLE: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"

SEND_PERIOD_SECONDS: Final = 0.5
"""How long a span may wait for others to be sent with: as much is lost when a process is killed."""

SEND_SECONDS_MAX: Final = 3.0
"""For one request to the collector with its retries."""

CLOSE_SECONDS_MAX: Final = 3.0
"""At the end of a process; a collector that is away keeps nobody from stopping."""

TOLD_MAX: Final = 20_000
"""Spans remembered as told; an older one would be told again under the same id."""

_MICROSECONDS: Final = 1_000_000
_THOUSAND: Final = 1_000
"""Milliseconds of a second, nanoseconds of a microsecond."""

Attributes: TypeAlias = Mapping[str, str | int]


class SpanRef(NamedTuple):
    """A span of any trace."""

    uid: str
    """The job's, or what stands in its place (`session_trace`)."""
    name: str


@dataclass(frozen=True, slots=True)
class Span:
    """A finished step of a job; times are seconds of a wall clock."""

    uid: str
    """Whose trace it belongs to: the job's."""
    name: str
    _: KW_ONLY
    started: float
    ended: float
    parent: str = ROOT_SPAN
    """A span that is its own parent is the root of its trace."""
    attributes: Attributes = field(default_factory=dict)
    link: SpanRef | None = None
    """Into another trace."""


class Tracer(Protocol):
    """Where spans go."""

    @property
    def enabled(self) -> bool:
        """Whether anybody listens: else nothing need be looked up for a span."""
        ...

    def send(self, span: Span) -> None:
        """Hand it over; never waits."""
        ...

    def close(self) -> None:
        """Send what is left, in a bounded time."""
        ...


class NoTracer:
    """Costs nothing."""

    enabled = False

    def send(self, span: Span) -> None:
        """Forget it."""

    def close(self) -> None:
        """Nothing to send."""


class OtlpTracer:
    """Sends spans over OTLP in the background, bounded; a full queue drops spans, never work."""

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
        """Send what is left. The processor's own way to end waits far longer than a process may."""
        ending = threading.Thread(target=self._processor.shutdown, daemon=True)
        ending.start()
        ending.join(CLOSE_SECONDS_MAX)


def _nanoseconds(seconds: float) -> int:
    """To the microsecond: a float of today's seconds knows no more."""
    return round(seconds * _MICROSECONDS) * _THOUSAND


def _context(job_uid: str, name: str) -> Any:
    from opentelemetry.trace import SpanContext, TraceFlags

    return SpanContext(
        trace_id=int(trace_id(job_uid), 16),
        span_id=int(span_id(job_uid, name), 16),
        is_remote=False,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )


class Teller:
    """Tells each span once in the life of a process, as far as its bounded memory goes."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._told: dict[tuple[str, str, str], None] = {}

    @property
    def enabled(self) -> bool:
        return self._tracer.enabled

    def has_told(self, uid: str, name: str, *, edition: str = "") -> bool:
        return (uid, name, edition) in self._told

    def tell(self, span: Span, *, edition: str = "") -> None:
        """Unless it was told; another `edition` of a span is told again, under the same id.

        Starts may come from another machine's clock: a span never ends before it begins.
        """
        if not self._tracer.enabled or self.has_told(span.uid, span.name, edition=edition):
            return
        self._told[span.uid, span.name, edition] = None
        if len(self._told) > TOLD_MAX:
            del self._told[next(iter(self._told))]
        self._tracer.send(replace(span, started=min(span.started, span.ended)))


def tracer_from_env(service: str) -> Tracer:
    """OTLP when an endpoint is configured, else nothing."""
    return OtlpTracer(service) if os.environ.get(ENDPOINT_VARIABLE) else NoTracer()
