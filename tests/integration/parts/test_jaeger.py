"""A real Jaeger: a span that goes in by OTLP comes out of the query API."""

import asyncio

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tests.integration.parts.require import eventually, require
from vc.parts import jaeger_address
from vc.parts.probe import http_get

pytestmark = [pytest.mark.jaeger, pytest.mark.slow]


def send_span(otlp_endpoint: str, name: str) -> str:
    """Sends one span and returns the id of its trace."""
    provider = TracerProvider()
    exporter = OTLPSpanExporter(endpoint=f"{otlp_endpoint}/v1/traces")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer(__name__).start_as_current_span(name) as span:
        trace_id = format(span.get_span_context().trace_id, "032x")
    provider.shutdown()
    return trace_id


async def test_a_span_can_be_read_back_by_its_trace() -> None:
    require("jaeger")
    async with jaeger_address() as jaeger:
        trace_id = await asyncio.to_thread(send_span, jaeger.otlp_endpoint, "bind")

        async def found() -> bool:
            answer = await http_get(f"{jaeger.query_url}/api/traces/{trace_id}")
            return answer.status == 200 and b'"operationName":"bind"' in answer.body

        await eventually(found, "the trace is in Jaeger")
