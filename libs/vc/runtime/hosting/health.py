"""The endpoints `/healthz`, `/readyz` and `/metrics` of a process, for all services it hosts.

Each service has its own registry, and services of one process have metrics of the same names. The
exposition format allows a metric family only once, so `/metrics` merges the samples by name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from aiohttp import web
from prometheus_client import CollectorRegistry, Metric, generate_latest

from vc.runtime.hosting.context import Service
from vc.runtime.hosting.listening import Wanted, said_once


class HealthServer:
    """The HTTP server for health and metrics, one per process."""

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
        """`variable` configures the port. `problems` returns lines by service.

        `denied` describes what the bus forbids us to publish; it makes every service unready.
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
        """Start listening; returns the port, which is a free one if the wanted port was 0."""
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
        """Always 200 while the process runs. The body also lists left-out objects, which do not
        make a service unhealthy.
        """
        lines = [f"{name}: {line}" for name, rows in self._problems().items() for line in rows]
        return web.Response(text="\n".join(["ok", *lines]) + "\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        """503 if any service is not ready; the body has the reason of each."""
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
    """Presents several registries as one; metric families of the same name are merged."""

    def __init__(self, registries: Sequence[CollectorRegistry]) -> None:
        super().__init__()
        self._registries = registries

    def collect(self) -> Iterable[Metric]:
        """Collects from all registries at every scrape."""
        families: dict[str, Metric] = {}
        for registry in self._registries:
            for family in registry.collect():
                known = families.setdefault(family.name, family)
                if known is not family:
                    # The exposition format forbids two families of one name, so append the samples.
                    known.samples.extend(family.samples)
        return families.values()
