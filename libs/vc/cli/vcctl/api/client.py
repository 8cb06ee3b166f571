"""A synchronous client of the API server: one connection per request, bounded in time and bytes.

The Date header of the server is used as the clock, so ages are right even if the local clock is
wrong.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

from vc.cli.tables import printable
from vc.cli.vcctl.api.errors import HTTP_NOT_FOUND, ApiError, NoClusterError
from vc.cli.vcctl.api.resources import JsonObject, Resource
from vc.cli.vcctl.log_flags import RequestLog
from vc.kubeconfig.access import Access
from vc.model.faults import describe

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

REQUEST_SECONDS_MAX: Final = 30.0
WATCH_SECONDS: Final = 300
"""The server ends a watch after this time, and the client starts the next one."""
WATCH_SILENCE_SECONDS_MAX: Final = WATCH_SECONDS + 30.0
"""A stream that is silent for longer is a dead connection."""
RESPONSE_BYTES_MAX: Final = 256 * 1024 * 1024
PAGE_OBJECTS: Final = 500
PAGES_MAX: Final = 1_000
ERROR_TEXT_MAX: Final = 500
_FAILED: Final = 400
PLAIN: Final = "application/json"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
"""Requests a Table, whose cells the server computes. Use it with `includeObject=Object`."""
CELLS: Final = "cells"
WRITES: Final = ("POST", "PUT", "PATCH")
WARNINGS_MAX: Final = 20
CLUSTER: Final = "the cluster"
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


class Client:
    """A client of one API server or another JSON server. `what` is the name used in errors."""

    def __init__(
        self, access: Access, *, what: str = CLUSTER, request_log: RequestLog | None = None
    ) -> None:
        self._access = access
        self._what = what
        self._request_log = request_log
        """Receives one line per request (`-v 1`), without credentials."""
        self.now: float | None = None
        """The server's time in its last response, in seconds since the epoch."""

    # -- verbs -------------------------------------------------------------------------------------

    def get(self, resource: Resource, name: str, *, namespace: str = "") -> JsonObject:
        """Return one object as the API server has it; raises if there is none."""
        return self.call("GET", resource.path(namespace, name))

    def list(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        query: Mapping[str, str] | None = None,
        accept: str = PLAIN,
    ) -> tuple[list[JsonObject], str]:
        """List all objects page by page. Also return the resourceVersion to watch from."""
        items: list[JsonObject] = []
        token = ""
        # Bounded, because a broken server could return continue tokens for ever.
        for _ in range(PAGES_MAX):
            # Pages keep the responses of a large cluster below RESPONSE_BYTES_MAX.
            words = {**(query or {}), "limit": str(PAGE_OBJECTS)}
            if token:
                # The token refers to the version of the first page, so the pages are consistent.
                words["continue"] = token
            page = self.call("GET", resource.path(namespace), query=words, accept=accept)
            items += _items(page, resource)
            token = page.get("metadata", {}).get("continue", "")
            if not token:
                break
        return items, str(page.get("metadata", {}).get("resourceVersion", ""))

    def create(self, resource: Resource, body: JsonObject, *, namespace: str = "") -> JsonObject:
        """Create an object and return it with the defaults of the API server."""
        return self.call("POST", resource.path(namespace), body=body)

    def merge(self, resource: Resource, name: str, body: JsonObject) -> JsonObject:
        """Merge a patch into a cluster-scoped object."""
        form = "application/merge-patch+json"
        return self.call("PATCH", resource.path("", name), body=body, form=form)

    def delete(self, resource: Resource, name: str, *, namespace: str = "") -> None:
        """Delete an object. Its dependents are deleted in the background, as with kubectl."""
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        self.call("DELETE", resource.path(namespace, name), body=body)

    def watch(
        self,
        resource: Resource,
        *,
        namespace: str,
        version: str,
        query: Mapping[str, str],
        accept: str = PLAIN,
    ) -> Iterator[JsonObject]:
        """Yield events until the server ends the stream."""
        words = {
            **query,
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        from http.client import HTTPException

        path = f"{resource.path(namespace)}?{urlencode(words)}"
        # The server ends a watch after WATCH_SECONDS, so a longer silence is a dead connection.
        connection = self._connect(WATCH_SILENCE_SECONDS_MAX)
        try:
            response = self._send(connection, "GET", path, accept=accept)
            # The body of an accepted watch is the stream itself, so it is read only on an error.
            self._refuse(response, response.read(RESPONSE_BYTES_MAX) if _is_bad(response) else b"")
            # One event per line. The bound stops a server that never sends the end of a line.
            while line := response.readline(RESPONSE_BYTES_MAX):
                yield _event(json.loads(line), resource)
        except (OSError, HTTPException, ValueError) as error:
            raise NoClusterError(
                f"the watch of {resource.plural} broke: {describe(error)}"
            ) from None
        finally:
            connection.close()

    # -- transport ---------------------------------------------------------------------------------

    def call(
        self,
        method: str,
        path: str,
        *,
        body: JsonObject | None = None,
        query: Mapping[str, str] | None = None,
        form: str = PLAIN,
        accept: str = PLAIN,
        more: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """Send one request and return its response. ApiError if the server rejects it.

        `more` has additional headers.
        """
        full = f"{path}?{urlencode(query)}" if query else path
        content = self._ask(method, full, body=body, form=form, accept=accept, more=more)
        try:
            answer: Any = json.loads(content)
        except ValueError:
            # Usually a login page or a proxy answers instead of the API server.
            raise ApiError(f"{self._access.server} does not speak JSON", code=0) from None
        if not isinstance(answer, dict):
            raise ApiError(f"{self._access.server} did not answer with an object", code=0)
        return answer

    def text(self, path: str, *, query: Mapping[str, str]) -> str:
        """Get a response that is not JSON, such as the log of a container."""
        return self._ask("GET", f"{path}?{urlencode(query)}", accept="*/*").decode(errors="replace")

    def _ask(
        self,
        method: str,
        path: str,
        *,
        body: JsonObject | None = None,
        form: str = PLAIN,
        accept: str = PLAIN,
        more: Mapping[str, str] | None = None,
    ) -> bytes:
        connection = self._connect(REQUEST_SECONDS_MAX)
        try:
            response = self._send(
                connection, method, path, body=body, form=form, accept=accept, more=more
            )
            content = self._read(response)
        finally:
            connection.close()
        # The connection is closed before errors are raised, so that no path leaks it.
        self._refuse(response, content)
        return content

    def _connect(self, seconds: float) -> "HTTPConnection":
        from http.client import HTTPConnection

        parts = urlsplit(self._access.server)
        host = parts.hostname or ""
        # An unusable address would otherwise fail later with an obscure socket error.
        if not is_address(self._access.server):
            raise NoClusterError(
                f"{self._access.server!r} is not a server; write one like https://host:6443"
            )
        # Modules for proxies and TLS are imported only when needed, to keep the start fast.
        if self._access.proxy_url:
            from vc.cli.vcctl.api.proxy import proxied_connection

            return proxied_connection(parts, access=self._access, seconds=seconds)
        if parts.scheme == "http":
            return HTTPConnection(host, parts.port or 80, timeout=seconds)
        from vc.cli.vcctl.api.tls import https_connection

        return https_connection(host, parts.port or 443, access=self._access, seconds=seconds)

    def _send(
        self,
        connection: "HTTPConnection",
        method: str,
        path: str,
        *,
        body: JsonObject | None = None,
        form: str = PLAIN,
        accept: str = PLAIN,
        more: Mapping[str, str] | None = None,
    ) -> "HTTPResponse":
        # A server URL may have a path, for example behind a gateway; it precedes every API path.
        prefix = urlsplit(self._access.server).path.rstrip("/")
        headers = {"Accept": accept, "User-Agent": "vcctl", **self._identity(), **(more or {})}
        if body is not None:
            headers["Content-Type"] = form
        content = json.dumps(body).encode() if body is not None else None
        from http.client import HTTPException

        try:
            connection.request(method, prefix + path, body=content, headers=headers)
            response = connection.getresponse()
        except (OSError, HTTPException) as error:
            raise self._unreachable(error) from None
        if self._request_log is not None:
            # The URL is built from its parts, because the server address may contain a password.
            parts = urlsplit(self._access.server)
            host = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
            self._request_log(f"{method} {parts.scheme}://{host}{prefix}{path}: {response.status}")
        self._set_clock(response.headers.get("Date", ""))
        # Only the warnings of writes are about an object of the user.
        if method in WRITES:
            print_warnings(response.headers.get_all("Warning") or [])
        return response

    @property
    def token(self) -> str:
        """The token for a service behind this server. Empty if the connection is not encrypted."""
        return self._access.token if self.private else ""

    @property
    def private(self) -> bool:
        """Whether the connection is encrypted or local, so that no third party can read it."""
        parts = urlsplit(self._access.server)
        return parts.scheme == "https" or parts.hostname in LOOPBACK

    def _identity(self) -> dict[str, str]:
        if self._access.token:
            return {"Authorization": f"Bearer {self._access.token}"}
        # A token takes precedence over basic authentication.
        if self._access.basic:
            from base64 import b64encode

            return {"Authorization": f"Basic {b64encode(self._access.basic.encode()).decode()}"}
        return {}

    def _set_clock(self, date: str) -> None:
        from email.utils import parsedate_to_datetime

        try:
            self.now = parsedate_to_datetime(date).timestamp()
        # A gateway may send no Date or an invalid one, which is no reason to fail the command.
        except ValueError:
            self.now = None

    def _read(self, response: "HTTPResponse") -> bytes:
        from http.client import HTTPException

        try:
            # One byte more than allowed, to distinguish a full response from one that is too large.
            content = response.read(RESPONSE_BYTES_MAX + 1)
        except (OSError, HTTPException) as error:
            raise self._unreachable(error) from None
        if len(content) > RESPONSE_BYTES_MAX:
            raise ApiError(f"the answer is larger than {RESPONSE_BYTES_MAX} bytes", code=0)
        return content

    def _unreachable(self, error: Exception) -> NoClusterError:
        # Some errors, such as time-outs, have no text; their type is better than an empty message.
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return NoClusterError(f"cannot reach {self._what} at {self._access.server}: {why}")

    def _refuse(self, response: "HTTPResponse", content: bytes) -> None:
        """Raise the server's error if the response is an error."""
        if not _is_bad(response):
            return
        try:
            answer = json.loads(content)
            message = str(answer.get("message") or answer.get("error") or "")
            reason = str(answer.get("reason") or "")
        except (ValueError, AttributeError):
            message, reason = self._in_other_words(content), ""
        if not message:
            message = f"{self._access.server} answered {response.status} {response.reason}"
        # A missing CRD is the most common cause, and the server's message does not say so.
        elif response.status == HTTP_NOT_FOUND and _is_not_served(message):
            message += "; is Pyroclast (or Volcano) installed on this cluster?"
        # Messages may quote objects of other users, so control characters are replaced.
        shown = "\n".join(printable(line) for line in message.splitlines())
        raise ApiError(shown, code=response.status, reason=reason)

    def _in_other_words(self, content: bytes) -> str:
        """The message of an error response that is not JSON.

        An API server also sends plain text, which is shown. HTML pages and text of other servers
        are dropped: the request has probably reached the wrong server.
        """
        text = content[:ERROR_TEXT_MAX].decode("utf-8", "replace").strip()
        return "" if text.startswith("<") or self._what != CLUSTER else text


def print_warnings(headers: "list[str]") -> None:
    """Print the warnings of the server about a written object, as kubectl does."""
    # Bounded, because a flood of warnings would hide the result of the command.
    for header in headers[:WARNINGS_MAX]:
        _, _, rest = header.partition('"')
        text = rest.rpartition('"')[0].replace('\\"', '"').replace("\\\\", "\\")
        if text:
            print(f"Warning: {printable(text)}", file=sys.stderr)


def is_address(url: str) -> bool:
    """Whether the URL has a scheme, host and port that can be used for HTTP."""
    try:
        parts = urlsplit(url)
        # Reading the port raises ValueError if it is no number or out of range.
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _is_bad(response: "HTTPResponse") -> bool:
    return response.status >= _FAILED


def _is_not_served(message: str) -> bool:
    """Whether a 404 means that the kind is not served. The API server has two messages for it."""
    return "requested resource" in message or message == "404 page not found"


def _items(page: JsonObject, resource: Resource) -> list[JsonObject]:
    """The objects of a list. Those of a Table include their cells.

    Items of a list have no apiVersion and kind; they are added, so that `-o yaml` prints objects
    that can be applied.
    """
    if page.get("kind") == "Table":
        rows = page.get("rows") or []
        return [{**(row.get("object") or {}), CELLS: row.get("cells") or []} for row in rows]
    # The item's own fields win, should the server send them after all.
    typed = {"apiVersion": resource.api_version, "kind": resource.kind}
    return [{**typed, **item} for item in page.get("items") or []]


def _event(event: JsonObject, resource: Resource) -> JsonObject:
    """A watch event whose object is never a Table."""
    obj = event.get("object") or {}
    if obj.get("kind") != "Table":
        return event
    items = _items(obj, resource)
    return {**event, "object": items[0] if items else {}}
