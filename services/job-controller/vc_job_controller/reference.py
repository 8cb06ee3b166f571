"""What all jobs share: queues, priority classes, volume claims and the plugins that there are.

Every replica reads all of it, whichever jobs are its own.
"""

import msgspec

from vc_job_controller.logic.volumes import named_claims
from vc_messages.codec import decode, unreadable
from vc_messages.plugins import PluginAnnouncement
from vc_messages.record import Record
from vc_messages.topics import PLUGIN_REGISTRY
from vc_model.job import Job
from vc_model.keys import DEFAULT_QUEUE
from vc_model.kinds import CLAIMS, PRIORITYCLASSES, QUEUES
from vc_model.scheduling import PriorityClass, Queue
from vc_runtime.context import Context
from vc_runtime.follower import Follower
from vc_runtime.letters import send_to_dead_letters


class News(msgspec.Struct, frozen=True):
    """What came that jobs may have waited for."""

    queues: tuple[str, ...]
    others: bool
    """A claim or a plugin: any job in trouble may look again."""


class Reference:
    """The follower of these, and answers to what a job asks of them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._follower = Follower(
            context, (QUEUES, PRIORITYCLASSES, CLAIMS), extra=(PLUGIN_REGISTRY,)
        )
        self.registry: dict[str, PluginAnnouncement] = {}

    def unready(self) -> str:
        """Why it must not be believed now; empty when it may."""
        return self._follower.unready()

    async def close(self) -> None:
        """Stop reading."""
        await self._follower.close()

    async def poll(self) -> News:
        """Wait for changes and take them in."""
        batch = await self._follower.poll()
        if batch.rebuilt:
            self.registry.clear()
        for record in batch.records:
            await self._take_announcement(record)
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
        """The queue that it names, if there is one."""
        queue = self._follower.view.get(QUEUES, job.spec.queue or DEFAULT_QUEUE)
        return queue if isinstance(queue, Queue) else None

    def priorities(self) -> dict[str, PriorityClass]:
        """By name."""
        classes = self._follower.view.objects(PRIORITYCLASSES)
        return {c.metadata.name: c for c in classes if isinstance(c, PriorityClass)}

    def missing_claims(self, job: Job) -> tuple[str, ...]:
        """Names of volume claims that it needs and nobody made."""
        there = self._follower.view.entries(CLAIMS)
        return tuple(key.partition("/")[2] for key in named_claims(job) if key not in there)
