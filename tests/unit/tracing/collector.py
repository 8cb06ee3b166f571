"""A collector of spans on loopback, as far as OTLP over HTTP needs one."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector(ThreadingHTTPServer):
    """Keeps what it is sent; one that `holds` takes requests and never answers them."""

    daemon_threads = True

    def __init__(self, *, holds: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.released = threading.Event()
        if not holds:
            self.released.set()
        self.requests: list[ExportTraceServiceRequest] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def services(self) -> list[str]:
        """The service of each request."""
        return [
            attribute.value.string_value
            for request in self.requests
            for group in request.resource_spans
            for attribute in group.resource.attributes
            if attribute.key == "service.name"
        ]

    def spans(self) -> list[Span]:
        return [
            span
            for request in self.requests
            for group in request.resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append(ExportTraceServiceRequest.FromString(body))
        self.server.released.wait()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def collector(*, holds: bool = False) -> Iterator[Collector]:
    """A collector for as long as it is needed."""
    with Collector(holds=holds) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            serving.join()
