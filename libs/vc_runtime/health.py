"""`/healthz`, `/readyz` and `/metrics` of a process, whatever services it hosts.

Every service has meters of its own, and services in one process have meters of the same names. A
scraper takes a name only once, so `/metrics` puts the samples of one name together.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from aiohttp import web
from prometheus_client import CollectorRegistry, Metric, generate_latest

from vc_runtime.context import Service
from vc_runtime.listening import Wanted, said_once


class HealthServer:
    """One small HTTP server per process."""

    def __init__(
        self,
        services: Callable[[], Mapping[str, Service]],
        registries: Callable[[], Sequence[CollectorRegistry]],
        *,
        host: str,
        port: int,
        variable: str = "HEALTH_PORT",
        problems: Callable[[], Mapping[str, Sequence[str]]] = dict,
        denied: Callable[[], str] = str,
    ) -> None:
        """`variable` chooses the port; it is named when that is taken. `problems` are lines by service.

        `denied` is what the bus may not write for us, whichever service wanted it.
        """
        self._services = services
        self._registries = registries
        self._host = host
        self._port = port
        self._variable = variable
        self._problems = problems
        self._denied = denied
        self._runner: web.AppRunner | None = None

    async def start(self) -> int:
        """Listen; gives the port, which differs from the wanted one when that was 0."""
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/livez", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        with said_once(Wanted(self._port, self._variable, self._host)):
            await web.TCPSite(self._runner, self._host, self._port).start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        """Alive; below it the objects that were left out, since all else goes on without them."""
        lines = [f"{name}: {line}" for name, rows in self._problems().items() for line in rows]
        return web.Response(text="\n".join(["ok", *lines]) + "\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        """Not ready is 503, with the reason of each service that is not."""
        reasons = {
            name: service.unready() or self._denied() for name, service in self._services().items()
        }
        lines = [f"{name}: {why or 'ready'}" for name, why in reasons.items()]
        status = 503 if any(reasons.values()) else 200
        return web.Response(status=status, text="\n".join(lines) + "\n")

    async def _metrics(self, _: web.Request) -> web.Response:
        body = generate_latest(_Together(self._registries()))
        return web.Response(body=body, content_type="text/plain")


class _Together(CollectorRegistry):
    """Several registries as one: families of one name are one family."""

    def __init__(self, registries: Sequence[CollectorRegistry]) -> None:
        super().__init__()
        self._registries = registries

    def collect(self) -> Iterable[Metric]:
        """Collected anew at every scrape."""
        families: dict[str, Metric] = {}
        for registry in self._registries:
            for family in registry.collect():
                known = families.setdefault(family.name, family)
                if known is not family:
                    known.samples.extend(family.samples)
        return families.values()
