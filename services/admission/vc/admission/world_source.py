"""The world, kept up to date from the bus view, and read live where the view cannot be trusted.

A new `World` is created only when its content changed, so a request costs no copying.
While the view is not ready (at the start, or when the bus is unavailable) queues are
listed live, at most once a second. So no request is answered from a partial or stale view,
and none is refused because of it.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from vc.admission.config import Config
from vc.admission.logic.lookups import Count, Lookups
from vc.cluster import NotFoundError, ServerError
from vc.jobs.plugins.built_in import BUILT_IN_PLUGINS
from vc.messages.codec import decode, unreadable
from vc.messages.plugins import PluginAnnouncement
from vc.messages.record import Record
from vc.messages.topics import PLUGIN_REGISTRY
from vc.model.api.graft import strip_nulls
from vc.model.api.keys import DEFAULT_QUEUE
from vc.model.api.kinds import (
    ACCESS_REVIEWS,
    CONFIGMAPS,
    NAMESPACES,
    PODGROUPS,
    QUEUES,
    QUOTAS,
    Kind,
)
from vc.model.api.kubernetes import ConfigMap, Namespace, ResourceQuota
from vc.model.api.meta import object_key
from vc.model.api.scheduling import PodGroup, Queue
from vc.model.api.struct import JsonObject
from vc.runtime.consuming.dead_letters import send_to_dead_letters
from vc.runtime.consuming.follower import Batch, Follower
from vc.runtime.containment.boundaries import DECODE
from vc.runtime.hosting.context import Context
from vc.validation.class_quotas import by_namespace
from vc.validation.resource_groups import (
    ResourceGroup,
    ResourceGroupsError,
    parse_resource_groups,
)
from vc.validation.world import AccessCheck, World, children_of

_NAME_SHOWN_MAX: Final = 253
LIVE_LIST_SECONDS: Final = 1.0
"""How long a live list of queues is used while the view is not ready."""

PAGE_OBJECTS: Final = 1000
PAGES_MAX: Final = 50
"""Limit of pages of a live list of queues."""
GROUP_PAGES_MAX: Final = 200
"""Limit of pages of a live list of PodGroups."""
FINISHED_GROUP: Final = "Completed"

PLUGINS_MAX: Final = 1000
CONFIGURATION_KEY: Final = "volcano-admission.conf"


class WorldSource:
    """The objects that admission knows, and live reads of others."""

    def __init__(self, context: Context, config: Config) -> None:
        self._context = context
        self._config = config
        self.follower = Follower(
            context, (QUEUES, NAMESPACES, CONFIGMAPS, QUOTAS), extra=(PLUGIN_REGISTRY,)
        )
        self._plugins: dict[str, PluginAnnouncement] = {}
        self._groups: tuple[ResourceGroup, ...] = ()
        self.groups_changed = asyncio.Event()
        """Set when the resource groups change. The reader clears it."""
        self._groups_known = False
        self._world = World(settings=config.settings)
        self._listed: dict[str, Queue] = {}
        self._listed_at: float | None = None
        self._listing = asyncio.Lock()
        """Concurrent requests at a start share one list."""

    async def follow(self) -> None:
        """Apply records and changes of the bus, until cancelled."""
        try:
            while True:
                await self.take(await self.follower.poll())
                # The condition on pods depends on the groups, which are
                # complete only when the view is.
                if not self._groups_known and not self.follower.unready():
                    self._groups_known = True
                    self.groups_changed.set()
        finally:
            await self.follower.close()

    async def take(self, batch: Batch) -> None:
        """Apply one batch of the bus, and make a new world if anything changed."""
        for record in batch.records:
            await self._take_plugin(record)
        # A new world is made only after a change, so requests share one value.
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
        # Bounded, because any service can announce plugins.
        if announced.plugin in self._plugins or len(self._plugins) < PLUGINS_MAX:
            self._plugins[announced.plugin] = announced

    def _take_groups(self) -> None:
        key = object_key(self._context.namespace, self._config.configmap_name)
        found = self.follower.view.get(CONFIGMAPS, key)
        text = found.data.get(CONFIGURATION_KEY, "") if isinstance(found, ConfigMap) else ""
        try:
            groups = parse_resource_groups(text)
        # A broken configuration must not drop the groups that are in force.
        except ResourceGroupsError as error:
            self._context.log.warning(
                "configuration ignored configmap=%s key=%s error=%s", key, CONFIGURATION_KEY, error
            )
            return
        if groups != self._groups:
            self._groups = groups
            self.groups_changed.set()

    def resource_groups(self) -> tuple[ResourceGroup, ...] | None:
        """The resource groups in force, or None before the configuration was read once."""
        return self._groups if self._groups_known else None

    # -- answering -------------------------------------------------------------------------------

    async def world(self) -> World:
        """The current world, with a live list of queues when the view cannot be trusted."""
        if not self.follower.unready():
            self._listed_at = None
            return self._world
        # The lock makes concurrent requests wait for one list instead of sending one each.
        async with self._listing:
            now = self._context.clock.monotonic()
            if self._listed_at is None or now - self._listed_at > LIVE_LIST_SECONDS:
                self._listed = await self._list_queues()
                self._listed_at = now
        return self._with_listed(self._world, self._listed)

    async def look_up(self, lookups: Lookups, world: World) -> World:
        """The world with the objects that were read live. Objects
        that do not exist stay unknown."""
        # Rules of queues are sums over the tree, so one missing queue would make them wrong.
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

    async def _is_granted(self, check: AccessCheck) -> bool:
        """Send a SubjectAccessReview. The answer is not cached, so a revoked right counts at once."""
        body: JsonObject = {
            "apiVersion": ACCESS_REVIEWS.api_version,
            "kind": ACCESS_REVIEWS.kind,
            "spec": {
                "user": check.username,
                "groups": list(check.groups),
                "resourceAttributes": {
                    "verb": check.verb,
                    "group": QUEUES.group,
                    "resource": QUEUES.plural,
                    "name": check.queue,
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
            # One queue that cannot be decoded must not block the writes of all others.
            with self._context.problems.contain(DECODE, QUEUES.short, name_in(item)):
                # Nulls of Go clients would fail the decoding of an object
                # that the API server accepts.
                queue = msgspec.convert(strip_nulls(msgspec.json.decode(item)), Queue)
                queues[queue.metadata.name] = queue
        return queues

    async def _count_unfinished(self, queue: str) -> int:
        """Number of PodGroups of a queue that are not Completed, counted
        live as queues are rarely deleted."""
        counted = 0
        async for item in self._pages(PODGROUPS, pages_max=GROUP_PAGES_MAX):
            # If it cannot be decoded, its queue is unknown, so it counts for every queue.
            unfinished = True
            with self._context.problems.contain(DECODE, PODGROUPS.short, name_in(item)):
                group = msgspec.convert(strip_nulls(msgspec.json.decode(item)), PodGroup)
                finished = group.status.phase == FINISHED_GROUP
                unfinished = (group.spec.queue or DEFAULT_QUEUE) == queue and not finished
            counted += unfinished
        return counted

    async def count(self, wanted: Count, world: World) -> World:
        """The world with the number of existing objects, counted up to the requested limit."""
        counted, token = 0, ""
        # More than the limit need not be counted: the answer is the same.
        while counted < wanted.most:
            limit = min(PAGE_OBJECTS, wanted.most - counted)
            page = await self._context.cluster.list(
                wanted.kind, namespace=wanted.namespace, limit=limit, continue_token=token
            )
            counted, token = counted + len(page.items), page.continue_token
            if not token:
                break
        return msgspec.structs.replace(world, objects_there=counted)

    async def _pages(self, kind: Kind, *, pages_max: int) -> AsyncIterator[bytes]:
        """Every object of a kind. Raises an error if there are more pages than the limit."""
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
    """The name of an object, as far as it can be decoded."""
    try:
        return str(msgspec.json.decode(item, type=_Named).metadata.get("name", ""))[
            :_NAME_SHOWN_MAX
        ]
    except Exception:  # noqa: BLE001 - of damaged bytes, whatever it is
        return ""
