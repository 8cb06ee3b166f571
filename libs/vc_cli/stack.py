"""`pyroclast stack`: every service in a process of its own, on real Kafka and Redis.

The order of a start: servers (together), API server, services (together), then wait until each says
that it is ready. From then on this process only supervises, until SIGINT or SIGTERM. It holds a lock
on the home folder, so that there is one stack per home, and keeps `stack.json` true for `status` and
`stack-down`.
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

from vc_cli import stack_file
from vc_cli.ctl.errors import CtlError
from vc_cli.processes import Child, Pid, birth_of
from vc_cli.services import SERVICES
from vc_cli.stack_accounts import install
from vc_cli.stack_admission import Place, place_of, said_of, withdraw
from vc_cli.stack_clusters import EMBEDDED, KUBERNETES, start_cluster
from vc_cli.stack_down import stop_leftovers
from vc_cli.stack_file import ProcessEntry, StackFile
from vc_cli.stack_members import OwnMember
from vc_cli.stack_plan import Addresses, command_of, environment_of
from vc_cli.stack_progress import Progress, Readiness
from vc_cli.stack_servers import Servers, remove_old
from vc_cli.stack_supervision import Supervisor
from vc_cli.stack_welcome import welcome
from vc_clock import LoopClock
from vc_model.faults import describe
from vc_parts.errors import PartError
from vc_parts.patience import Patience
from vc_parts.ports import LOOPBACK, free_port
from vc_runtime.listening import Wanted, require_free, url_of

LOCK_NAME: Final = "stack.lock"
DASHBOARD_SERVICE: Final = "volcano-system/volcano-dashboard:80"
"""The Service that leads to the dashboard, for `vcctl` through the API server's proxy."""


class StackError(RuntimeError):
    """The stack cannot be started or does not come up; one sentence."""


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
    """Start, supervise, stop; until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    with _one_per_home(options.home):
        await stop_leftovers(options.home, say=print)
        stack = Stack(options)
        try:
            await _unless(stop, stack.start())
            await stop.wait()
        finally:
            await stack.stop()
    return 0


async def _unless(stop: asyncio.Event, starting: Coroutine[None, None, None]) -> None:
    """Run the start to its end, or give it up when we are told to stop."""
    start = asyncio.ensure_future(starting)
    stopped = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({start, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if start.done():
            await start
    finally:
        for task in (start, stopped):
            task.cancel()
        await asyncio.gather(start, stopped, return_exceptions=True)


@contextmanager
def _one_per_home(home: Path) -> Iterator[None]:
    home.mkdir(parents=True, exist_ok=True)
    with (home / LOCK_NAME).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StackError(f"a stack is up in {home}; `pyroclast stack-down` stops it") from None
        yield


def _port(wanted: int, variable: str, *, host: str = LOOPBACK) -> int:
    """The port, or a free one for 0; better refused here than by a process that dies of it."""
    try:
        require_free([Wanted(wanted, variable, host)])
    except OSError as error:
        raise StackError(describe(error)) from None
    return wanted or free_port()


def _admission_place(options: Options) -> Place:
    """A port that only the user's address names is refused here too, before anything is started."""
    place = place_of(options.cluster, os.environ, free_port=free_port)
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
        self._api_port = _port(options.api_port, "PYROCLAST_API_PORT")
        self._dashboard_port = _port(
            options.dashboard_port, "PYROCLAST_DASHBOARD_PORT", host=options.dashboard_host
        )
        self._admission = _admission_place(options)
        self._file = StackFile(
            supervisor=Pid(number=os.getpid(), birth=birth_of(os.getpid())),
            started_at=self._clock.now(),
            cluster=options.cluster,
            dashboard=self._dashboard_url if "dashboard" in options.services else "",
            admission_url=self._admission.registered_url,
        )

    @property
    def _dashboard_url(self) -> str:
        return url_of(self._options.dashboard_host, self._dashboard_port)

    async def start(self) -> None:
        """Servers, API server, services; returns when all are ready."""
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
        """What services stand on, all of it together."""
        await asyncio.to_thread(remove_old, self._options.home)
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
        self._file.jaeger = self._servers.jaeger
        return Addresses(
            kafka=self._servers.kafka,
            redis=self._servers.redis,
            kubeconfig=self._file.kubeconfig,
            accounts=await self._accounts(self._admission.port),
            otlp=self._servers.otlp,
            dashboard_host=self._options.dashboard_host,
            dashboard_port=self._dashboard_port,
            admission_host=self._admission.host,
            admission_port=self._admission.port,
            admission_url=self._admission.url,
            vetted="admission" in self._options.services and not self._admission.url,
        )

    async def _accounts(self, admission_port: int) -> dict[str, str]:
        """On a real API server of our own nobody is an administrator."""
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
        port = free_port()
        child = Child(
            name,
            command_of(name),
            env=environment_of(name, addresses, health_port=port, inherited=os.environ),
            log=self._options.home / "logs" / f"{name}.log",
        )
        await self._supervisor.start(OwnMember(child, role="service", port=port))

    def _remember(self) -> None:
        """Write down what runs now."""
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
        """End every process, then forget the stack."""
        self._progress.say("stopping")
        self._file.state = "stopping"
        self._remember()
        await self._supervisor.stop()
        if self._file.admission_url and self._file.kubeconfig:
            left = await withdraw(Path(self._file.kubeconfig), self._file.admission_url)
            if left:
                self._progress.say(left)
                return  # stack.json stays, so that `stack-down` can try again
        stack_file.remove(self._options.home)
        self._progress.say("stopped; nothing is kept but the logs")
