"""A real HTTP server with canned answers, for what an embedded cluster never says."""

import json
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A request as it came."""

    method: str
    path: str
    authorization: str
    body: bytes
    proxied: str = ""
    """The token for a service behind the server."""


Answer = tuple[int, bytes]
Answers = Callable[[Asked], Answer]


def answer(body: Any, *, code: int = 200) -> Answer:
    return code, json.dumps(body).encode()


def refusal(code: int, reason: str, message: str) -> Answer:
    return answer({"kind": "Status", "reason": reason, "message": message}, code=code)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked may be gone by now; what a test thinks of that is its own affair."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(
    answers: Answers, *, tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[Asked]]]:
    """Its address, and what it has been asked."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            request = Asked(
                self.command,
                self.path,
                self.headers.get("Authorization", ""),
                self.rfile.read(length),
                self.headers.get("X-Pyroclast-Authorization", ""),
            )
            asked.append(request)
            code, body = answers(request)
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815 - the names are http.server's

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in http.server
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
