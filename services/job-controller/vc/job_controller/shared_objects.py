"""Objects that all jobs share: queues, priority classes, volume claims and announced plugins.

Every replica reads all of them, whichever jobs it owns.
"""

import msgspec

from vc.jobs.pods.volumes import named_claims
from vc.messages.codec import decode, unreadable
from vc.messages.plugins import PluginAnnouncement
from vc.messages.record import Record
from vc.messages.topics import PLUGIN_REGISTRY
from vc.model.api.job import Job
from vc.model.api.keys import DEFAULT_QUEUE
from vc.model.api.kinds import CLAIMS, PRIORITYCLASSES, QUEUES
from vc.model.api.scheduling import PriorityClass, Queue
from vc.runtime.consuming.dead_letters import send_to_dead_letters
from vc.runtime.consuming.follower import Follower
from vc.runtime.hosting.context import Context


class News(msgspec.Struct, frozen=True):
    """New objects that jobs may have waited for."""

    queues: tuple[str, ...]
    others: bool
    """A claim or plugin appeared, so every blocked job is reconciled again."""


class SharedObjects:
    """The follower of these objects, and queries for a job."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._follower = Follower(
            context, (QUEUES, PRIORITYCLASSES, CLAIMS), extra=(PLUGIN_REGISTRY,)
        )
        self.registry: dict[str, PluginAnnouncement] = {}

    def unready(self) -> str:
        """Why the view must not be used now, or empty if it may be."""
        return self._follower.unready()

    async def close(self) -> None:
        """Stop reading and release the reader of the bus."""
        await self._follower.close()

    async def poll(self) -> News:
        """Wait for changes and apply them."""
        batch = await self._follower.poll()
        if batch.rebuilt:
            self.registry.clear()
        for record in batch.records:
            await self._take_announcement(record)
        # Only new objects can unblock a job; a changed one was there before.
        came = [(change.kind, change.key) for change in batch.changes if change.before is None]
        return News(
            queues=tuple(key for kind, key in came if kind is QUEUES),
            others=bool(batch.records) or any(kind is CLAIMS for kind, _ in came),
        )

    async def _take_announcement(self, record: Record) -> None:
        if record.value is None:
            self.registry.pop(record.key, None)
            return
        try:
            said = decode(record.value, into=PluginAnnouncement, headers=record.headers)
        except Exception as error:  # noqa: BLE001 - of one record, whatever it is
            await send_to_dead_letters(self._context, record, unreadable(error))
            return
        self.registry[said.plugin] = said

    def queue_of(self, job: Job) -> Queue | None:
        """The queue that the job names, if it exists."""
        queue = self._follower.view.get(QUEUES, job.spec.queue or DEFAULT_QUEUE)
        return queue if isinstance(queue, Queue) else None

    def priorities(self) -> dict[str, PriorityClass]:
        """Priority classes by name."""
        classes = self._follower.view.objects(PRIORITYCLASSES)
        return {c.metadata.name: c for c in classes if isinstance(c, PriorityClass)}

    def missing_claims(self, job: Job) -> tuple[str, ...]:
        """Names of the job's claims that do not exist."""
        there = self._follower.view.entries(CLAIMS)
        return tuple(key.partition("/")[2] for key in named_claims(job) if key not in there)
