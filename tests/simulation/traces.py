"""The twin of the OTLP tracer: spans are kept as they are told, by services that may die."""

from dataclasses import dataclass, field

from tests.simulation.mortal import Life
from vc.messages.trace import span_id, trace_id
from vc.runtime.hosting.tracing import Attributes, SpanRef
from vc.runtime.hosting.tracing import Span as Told


@dataclass(frozen=True, kw_only=True)
class Span:
    """As a collector would get it."""

    service: str
    trace: str
    id: str
    name: str
    parent: str
    """Its id; empty for a root."""
    started: float
    ended: float
    attributes: Attributes
    link: SpanRef | None


@dataclass
class Traces:
    """All spans of a run, in the order in which they were told."""

    spans: list[Span] = field(default_factory=list)

    def tracer(self, service: str, life: Life) -> "RecordingTracer":
        """The tracer of one life of a service."""
        return RecordingTracer(self.spans, service, life)

    def of(self, job_uid: str) -> list[Span]:
        """The spans of a job's trace."""
        return [span for span in self.spans if span.trace == trace_id(job_uid)]

    def identities(self, job_uid: str) -> set[tuple[str, str, str, str]]:
        """What a collector tells spans apart by, and whose they are."""
        return {(span.trace, span.id, span.name, span.service) for span in self.of(job_uid)}


class RecordingTracer:
    """Keeps spans; a dead process sends none."""

    enabled = True

    def __init__(self, spans: list[Span], service: str, life: Life) -> None:
        self._spans = spans
        self._service = service
        self._life = life

    def send(self, span: Told) -> None:
        self._life.check()
        self._spans.append(
            Span(
                service=self._service,
                trace=trace_id(span.uid),
                id=span_id(span.uid, span.name),
                name=span.name,
                parent=span_id(span.uid, span.parent) if span.parent != span.name else "",
                started=span.started,
                ended=span.ended,
                attributes=span.attributes,
                link=span.link,
            )
        )

    def close(self) -> None:
        """Everything is kept already."""
