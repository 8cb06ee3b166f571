"""A process: environment → adapters → services → run until told to stop.

`vc-<service>` runs one service this way, `pyroclast run a b c` several. SIGTERM and SIGINT stop
cleanly in a bounded time; a second signal does not wait. Faults of the surroundings (no API server,
a bus that refuses us) end the process with one clear line.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping

from vc_bus import BusError
from vc_clock import LoopClock
from vc_cluster import ClusterError
from vc_model.compat import compat_warning, read_compat
from vc_model.faults import describe
from vc_runtime import logs
from vc_runtime.adapters import Adapters, NoClusterError, connect
from vc_runtime.health import HealthServer
from vc_runtime.host import Build, Host
from vc_runtime.listening import PortTakenError
from vc_runtime.program.shared_variables import HEALTH_HOST, HEALTH_PORT

_log = logging.getLogger("pyroclast.main")


def run_service(name: str, build: Build) -> None:
    """Run one service until a signal comes."""
    run_services({name: build})


def run_services(builds: Mapping[str, Build]) -> None:
    """Run services in this process until a signal comes; the exit code is the process's."""
    try:
        logs.set_up_from(os.environ)
        check_compat(os.environ)
        asyncio.run(_main(builds))
    except (NoClusterError, BusError, ClusterError, PortTakenError, ValueError) as error:
        _log.critical("%s cannot start: %s", ", ".join(builds), describe(error))
        sys.exit(1)


def check_compat(environment: Mapping[str, str]) -> None:
    """ValueError for a setting that no service could use, whether this one asks for it or not; one line
    of warning for a deprecated one."""
    read_compat(environment)
    if warning := compat_warning(environment):
        _log.warning("%s", warning)


async def _main(builds: Mapping[str, Build]) -> None:
    agent = next(iter(builds)) if len(builds) == 1 else "host"
    adapters = await connect(os.environ, LoopClock(), user_agent=agent)
    try:
        await host_until_signal(adapters, builds)
    finally:
        await adapters.close()


async def host_until_signal(adapters: Adapters, builds: Mapping[str, Build]) -> None:
    """Host services with their health server until SIGTERM or SIGINT."""
    host = Host({name: (adapters.context(name), build) for name, build in builds.items()})
    health = HealthServer(
        host.services,
        host.registries,
        host=HEALTH_HOST.read(os.environ),
        port=HEALTH_PORT.read(os.environ),
        problems=host.problems,
        denied=host.denied,
    )
    port = await health.start()
    _log.info("%s: health and metrics on port %d", ", ".join(builds), port)
    try:
        await _until_signal(asyncio.create_task(host.run()))
    finally:
        await health.stop()


async def _until_signal(running: asyncio.Task[None]) -> None:
    """Cancel the task at the first signal and wait for it; leave at once at the second."""
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
        os._exit(1)
    running.cancel()
