"""`pyroclast stack`: every service in its own process, on real Kafka and Redis.

Servers and the API server start first, concurrently. Then the services start, and the stack waits
until all are ready. After that this process only supervises, until SIGINT or SIGTERM. A lock on the
home folder allows one stack per home. `stack.json` is kept current for `status` and `stack-down`.
"""

import asyncio
import fcntl
import os
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vc.cli.pyroclast.processes import Child, Pid, start_id_of
from vc.cli.pyroclast.services import SERVICES
from vc.cli.pyroclast.stack import stack_file
from vc.cli.pyroclast.stack.accounts import install
from vc.cli.pyroclast.stack.admission import Place, place_of, said_of, withdraw
from vc.cli.pyroclast.stack.clusters import EMBEDDED, KUBERNETES, start_cluster
from vc.cli.pyroclast.stack.down import stop_leftovers
from vc.cli.pyroclast.stack.members import OwnMember
from vc.cli.pyroclast.stack.plan import Addresses, command_of, environment_of
from vc.cli.pyroclast.stack.progress import Progress, Readiness
from vc.cli.pyroclast.stack.servers import Servers, remove_old
from vc.cli.pyroclast.stack.stack_file import ProcessEntry, StackFile
from vc.cli.pyroclast.stack.supervision import Supervisor
from vc.cli.pyroclast.stack.welcome import welcome
from vc.cli.vcctl.api.errors import CtlError
from vc.clock import LoopClock
from vc.model.faults import describe
from vc.model.start_limits import Patience
from vc.parts.errors import PartError
from vc.parts.ports import LOOPBACK, free_port
from vc.runtime.hosting.listening import Wanted, require_free, url_of

LOCK_NAME: Final = "stack.lock"
DASHBOARD_SERVICE: Final = "volcano-system/volcano-dashboard:80"
"""The Service of the dashboard, for `vcctl` through the API server's proxy."""


class StackError(RuntimeError):
    """The stack cannot be started or does not become ready. The message is one sentence."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to start, and where."""

    home: Path
    cluster: str = EMBEDDED
    services: tuple[str, ...] = tuple(SERVICES)
    api_port: int = 0
    dashboard_host: str = LOOPBACK
    dashboard_port: int = 0
    nodes: Path | None = None


