"""The shell: follow the bus, keep sessions, check invariants, serve requests.

A cluster index is built when a request needs it and the view has changed. Work over all pods runs
in a worker thread on an immutable index, so the event loop is never blocked. Invariants are checked
every few seconds, so that the duration of a violation is known when it is requested.
"""

import asyncio
import os
from typing import Final

from vc.dashboard.callers import Callers
from vc.dashboard.config import Config
from vc.dashboard.logic.cluster_index import ClusterIndex, build_cluster_index
from vc.dashboard.logic.epochs import EpochMemory
from vc.dashboard.logic.invariants import Finding, Seen, find, remember
from vc.dashboard.logic.sessions import SessionMemory
from vc.dashboard.logic.shares import SharesAndOrder, shares_of
from vc.dashboard.logic.usage import UsageMemory
from vc.dashboard.logic.what_if import Ground
from vc.dashboard.server import DashboardServer
from vc.dashboard.session_store import SessionStore
from vc.dashboard.worker import Worker
from vc.messages.codec import unreadable
from vc.messages.record import Record
from vc.messages.sessions import session_of
from vc.messages.topics import SESSIONS, USAGE_LEDGER
from vc.messages.usage import usage_of
from vc.model.api.job import Job
from vc.model.api.kinds import CONFIGMAPS, JOBS, NODES, PODGROUPS, PODS, QUEUES
from vc.runtime.consuming.dead_letters import send_to_dead_letters
from vc.runtime.consuming.follower import Follower
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.long_lived import LongLived
from vc.scheduling.cache.cluster_cache import KINDS

INVARIANTS_SECONDS: Final = 5.0
REST_SECONDS: Final = 0.2
"""Pause between two polls. A user does not notice such a delay."""
SHARES_RESTS: Final = 10
SHARES_SECONDS_MAX: Final = 10.0
"""Shares and order are cached for ten times the time of their computation, up to this limit.

On a small cluster they are always fresh, and on a large one most of the
time is left for other requests.
"""
FOLLOWED: Final = tuple(dict.fromkeys((JOBS, PODGROUPS, PODS, QUEUES, NODES, CONFIGMAPS, *KINDS)))
"""Kinds that users query, and all kinds that a session reads, because what-if runs sessions."""


