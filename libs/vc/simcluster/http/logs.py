"""`kubectl logs`: the log of a simulated container, optionally followed with `-f`.

The simulated kubelet writes logs to memory. Following polls at a fixed interval and sends new
lines. The stream ends when the pod has finished or is deleted.
"""

from typing import Final

from aiohttp import web

from vc.cluster.errors import NotFoundError
from vc.simcluster.http.bodies import query_bool, query_int
from vc.simcluster.http.errors import STREAMING
from vc.simcluster.http.routes import Target
from vc.simcluster.verbs.api import Api

FOLLOW_INTERVAL_SECONDS: Final = 0.2
_ENDED: Final = frozenset({"Succeeded", "Failed"})


async def answer_logs(request: web.Request, api: Api, target: Target) -> web.StreamResponse:
    """The log of one container as text."""
    tail = query_int(request, "tailLines", -1) if "tailLines" in request.query else None
    limit = query_int(request, "limitBytes")
    reader = _LogReader(api, target, request.query.get("container", ""))
    text = reader.read(tail_lines=tail)
    # limitBytes applies to a complete log only; a followed log has no end.
    if not query_bool(request, "follow"):
        return web.Response(text=text[:limit] if limit else text, content_type="text/plain")
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    STREAMING.set(True)
    await response.write(text.encode())
    await _follow(response, reader, api)
    await response.write_eof()
    return response


async def _follow(response: web.StreamResponse, reader: "_LogReader", api: Api) -> None:
    """Send new lines until the pod ends.

    The end is checked before each read, so the last lines are always sent.
    """
    while True:
        has_ended = reader.has_ended()
        new = reader.read_new()
        if new:
            await response.write(new.encode())
        if has_ended:
            return
        await api.clock.sleep(FOLLOW_INTERVAL_SECONDS)


class _LogReader:
    """Remembers which part of a log was sent."""

    def __init__(self, api: Api, target: Target, container: str) -> None:
        self._api = api
        self._target = target
        self._container = container
        self._sent: list[str] = []
        """The lines of the last read."""

    def read(self, *, tail_lines: int | None = None) -> str:
        """Read the whole log or its last lines."""
        self._sent = self._lines()
        # A negative number means the whole log, like `kubectl logs --tail=-1`.
        if tail_lines is None or tail_lines < 0:
            return "".join(self._sent)
        # A slice from -0 would be the whole log, so 0 lines are a case of their own.
        return "".join(self._sent[-tail_lines:]) if tail_lines else ""

    def read_new(self) -> str:
        """The lines that were added since the last read."""
        try:
            lines = self._lines()
        except NotFoundError:
            return ""
        old, self._sent = self._sent, lines
        return "".join(lines_after(old, lines))

    def _lines(self) -> list[str]:
        text = self._api.logs(
            namespace=self._target.namespace, name=self._target.name, container=self._container
        )
        return text.splitlines(keepends=True)

    def has_ended(self) -> bool:
        try:
            pod = self._api.get(
                self._target.resource, name=self._target.name, namespace=self._target.namespace
            )
        except NotFoundError:
            return True
        return pod.get("status", {}).get("phase") in _ENDED


def lines_after(old: list[str], new: list[str]) -> list[str]:
    """The lines of `new` that follow those of `old`.

    The oldest lines of `old` may have been dropped from the bounded buffer.
    """
    # The longest overlap is tried first, so that repeated lines are not sent twice.
    for start in range(len(old)):
        kept = len(old) - start
        if new[:kept] == old[start:]:
            return new[kept:]
    # Without an overlap all remaining lines are newer than those that were sent.
    return new
