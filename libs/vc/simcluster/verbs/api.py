"""The Kubernetes verbs: what the HTTP face, the in-memory twin and the simulated nodes call.

`Api` wires the parts together and holds no rules of its own: `reading` lists and watches, `writing`
creates and updates, `applying` applies, `lifecycle` ends objects, `pod_verbs` binds and evicts, and the
observers of the store (garbage, namespaces, definitions, budgets, old events, claims) keep house.
"""

from collections.abc import AsyncIterator
from typing import Final, TypeAlias

from vc.clock import Clock
from vc.cluster.errors import NotFoundError
from vc.cluster.interface import WatchEvent
from vc.model.api.struct import Json, JsonObject
from vc.model.values.bounded import read_count
from vc.model.values.quantity import INT64_MAX
from vc.model.values.times import format_time
from vc.simcluster.apply.patches import APPLY_PATCH, apply_patch
from vc.simcluster.controllers.disruption import Disruption
from vc.simcluster.controllers.event_expiry import EventExpiry
from vc.simcluster.controllers.garbage_collector import GarbageCollector
from vc.simcluster.controllers.lifecycle import Lifecycle
from vc.simcluster.controllers.volume_binding import ClaimBinder
from vc.simcluster.schema.builtin_resources import NAMESPACES
from vc.simcluster.schema.definitions import Definitions
from vc.simcluster.schema.metadata import take_body
from vc.simcluster.schema.registry import Registry
from vc.simcluster.store.background import Housekeeping
from vc.simcluster.store.failures import FieldFault, bad_request, invalid, not_found
from vc.simcluster.store.history_expiry import HistoryExpiry
from vc.simcluster.store.identity import UidSource, fresh_uids
from vc.simcluster.store.pod_logs import PodLogs
from vc.simcluster.store.resource import Resource
from vc.simcluster.store.selectors import select
from vc.simcluster.store.served import served_object
from vc.simcluster.store.store import HISTORY_MAX, Record, Store
from vc.simcluster.verbs.admission import Admission, warn
from vc.simcluster.verbs.apply_verb import apply
from vc.simcluster.verbs.initial_objects import furnish
from vc.simcluster.verbs.namespaces import Namespaces
from vc.simcluster.verbs.pod_verbs import PodVerbs
from vc.simcluster.verbs.reading import ObjectPage, WatchRequest, read_page, watch_events
from vc.simcluster.verbs.writing import WriteOptions, Writer

__all__ = ["Api", "ObjectPage"]

WATCH_SECONDS_DEFAULT: Final = 300.0
WRITTEN_SUBRESOURCES: Final = ("status", "finalize")
"""Parts of an object that are written like the object itself; the others are verbs of their own."""
Items: TypeAlias = list[bytes]


