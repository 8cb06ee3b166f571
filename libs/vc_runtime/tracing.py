"""One trace per job, without a span open across a message.

Ids come from the job's uid (`vc_messages.trace`) and times are given explicitly, so a span that is
emitted twice, or by a restarted service, is the same span. Without `OTEL_EXPORTER_OTLP_ENDPOINT`
nothing is imported and nothing is recorded.
"""

import os
from collections.abc import Mapping
from typing import Any, Protocol

from vc_messages.trace import ROOT_SPAN, span_id, trace_id

ENDPOINT_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
_NANOSECONDS = 1_000_000_000


class Tracer(Protocol):
    """Where spans go."""

    def span(
        self,
        job_uid: str,
        name: str,
        *,
        started: float,
        ended: float,
        parent: str = ROOT_SPAN,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        """A finished step of a job; wall-clock seconds."""
        ...

    def close(self) -> None:
        """Send what is left."""
        ...


class NoTracer:
    """Costs nothing."""

    def span(
        self,
        job_uid: str,
        name: str,
        *,
        started: float,
        ended: float,
        parent: str = ROOT_SPAN,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        """Forget it."""

    def close(self) -> None:
        """Nothing to send."""


class OtlpTracer:
    """Sends spans over OTLP in the background, bounded."""

    def __init__(self, service: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._resource = Resource.create({"service.name": f"vc-{service}"})
        self._processor = BatchSpanProcessor(OTLPSpanExporter())

    def span(
        self,
        job_uid: str,
        name: str,
        *,
        started: float,
        ended: float,
        parent: str = ROOT_SPAN,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        """Hand a finished span to the exporter."""
        parent_id = None if name == ROOT_SPAN else span_id(job_uid, parent)
        self._processor.on_end(
            _readable_span(
                job_uid,
                name,
                parent_id=parent_id,
                times=(started, ended),
                attributes=dict(attributes or {}),
                resource=self._resource,
            )
        )

    def close(self) -> None:
        """Send what is left."""
        self._processor.shutdown()  # type: ignore[no-untyped-call]


def _readable_span(
    job_uid: str,
    name: str,
    *,
    parent_id: str | None,
    times: tuple[float, float],
    attributes: dict[str, str],
    resource: Any,
) -> Any:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import SpanContext, TraceFlags

    def context(span: str) -> SpanContext:
        return SpanContext(
            trace_id=int(trace_id(job_uid), 16),
            span_id=int(span, 16),
            is_remote=False,
            trace_flags=TraceFlags(TraceFlags.SAMPLED),
        )

    return ReadableSpan(
        name=name,
        context=context(span_id(job_uid, name)),
        parent=context(parent_id) if parent_id else None,
        attributes=attributes,
        resource=resource,
        start_time=int(times[0] * _NANOSECONDS),
        end_time=int(times[1] * _NANOSECONDS),
    )


def tracer_from_env(service: str) -> Tracer:
    """OTLP when an endpoint is configured, else nothing."""
    return OtlpTracer(service) if os.environ.get(ENDPOINT_VARIABLE) else NoTracer()