async def run_stack(options: Options) -> int:
    """Start, supervise and stop the stack. Runs until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        # A handler cannot await, so it only sets the event; this coroutine does the rest.
        loop.add_signal_handler(number, stop.set)
    with _one_per_home(options.home):
        # A supervisor that was killed leaves processes behind, which would hold the ports.
        await stop_leftovers(options.home, say=print)
        stack = Stack(options)
        try:
            await _unless(stop, stack.start())
            await stop.wait()
        finally:
            await stack.stop()
    return 0


async def _unless(stop: asyncio.Event, starting: Coroutine[None, None, None]) -> None:
    """Run the start to its end, or cancel it when a signal arrives."""
    start = asyncio.ensure_future(starting)
    stopped = asyncio.ensure_future(stop.wait())
    try:
        # A signal during the start must not wait until all services are ready.
        await asyncio.wait({start, stopped}, return_when=asyncio.FIRST_COMPLETED)
        # Awaited, so that an error of the start is raised here and not lost with the task.
        if start.done():
            await start
    finally:
        for task in (start, stopped):
            task.cancel()
        await asyncio.gather(start, stopped, return_exceptions=True)


@contextmanager
def _one_per_home(home: Path) -> Iterator[None]:
    home.mkdir(parents=True, exist_ok=True)
    # The file is never removed: a second process could then lock a new file of the same name.
    with (home / LOCK_NAME).open("w") as lock:
        try:
            # The kernel releases the lock when this process ends, however it ends.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StackError(f"a stack is up in {home}; `pyroclast stack-down` stops it") from None
        yield


def _port(wanted: int, variable: str, *, host: str = LOOPBACK) -> int:
    """The port, or a free one for 0.

    A port in use is reported here, before a process fails on it.
    """
    try:
        require_free([Wanted(wanted, variable, host)])
    except OSError as error:
        raise StackError(describe(error)) from None
    return wanted or free_port()


def _admission_place(options: Options) -> Place:
    """The address of admission. A port in use is reported before anything is started."""
    place = place_of(options.cluster, os.environ, free_port=free_port)
    # The user's cluster connects to this port, so it cannot be replaced by a free one.
    if place.registered_url and "admission" in options.services:
        _port(place.port, "ADMISSION_PORT", host=place.host)
        return place
    return place if "admission" in options.services else Place(port=place.port)


class Stack:
    """One stack, from its first process to its last."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._clock = LoopClock()
        self._progress = Progress(self._clock)
        self._supervisor = Supervisor(
            clock=self._clock, say=self._progress.say, changed=self._remember
        )
        self._readiness = Readiness(
            self._supervisor,
            self._progress,
            self._clock,
            patience=Patience.from_env(os.environ),
        )
        self._servers = Servers(options.home, self._supervisor, starting=self._readiness.starting)
        # Ports are fixed before anything starts, because other processes get them in their
        # environment.
        self._api_port = _port(options.api_port, "PYROCLAST_API_PORT")
        self._dashboard_port = _port(
            options.dashboard_port, "PYROCLAST_DASHBOARD_PORT", host=options.dashboard_host
        )
        self._admission = _admission_place(options)
        self._file = StackFile(
            supervisor=Pid(number=os.getpid(), start_id=start_id_of(os.getpid())),
            started_at=self._clock.now(),
            cluster=options.cluster,
            dashboard=self._dashboard_url if "dashboard" in options.services else "",
            admission_url=self._admission.registered_url,
        )

    @property
    def _dashboard_url(self) -> str:
        return url_of(self._options.dashboard_host, self._dashboard_port)

    async def start(self) -> None:
        """Start servers, API server and services. Returns when all are ready."""
        self._progress.say(f"starting in {self._options.home}")
        if "admission" in self._options.services and (line := said_of(self._admission)):
            self._progress.say(line)
        await self._start_ground()
        await self._ready()
        addresses = await self._addresses()
        for name in self._options.services:
            await self._start_service(name, addresses)
        await self._ready()
        self._file.state = "ready"
        self._remember()
        print(welcome(self._file, self._options.home), flush=True)

    async def _start_ground(self) -> None:
        """Start the servers and the API server concurrently."""
        # In a thread, because a large data folder would block the event loop.
        await asyncio.to_thread(remove_old, self._options.home)
        # Servers may take minutes to start; the user should see what the stack is waiting for.
        narrating = asyncio.create_task(self._readiness.narrate())
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._servers.start())
                group.create_task(self._start_cluster())
        except* (PartError, OSError, ValueError) as failed:
            raise StackError(describe(failed)) from failed
        finally:
            narrating.cancel()
            await asyncio.gather(narrating, return_exceptions=True)
        if self._servers.without:
            self._progress.say(self._servers.without)

    async def _ready(self) -> None:
        waiting = await self._readiness.wait()
        if waiting:
            raise StackError(f"not ready, {waiting}")

    async def _start_cluster(self) -> None:
        arguments = ["--service", f"{DASHBOARD_SERVICE}={self._dashboard_url}"]
        if self._options.nodes:
            arguments += ["--nodes", str(self._options.nodes)]
        kubeconfig = await start_cluster(
            self._options.cluster,
            home=self._options.home,
            supervisor=self._supervisor,
            api_port=self._api_port,
            arguments=arguments,
        )
        self._file.kubeconfig = str(kubeconfig)

    async def _addresses(self) -> Addresses:
        self._file.kafka = self._servers.kafka
        self._file.redis = self._servers.redis
        self._file.kafka_login = dict(self._servers.kafka_login)
        self._file.jaeger = self._servers.jaeger
        return Addresses(
            kafka=self._servers.kafka,
            redis=self._servers.redis,
            kubeconfig=self._file.kubeconfig,
            accounts=await self._accounts(self._admission.port),
            logins=self._servers.logins,
            otlp=self._servers.otlp,
            dashboard_host=self._options.dashboard_host,
            dashboard_port=self._dashboard_port,
            admission_host=self._admission.host,
            admission_port=self._admission.port,
            admission_url=self._admission.url,
            # With a given URL the webhooks may be unreachable, so admission cannot be relied on.
            vetted="admission" in self._options.services and not self._admission.url,
        )

    async def _accounts(self, admission_port: int) -> dict[str, str]:
        """Create accounts on a real API server that we started, so that no service is an
        administrator.
        """
        # A given cluster belongs to the user, and the embedded one has no authentication.
        if self._options.cluster != KUBERNETES:
            return {}
        try:
            return await asyncio.to_thread(
                install,
                Path(self._file.kubeconfig),
                self._options.services,
                folder=self._options.home / "accounts",
                admission_port=admission_port,
            )
        except CtlError as error:
            raise StackError(
                f"services could not be given their accounts: {describe(error)}"
            ) from error

    async def _start_service(self, name: str, addresses: Addresses) -> None:
        # Each service has its own health port, because all run on one machine.
        port = free_port()
        child = Child(
            name,
            command_of(name),
            env=environment_of(name, addresses, health_port=port, inherited=os.environ),
            log=self._options.home / "logs" / f"{name}.log",
        )
        await self._supervisor.start(OwnMember(child, role="service", port=port))

    def _remember(self) -> None:
        """Write the current processes to `stack.json`."""
        supervisor = self._supervisor
        self._file.processes = [
            ProcessEntry(
                name=member.name,
                role=member.role,
                pid=member.pid,
                started_at=supervisor.started_at[member.name],
                log=str(member.log),
                health_url=member.health_url,
                port=member.port,
                restarts=supervisor.restarts[member.name],
            )
            for member in supervisor.members
        ]
        stack_file.write(self._options.home, self._file)

    async def stop(self) -> None:
        """Stop every process, then remove `stack.json`."""
        self._progress.say("stopping")
        # `status` and a second `stack-down` should see that the stack is being stopped.
        self._file.state = "stopping"
        self._remember()
        await self._supervisor.stop()
        if self._file.admission_url and self._file.kubeconfig:
            left = await withdraw(Path(self._file.kubeconfig), self._file.admission_url)
            if left:
                self._progress.say(left)
                return  # stack.json is kept, so that `stack-down` can try again
        stack_file.remove(self._options.home)
        self._progress.say("stopped; nothing is kept but the logs")
