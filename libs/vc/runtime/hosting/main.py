"""A service process: read the environment, connect adapters, run services until a signal.

`vc-<service>` runs one service this way, `pyroclast run a b c` runs several. SIGTERM and SIGINT
stop the process cleanly within a bounded time; a second signal ends it at once. Faults of the
environment (no API server, a bus that rejects us) end the process with one log line.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping

from vc.bus import BusError
from vc.clock import LoopClock
from vc.cluster import ClusterError
from vc.model.compat import compat_warning, read_compat
from vc.model.faults import describe
from vc.runtime.hosting import logs
from vc.runtime.hosting.adapters import Adapters, NoApiServerError, connect
from vc.runtime.hosting.health import HealthServer
from vc.runtime.hosting.host import Build, Host
from vc.runtime.hosting.listening import PortTakenError
from vc.runtime.hosting.variables import HEALTH_HOST, HEALTH_PORT

_log = logging.getLogger("pyroclast.main")


def run_service(name: str, build: Build) -> None:
    """Run one service until a signal arrives."""
    run_services({name: build})


def run_services(builds: Mapping[str, Build]) -> None:
    """Run services in this process until a signal arrives;
    exits with code 1 if they cannot start.
    """
    try:
        logs.set_up_from(os.environ)
        check_compat(os.environ)
        asyncio.run(_main(builds))
    except (NoApiServerError, BusError, ClusterError, PortTakenError, ValueError) as error:
        # These faults are caused by the configuration; a traceback would not help the operator.
        _log.critical("cannot start services=%s error=%s", ", ".join(builds), describe(error))
        sys.exit(1)


def check_compat(environment: Mapping[str, str]) -> None:
    """Raises ValueError for an invalid compatibility setting, even if no service of this process
    reads it, and logs a warning for a deprecated one.
    """
    read_compat(environment)
    if warning := compat_warning(environment):
        _log.warning("%s", warning)


async def _main(builds: Mapping[str, Build]) -> None:
    # The API server's audit log should show which service sends a request.
    agent = next(iter(builds)) if len(builds) == 1 else "host"
    adapters = await connect(os.environ, LoopClock(), user_agent=agent)
    try:
        await host_until_signal(adapters, builds)
    finally:
        await adapters.close()


async def host_until_signal(adapters: Adapters, builds: Mapping[str, Build]) -> None:
    """Host services and their health server until SIGTERM or SIGINT."""
    host = Host({name: (adapters.context(name), build) for name, build in builds.items()})
    health = HealthServer(
        host.services,
        host.registries,
        host=HEALTH_HOST.read(os.environ),
        port=HEALTH_PORT.read(os.environ),
        problems=host.problems,
        denied=host.denied,
    )
    # Health is served before the services run, so that probes see a starting process.
    port = await health.start()
    _log.info("serving health and metrics services=%s port=%d", ", ".join(builds), port)
    try:
        await _until_signal(asyncio.create_task(host.run()))
    finally:
        await health.stop()


async def _until_signal(running: asyncio.Task[None]) -> None:
    """Cancel the task at the first signal and wait for it; exit immediately at the second."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _stop, running)
    try:
        await running
    except asyncio.CancelledError:
        _log.info("stopped")
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _stop(running: asyncio.Task[None]) -> None:
    if running.cancelling():
        # A second signal means that the operator does not want to wait for the cleanup.
        os._exit(1)
    running.cancel()
