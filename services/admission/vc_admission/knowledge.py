"""The world, kept fresh: from the bus view, and live where the view is not to be trusted.

A new `World` is made only when something it holds has changed, so a request costs no copying. While
the view is not ready (at the start, or when the bus is away) queues are listed live, at most once a
second: nobody acts on a partial or stale view, and nobody is refused because of it.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from vc_admission.config import Config
from vc_admission.logic.class_quotas import by_namespace
from vc_admission.logic.lookups import Lookups
from vc_admission.logic.maxima import Count
from vc_admission.logic.resource_groups import (
    ResourceGroup,
    ResourceGroupsError,
    parse_resource_groups,
)
from vc_admission.logic.world import BUILT_IN_PLUGINS, AccessQuestion, World, children_of
from vc_cluster import NotFoundError, ServerError
from vc_messages.codec import decode, unreadable
from vc_messages.plugins import PluginAnnouncement
from vc_messages.record import Record
from vc_messages.topics import PLUGIN_REGISTRY
from vc_model.graft import strip_nulls
from vc_model.keys import DEFAULT_QUEUE
from vc_model.kinds import (
    ACCESS_REVIEWS,
    CONFIGMAPS,
    NAMESPACES,
    PODGROUPS,
    QUEUES,
    QUOTAS,
    Kind,
)
from vc_model.kubernetes import ConfigMap, Namespace, ResourceQuota
from vc_model.meta import object_key
from vc_model.scheduling import PodGroup, Queue
from vc_model.struct import JsonObject
from vc_runtime.boundaries import DECODE
from vc_runtime.context import Context
from vc_runtime.follower import Batch, Follower
from vc_runtime.letters import send_to_dead_letters

_NAME_SHOWN_MAX: Final = 253
LIVE_LIST_SECONDS: Final = 1.0
"""How long a live list of queues is used while the view is not ready."""

PAGE_OBJECTS: Final = 1000
PAGES_MAX: Final = 50
"""Of a live list of queues; who has more has other problems first."""
GROUP_PAGES_MAX: Final = 200
"""Of a live list of pod groups."""
FINISHED_GROUP: Final = "Completed"

PLUGINS_MAX: Final = 1000
CONFIGURATION_KEY: Final = "volcano-admission.conf"


class Knowledge:
    """What admission knows, and how it learns more."""

    def __init__(self, context: Context, config: Config) -> None:
        self._context = context
        self._config = config
        self.follower = Follower(
            context, (QUEUES, NAMESPACES, CONFIGMAPS, QUOTAS), extra=(PLUGIN_REGISTRY,)
        )
        self._plugins: dict[str, PluginAnnouncement] = {}
        self._groups: tuple[ResourceGroup, ...] = ()
        self.groups_changed = asyncio.Event()
        """Set when the resource groups are others than before; whoever looks clears it."""
        self._groups_known = False
        self._world = World(settings=config.settings)
        self._listed: dict[str, Queue] = {}
        self._listed_at: float | None = None
        self._listing = asyncio.Lock()
        """A hundred requests at a start wait for one list."""

    async def follow(self) -> None:
        """Take in what the bus brings, until cancelled."""
        try:
            while True:
                await self.take(await self.follower.poll())
                if not self._groups_known and not self.follower.unready():
                    self._groups_known = True
                    self.groups_changed.set()
        finally:
            await self.follower.close()

    async def take(self, batch: Batch) -> None:
        """One batch of news."""
        for record in batch.records:
            await self._take_plugin(record)
        if batch.rebuilt or batch.records or batch.changes:
            if batch.rebuilt or any(change.kind is CONFIGMAPS for change in batch.changes):
                self._take_groups()
            self._world = self._make()

    def _make(self) -> World:
        view = self.follower.view
        queues = {q.metadata.name: q for q in view.objects(QUEUES) if isinstance(q, Queue)}
        spaces = (n for n in view.objects(NAMESPACES) if isinstance(n, Namespace))
        return World(
            queues=queues,
            children=children_of(queues),
            namespaces={space.metadata.name: space for space in spaces},
            plugins={**BUILT_IN_PLUGINS, **self._plugins},
            resource_groups=self._groups,
            quotas=by_namespace(q for q in view.objects(QUOTAS) if isinstance(q, ResourceQuota)),
            settings=self._config.settings,
        )

    async def _take_plugin(self, record: Record) -> None:
        if record.value is None:
            self._plugins.pop(record.key, None)
            return
        try:
            announced = decode(record.value, into=PluginAnnouncement, headers=record.headers)
        except Exception as error:  # noqa: BLE001 - of one record, whatever it is
            await send_to_dead_letters(self._context, record, unreadable(error))
            return
        if announced.plugin in self._plugins or len(self._plugins) < PLUGINS_MAX:
            self._plugins[announced.plugin] = announced

    def _take_groups(self) -> None:
        key = object_key(self._context.namespace, self._config.configmap_name)
        found = self.follower.view.get(CONFIGMAPS, key)
        text = found.data.get(CONFIGURATION_KEY, "") if isinstance(found, ConfigMap) else ""
        try:
            groups = parse_resource_groups(text)
        except ResourceGroupsError as error:
            self._context.log.warning("%s of %s is not used: %s", CONFIGURATION_KEY, key, error)
            return
        if groups != self._groups:
            self._groups = groups
            self.groups_changed.set()

    def resource_groups(self) -> tuple[ResourceGroup, ...] | None:
        """Those in force; None before the configuration could be read once."""
        return self._groups if self._groups_known else None

    # -- answering -------------------------------------------------------------------------------

    async def world(self) -> World:
        """What is known now; with a live list of queues when the view is not to be trusted."""
        if not self.follower.unready():
            self._listed_at = None
            return self._world
        async with self._listing:
            now = self._context.clock.monotonic()
            if self._listed_at is None or now - self._listed_at > LIVE_LIST_SECONDS:
                self._listed = await self._list_queues()
                self._listed_at = now
        return self._with_listed(self._world, self._listed)

    async def look_up(self, lookups: Lookups, world: World) -> World:
        """The world with what was read live; what is not there stays unknown."""
        if lookups.all_queues:
            world = self._with_listed(world, await self._list_queues())
        if lookups.groups_of:
            counted = await self._count_unfinished(lookups.groups_of)
            world = msgspec.structs.replace(world, unfinished_groups={lookups.groups_of: counted})
        if lookups.queue:
            queue = await self._get_queue(lookups.queue)
            if queue is not None:
                world = world.with_queues([queue])
        if lookups.namespace:
            namespace = await self._get_namespace(lookups.namespace)
            if namespace is not None:
                world = world.with_namespaces([namespace])
        if lookups.access is not None and await self._is_granted(lookups.access):
            world = msgspec.structs.replace(world, granted=frozenset({lookups.access}))
        return world

    async def _is_granted(self, asked: AccessQuestion) -> bool:
        """What the API server's authorizers say now; nothing is remembered."""
        body: JsonObject = {
            "apiVersion": ACCESS_REVIEWS.api_version,
            "kind": ACCESS_REVIEWS.kind,
            "spec": {
                "user": asked.username,
                "groups": list(asked.groups),
                "resourceAttributes": {
                    "verb": asked.verb,
                    "group": QUEUES.group,
                    "resource": QUEUES.plural,
                    "name": asked.queue,
                },
            },
        }
        answer = await self._context.cluster.create(ACCESS_REVIEWS, body)
        status = answer.get("status")
        return isinstance(status, dict) and status.get("allowed") is True

    def _with_listed(self, world: World, queues: dict[str, Queue]) -> World:
        return msgspec.structs.replace(world, queues=queues, children=children_of(queues))

    async def _list_queues(self) -> dict[str, Queue]:
        queues: dict[str, Queue] = {}
        async for item in self._pages(QUEUES, pages_max=PAGES_MAX):
            with self._context.problems.contain(DECODE, QUEUES.short, name_in(item)):
                queue = msgspec.convert(strip_nulls(msgspec.json.decode(item)), Queue)
                queues[queue.metadata.name] = queue
        return queues

    async def _count_unfinished(self, queue: str) -> int:
        """Pod groups of a queue that are not Completed; counted live, because queues are rarely deleted."""
        counted = 0
        async for item in self._pages(PODGROUPS, pages_max=GROUP_PAGES_MAX):
            unfinished = True  # one that cannot be read holds its queue: nobody knows which that is
            with self._context.problems.contain(DECODE, PODGROUPS.short, name_in(item)):
                group = msgspec.convert(strip_nulls(msgspec.json.decode(item)), PodGroup)
                finished = group.status.phase == FINISHED_GROUP
                unfinished = (group.spec.queue or DEFAULT_QUEUE) == queue and not finished
            counted += unfinished
        return counted

    async def count(self, asked: Count, world: World) -> World:
        """The world with how many objects there are, counted up to the number asked for."""
        counted, token = 0, ""
        while counted < asked.most:
            limit = min(PAGE_OBJECTS, asked.most - counted)
            page = await self._context.cluster.list(
                asked.kind, namespace=asked.namespace, limit=limit, continue_token=token
            )
            counted, token = counted + len(page.items), page.continue_token
            if not token:
                break
        return msgspec.structs.replace(world, objects_there=counted)

    async def _pages(self, kind: Kind, *, pages_max: int) -> AsyncIterator[bytes]:
        """Every object of a kind; an error when there are more than so many pages of them."""
        token = ""
        for _ in range(pages_max):
            page = await self._context.cluster.list(kind, limit=PAGE_OBJECTS, continue_token=token)
            for item in page.items:
                yield item
            token = page.continue_token
            if not token:
                return
        raise ServerError(f"more than {pages_max * PAGE_OBJECTS} {kind.plural} to look at")

    async def _get_queue(self, name: str) -> Queue | None:
        try:
            return msgspec.convert(
                strip_nulls(await self._context.cluster.get(QUEUES, name=name)), Queue
            )
        except NotFoundError:
            return None

    async def _get_namespace(self, name: str) -> Namespace | None:
        try:
            return msgspec.convert(
                strip_nulls(await self._context.cluster.get(NAMESPACES, name=name)), Namespace
            )
        except NotFoundError:
            return None


class _Named(msgspec.Struct):
    metadata: dict[str, object] = {}


def name_in(item: bytes) -> str:
    """Which object it is, as far as that can be read."""
    try:
        return str(msgspec.json.decode(item, type=_Named).metadata.get("name", ""))[
            :_NAME_SHOWN_MAX
        ]
    except Exception:  # noqa: BLE001 - of damaged bytes, whatever it is
        return ""