class Api:
    """The embedded API server without its HTTP face."""

    def __init__(
        self,
        *,
        clock: Clock,
        registry: Registry | None = None,
        uid_source: UidSource | None = None,
        history_max: int = HISTORY_MAX,
        cluster_uid: str = "",
    ) -> None:
        """`uid_source` decides uids and generated names; give a seeded one to repeat a run.

        `cluster_uid` tells this cluster from others; a new one unless said.
        """
        self.clock = clock
        self.registry = registry or Registry()
        self.store = Store(history_max=history_max)
        self.lifecycle = Lifecycle(self.store, clock)
        self._uid_source = uid_source or fresh_uids()
        self._housekeeping = Housekeeping()
        parts = (self.store, self.lifecycle, self._housekeeping)
        self._namespaces = Namespaces(*parts)
        disruption = Disruption(*parts)
        observers = (
            GarbageCollector(*parts).observe,
            self._namespaces.observe,
            Definitions(self.store, self.registry, self._housekeeping).observe,
            disruption.observe,
            EventExpiry(self.store, clock, self._housekeeping).observe,
            HistoryExpiry(self.store, clock).observe,
            ClaimBinder(*parts, clock=clock, uid_source=self._uid_source).observe,
        )
        self._writer = Writer(
            store=self.store,
            clock=clock,
            uid_source=self._uid_source,
            lifecycle=self.lifecycle,
            namespaces=self._namespaces,
        )
        self._pods = PodVerbs(
            self.store,
            clock=clock,
            lifecycle=self.lifecycle,
            disruption=disruption,
            namespaces=self._namespaces,
        )
        furnish(
            self.store,
            self.registry,
            clock=clock,
            uid_source=self._uid_source,
            cluster_uid=cluster_uid,
        )
        self.store.listeners.extend(observers)

    @property
    def admission(self) -> Admission | None:
        """Who is asked about writes; None lets everything through."""
        return self._writer.admission

    @admission.setter
    def admission(self, admission: Admission | None) -> None:
        self._writer.admission = admission

    @property
    def pod_logs(self) -> PodLogs:
        """Where the simulated nodes write what containers say."""
        return self._pods.logs

    def collect_garbage(self) -> int:
        """Do all housekeeping now; says how many steps it took. Inside a loop it comes by itself."""
        return self._housekeeping.run()

    def _record(self, resource: Resource, name: str, namespace: str) -> Record:
        key = (namespace if resource.namespaced else "", name)
        record = self.store.find(resource, key)
        if record is None:
            raise not_found(resource, name)
        return record

    def get(self, resource: Resource, *, name: str, namespace: str = "") -> JsonObject:
        """The object as it is now, as a copy of one's own."""
        return served_object(resource, self._record(resource, name, namespace).object())

    def list(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
    ) -> ObjectPage:
        """A page of objects in the order of keys; all of them when `limit` is 0."""
        selection = select(
            resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
        )
        return read_page(
            self.store, resource, selection, limit=limit, continue_token=continue_token
        )

    def watch(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        timeout_seconds: float = WATCH_SECONDS_DEFAULT,
        bookmarks: bool = True,
        send_initial_events: bool = False,
    ) -> AsyncIterator[WatchEvent]:
        """Changes after a version; without one ("" or "0") what exists comes first, as ADDED."""
        selection = select(
            resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
        )
        from_start = resource_version in ("", "0") or send_initial_events
        request = WatchRequest(
            version=None if from_start else read_version(resource_version),
            timeout_seconds=timeout_seconds,
            bookmarks=bookmarks,
            mark_initial_end=send_initial_events,
        )
        return watch_events(self.store, resource, selection, request=request)

    def compact(self) -> None:
        """Forget all history: older versions and continue tokens are gone (410)."""
        for table in self.store.tables():
            table.compact(self.store.version)

    async def create(
        self,
        resource: Resource,
        body: JsonObject,
        *,
        namespace: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        user: str = "",
    ) -> JsonObject:
        """The object as it was made."""
        options = WriteOptions(
            namespace=namespace if resource.namespaced else "",
            dry_run=dry_run,
            field_manager=field_manager,
            user=user,
        )
        return await self._writer.create(resource, body, options)

    async def replace(
        self,
        resource: Resource,
        body: JsonObject,
        *,
        name: str,
        namespace: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        user: str = "",
    ) -> JsonObject:
        """Write the whole object; its resourceVersion, where given, is the precondition."""
        self._check_subresource(resource, subresource)
        if resource.custom and not (take_body(body)["metadata"].get("resourceVersion")):
            fault = FieldFault(
                field="metadata.resourceVersion",
                message="Invalid value: 0: must be specified for an update",
            )
            raise invalid(resource, name, [fault])
        options = WriteOptions(
            namespace=namespace if resource.namespaced else "",
            name=name,
            subresource=subresource,
            dry_run=dry_run,
            field_manager=field_manager,
            user=user,
        )
        return await self._writer.update(resource, lambda _: body, options)

    async def patch(  # noqa: PLR0913  the query parameters of a patch
        self,
        resource: Resource,
        patch: Json,
        *,
        content_type: str,
        name: str,
        namespace: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        force: bool = False,
        user: str = "",
    ) -> JsonObject:
        """The object after a JSON, merge, strategic merge or apply patch."""
        self._check_subresource(resource, subresource)
        options = WriteOptions(
            namespace=namespace if resource.namespaced else "",
            name=name,
            subresource=subresource,
            dry_run=dry_run,
            field_manager=field_manager,
            user=user,
            applies=content_type == APPLY_PATCH,
        )
        if options.applies:
            return await apply(
                resource,
                patch,
                options,
                force=force,
                now=format_time(self.clock.now()),
                store=self.store,
                writer=self._writer,
            )

        def change(obj: JsonObject) -> JsonObject:
            return apply_patch(resource, obj, patch, content_type=content_type)

        return await self._writer.update(resource, change, options)

    @staticmethod
    def _check_subresource(resource: Resource, subresource: str) -> None:
        served = subresource in resource.subresources and subresource in WRITTEN_SUBRESOURCES
        if subresource and not served:
            raise NotFoundError("the server could not find the requested resource")

    async def delete(
        self,
        resource: Resource,
        *,
        name: str,
        namespace: str = "",
        options: JsonObject | None = None,
        dry_run: bool = False,
        user: str = "",
    ) -> JsonObject:
        """A Status when it is gone, the object when it is on its way."""
        namespace = namespace if resource.namespaced else ""
        record = self._record(resource, name, namespace)
        asked = options or {}
        if resource.storage == NAMESPACES.storage:
            self._namespaces.check_mortal(name)
        if self.admission is not None:
            how = WriteOptions(namespace=namespace, name=name, dry_run=dry_run, user=user)
            request = self._writer.request(resource, how, obj=None, old=record.object())
            warn(await self.admission.validate(request))
            record = self._record(resource, name, namespace)
        if dry_run:
            left = self.lifecycle.condemned(resource, record, asked)
        else:
            left = self.lifecycle.delete(resource, record, asked)
        return served_object(resource, left) if left else _gone(resource, record)

    async def delete_collection(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        options: JsonObject | None = None,
        dry_run: bool = False,
        user: str = "",
    ) -> Items:
        """Delete everything that matches; what was there, as JSON."""
        selection = select(
            resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
        )
        table = self.store.table(resource)
        chosen = [r for key in table.keys if selection.matches(r := table.records[key])]
        for record in chosen:
            try:
                await self.delete(
                    resource,
                    name=record.name,
                    namespace=record.namespace,
                    options=options,
                    dry_run=dry_run,
                    user=user,
                )
            except NotFoundError:
                continue  # went with its owner meanwhile
        return [record.raw for record in chosen]

    async def bind(self, *, namespace: str, name: str, binding: JsonObject) -> None:
        """Give the pod its node; ConflictError when it is another pod, or bound, or ending."""
        self._pods.bind(namespace=namespace, name=name, binding=take_body(binding))

    async def evict(self, *, namespace: str, name: str, eviction: JsonObject) -> None:
        """Delete the pod unless a disruption budget forbids it (TooManyRequestsError)."""
        self._pods.evict(namespace=namespace, name=name, eviction=take_body(eviction))

    def logs(
        self, *, namespace: str, name: str, container: str = "", tail_lines: int | None = None
    ) -> str:
        """What the container wrote; it may be left out when there is only one."""
        return self._pods.read_logs(
            namespace=namespace, name=name, container=container, tail_lines=tail_lines
        )


def read_version(text: str) -> int:
    version = read_count(text, most=INT64_MAX)
    if version is None:
        raise bad_request(f'resourceVersion: Invalid value: "{text[:40]}": it is a number')
    return version


def _gone(resource: Resource, record: Record) -> JsonObject:
    details = {"name": record.name, "kind": resource.plural, "uid": record.uid}
    if resource.group:
        details["group"] = resource.group
    return {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": details,
    }  # fmt: skip