class DashboardService:
    """Follows the bus, and serves what it has read over HTTP."""

    name = "dashboard"

    def __init__(self, context: Context, config: Config) -> None:
        self._context = context
        self._config = config
        self._follower = Follower(
            context, FOLLOWED, extra=(SESSIONS, USAGE_LEDGER), rest_seconds=REST_SECONDS
        )
        self.sessions = SessionMemory()
        self._long_lived = LongLived()
        self.worker = Worker()
        self.session_store = SessionStore(context, self.worker, config)
        self.usage = UsageMemory()
        self.epochs = EpochMemory()
        self._index: ClusterIndex | None = None
        self._drawing = asyncio.Lock()
        self._changes = 0
        """Number of changes, so that an index that was built during a change is not kept."""
        self._seen: Seen = {}
        self._shares: tuple[float, int, SharesAndOrder] | None = None
        """Expiry time, number of changes at that time, and the value."""
        self._counting = asyncio.Lock()
        self.callers = Callers(context, anonymous_sees_all=config.anonymous_sees_all)
        self._server = DashboardServer(self, context.log, hosts=config.hosts)
        self.port = 0
        """The listening port, or 0 before it listens."""

    def unready(self) -> str:
        """Why the dashboard is not ready. A stale view counts: its
        answers are marked but not useful."""
        return "not listening yet" if not self.port else self._follower.unready()

    async def run(self) -> None:
        """Serve, follow the bus and check the invariants until cancelled."""
        self.port = await self._server.start(host=self._config.host, port=self._config.port)
        self._context.log.info("dashboard on http://%s:%d", self._config.host, self.port)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._follow())
                group.create_task(self._watch_invariants())
        finally:
            self.port = 0
            await self._server.stop()
            await self._follower.close()

    async def _follow(self) -> None:
        while True:
            batch = await self._follower.poll()
            # The topics are read again from their beginning, and rows
            # that are gone must not remain.
            if batch.rebuilt:
                self.usage.forget()
                self.epochs.forget_sessions()
            for record in batch.records:
                await self._take_record(record)
            self._long_lived.took(len(batch.changes))
            if batch.changes or batch.rebuilt:
                self._index = None
                self._changes += 1

    async def _take_record(self, record: Record) -> None:
        try:
            if record.topic == USAGE_LEDGER.name:
                self.usage.take(record.key, usage_of(record))
            else:
                session = session_of(record)
                self.sessions.take(session)
                self.epochs.take_session(session)
        # One record that cannot be decoded must not stop the reading of the topic.
        except Exception as error:  # noqa: BLE001 - of one record, whatever it is
            await send_to_dead_letters(self._context, record, unreadable(error))

    async def _watch_invariants(self) -> None:
        while True:
            await self.findings()
            await self._context.clock.sleep(INVARIANTS_SECONDS)

    # -- interface of the server -------------------------------------------------------------------

    async def cluster_index(self) -> ClusterIndex:
        """The cluster as in the current view. One index is built at a time."""
        async with self._drawing:
            if self._index is not None:
                return self._index
            # The view changes on the event loop, so the lists are copied before the thread starts.
            view, changes = self._follower.view, self._changes
            lists = [list(view.objects(kind)) for kind in (JOBS, PODGROUPS, PODS, QUEUES, NODES)]
            jobs, groups, pods, queues, nodes = lists
            built = await asyncio.to_thread(
                build_cluster_index, jobs=jobs, groups=groups, pods=pods, queues=queues, nodes=nodes
            )
            # An index that was built during a change is used once and not kept.
            self._index = built if changes == self._changes else None
            return built

    async def findings(self) -> tuple[list[Finding], Seen, float]:
        """Violated invariants. A view that is not ready is
        partial, so nothing is reported on it."""
        found: list[Finding] = []
        if not self._follower.unready():
            view, names = self._follower.view, self._config.scheduler_names
            self.epochs.take_progress(view.incarnation or "", view.epoch)
            went_back = tuple(self.epochs.went_back)
            cluster_index = await self.cluster_index()
            found = await asyncio.to_thread(find, cluster_index, names, went_back=went_back)
        now = self._context.clock.monotonic()
        self._seen = remember(self._seen, found, now=now)
        return found, self._seen, now

    async def ground(self) -> Ground:
        """The input of a simulation: all objects that a session reads, and its configuration."""
        conf, basis = await self.session_store.conf(self._follower)
        view = self._follower.view
        objects = [obj for kind in KINDS for obj in view.objects(kind)]
        return Ground(
            objects=objects,
            jobs={job.key: job for job in view.objects(JOBS) if isinstance(job, Job)},
            conf=conf,
            basis=basis,
            now=self._context.clock.now(),
            stale=self.stale(),
            scheduler_names=self._config.scheduler_names,
        )

    async def shares(self) -> SharesAndOrder:
        """Shares and order of queues and jobs. One computation runs at a time."""
        async with self._counting:
            known, changes = self._shares, self._changes
            # An unchanged view gives the same result, however old it is.
            if known is not None and (known[1] == changes or self.seconds() < known[0]):
                return known[2]
            began, ground = self.seconds(), await self.ground()
            found = await asyncio.to_thread(_computed_shares, ground)
            # The cache time grows with the cost, so that shares use at most a tenth of the time.
            rest = min(SHARES_SECONDS_MAX, SHARES_RESTS * (self.seconds() - began))
            self._shares = (self.seconds() + rest, changes, found)
            return found

    def seconds(self) -> float:
        """Seconds of a monotonic clock."""
        return self._context.clock.monotonic()

    def stale(self) -> str:
        """Why answers may be old, or empty if they are fresh."""
        return self._follower.unready()


def _computed_shares(ground: Ground) -> SharesAndOrder:
    return shares_of(ground.simulation(), ground.conf, basis=ground.basis)


def build(context: Context, config: Config | None = None) -> DashboardService:
    """Create the service. Without a Config, the environment is read."""
    return DashboardService(context, config or Config.from_env(os.environ))
