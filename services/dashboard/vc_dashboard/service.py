"""The shell: follow the bus, remember sessions, look for what must never be, answer questions.

A picture is made when somebody asks and the view has changed since. Whatever walks over all pods
does so in a worker thread on an immutable picture, so the event loop never stands still. Invariants
are looked at every few seconds, so that "for how long" is known when somebody asks.
"""

import asyncio
import os
from typing import Final

from vc_dashboard.callers import Callers
from vc_dashboard.config import Config
from vc_dashboard.heavy import HeavyWork
from vc_dashboard.logic.epochs import EpochMemory
from vc_dashboard.logic.invariants import Finding, Seen, find, remember
from vc_dashboard.logic.picture import Picture, make_picture
from vc_dashboard.logic.sessions import SessionMemory
from vc_dashboard.logic.standing import Standing, standing_of
from vc_dashboard.logic.trying import Ground
from vc_dashboard.logic.usage import UsageMemory
from vc_dashboard.past import Past
from vc_dashboard.server import DashboardServer
from vc_messages.codec import unreadable
from vc_messages.record import Record
from vc_messages.sessions import session_of
from vc_messages.topics import SESSIONS, USAGE_LEDGER
from vc_messages.usage import usage_of
from vc_model.job import Job
from vc_model.kinds import CONFIGMAPS, JOBS, NODES, PODGROUPS, PODS, QUEUES
from vc_runtime.context import Context
from vc_runtime.follower import Follower
from vc_runtime.letters import send_to_dead_letters
from vc_runtime.long_lived import LongLived
from vc_scheduler.logic.columns import KINDS

INVARIANTS_SECONDS: Final = 5.0
REST_SECONDS: Final = 0.2
"""Between two reads of news: people do not see the difference."""
STANDING_RESTS: Final = 10
STANDING_SECONDS_MAX: Final = 10.0
"""Shares and order are not counted again for ten times as long as it took, and at most for so long: on a
small cluster they are new, on a large one most of our time is for other questions."""
FOLLOWED: Final = tuple(dict.fromkeys((JOBS, PODGROUPS, PODS, QUEUES, NODES, CONFIGMAPS, *KINDS)))
"""What people ask about, and all that sessions look at: what-if runs on it."""


class DashboardService:
    """Answers people's questions."""

    name = "dashboard"

    def __init__(self, context: Context, config: Config) -> None:
        self._context = context
        self._config = config
        self._follower = Follower(
            context, FOLLOWED, extra=(SESSIONS, USAGE_LEDGER), rest_seconds=REST_SECONDS
        )
        self.sessions = SessionMemory()
        self._long_lived = LongLived()
        self.heavy = HeavyWork()
        self.past = Past(context, self.heavy, config)
        self.usage = UsageMemory()
        self.epochs = EpochMemory()
        self._picture: Picture | None = None
        self._drawing = asyncio.Lock()
        self._changes = 0
        """Counted, so that a picture drawn during a change is not kept."""
        self._seen: Seen = {}
        self._standing: tuple[float, int, Standing] | None = None
        """Until when it is good, of which change, and what it is."""
        self._counting = asyncio.Lock()
        self.callers = Callers(context, anonymous_sees_all=config.anonymous_sees_all)
        self._server = DashboardServer(self, context.log, hosts=config.hosts)
        self.port = 0
        """Where it listens; 0 before it does."""

    def unready(self) -> str:
        """Old answers are marked as such, but they are not what one asks a dashboard for."""
        return "not listening yet" if not self.port else self._follower.unready()

    async def run(self) -> None:
        """Serve until cancelled."""
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
            if batch.rebuilt:
                self.usage.forget()
                self.epochs.forget_sessions()
            for record in batch.records:
                await self._take_record(record)
            self._long_lived.took(len(batch.changes))
            if batch.changes or batch.rebuilt:
                self._picture = None
                self._changes += 1

    async def _take_record(self, record: Record) -> None:
        try:
            if record.topic == USAGE_LEDGER.name:
                self.usage.take(record.key, usage_of(record))
            else:
                session = session_of(record)
                self.sessions.take(session)
                self.epochs.take_session(session)
        except Exception as error:  # noqa: BLE001 - of one record, whatever it is
            await send_to_dead_letters(self._context, record, unreadable(error))

    async def _watch_invariants(self) -> None:
        while True:
            await self.findings()
            await self._context.clock.sleep(INVARIANTS_SECONDS)

    # -- what the server asks ----------------------------------------------------------------------

    async def picture(self) -> Picture:
        """The cluster as the view has it now; one is drawn at a time."""
        async with self._drawing:
            if self._picture is not None:
                return self._picture
            view, changes = self._follower.view, self._changes
            lists = [list(view.objects(kind)) for kind in (JOBS, PODGROUPS, PODS, QUEUES, NODES)]
            jobs, groups, pods, queues, nodes = lists
            drawn = await asyncio.to_thread(
                make_picture, jobs=jobs, groups=groups, pods=pods, queues=queues, nodes=nodes
            )
            self._picture = drawn if changes == self._changes else None
            return drawn

    async def findings(self) -> tuple[list[Finding], Seen, float]:
        """What looks wrong; an unready view is partial, so nothing is said on it."""
        found: list[Finding] = []
        if not self._follower.unready():
            view, names = self._follower.view, self._config.scheduler_names
            self.epochs.take_progress(view.incarnation or "", view.epoch)
            went_back = tuple(self.epochs.went_back)
            picture = await self.picture()
            found = await asyncio.to_thread(find, picture, names, went_back=went_back)
        now = self._context.clock.monotonic()
        self._seen = remember(self._seen, found, now=now)
        return found, self._seen, now

    async def ground(self) -> Ground:
        """What a trial stands on: all that sessions look at, and what they are told."""
        conf, basis = await self.past.conf(self._follower)
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

    async def standing(self) -> Standing:
        """How queues and jobs stand; counted by one at a time."""
        async with self._counting:
            known, changes = self._standing, self._changes
            if known is not None and (known[1] == changes or self.seconds() < known[0]):
                return known[2]
            began, ground = self.seconds(), await self.ground()
            found = await asyncio.to_thread(_stand, ground)
            rest = min(STANDING_SECONDS_MAX, STANDING_RESTS * (self.seconds() - began))
            self._standing = (self.seconds() + rest, changes, found)
            return found

    def seconds(self) -> float:
        """Of a clock that only goes forward."""
        return self._context.clock.monotonic()

    def stale(self) -> str:
        """Why answers may be old; empty when they are fresh."""
        return self._follower.unready()


def _stand(ground: Ground) -> Standing:
    return standing_of(ground.trial(), ground.conf, basis=ground.basis)


def build(context: Context, config: Config | None = None) -> DashboardService:
    """The service; without a Config the environment says."""
    return DashboardService(context, config or Config.from_env(os.environ))
