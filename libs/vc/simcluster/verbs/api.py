"""The Kubernetes verbs, for the HTTP server, the in-memory twin and the simulated nodes.

`Api` connects the parts and has no rules of its own. `reading` lists and watches, `writing` creates
and updates, `apply_verb` implements server-side apply, `lifecycle` deletes, and `pod_verbs` binds
and evicts. Observers of the store do the work of the controller manager: garbage collection,
namespaces, CRDs, disruption budgets, event expiry and volume binding.
"""

from collections.abc import AsyncIterator
from typing import Final

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
from vc.simcluster.store.background import BackgroundSteps
from vc.simcluster.store.failures import FieldFault, bad_request, invalid, not_found
from vc.simcluster.store.history_expiry import HistoryExpiry
from vc.simcluster.store.identity import UidSource, fresh_uids
from vc.simcluster.store.pod_logs import PodLogs
from vc.simcluster.store.resource import Resource
from vc.simcluster.store.selectors import select
from vc.simcluster.store.served import serve, served_object
from vc.simcluster.store.store import HISTORY_MAX, Record, Store
from vc.simcluster.verbs.admission import Admission, warn
from vc.simcluster.verbs.apply_verb import apply
from vc.simcluster.verbs.initial_objects import create_initial_objects
from vc.simcluster.verbs.namespaces import Namespaces
from vc.simcluster.verbs.pod_verbs import PodVerbs
from vc.simcluster.verbs.reading import ObjectPage, WatchRequest, read_page, watch_events
from vc.simcluster.verbs.writing import WriteOptions, Writer

__all__ = ["Api", "ObjectPage"]

WATCH_SECONDS_DEFAULT: Final = 300.0
WRITTEN_SUBRESOURCES: Final = ("status", "finalize")
"""Subresources that are written like the object itself. The others have verbs of their own."""


class Api:
    """The embedded API server without HTTP."""

    def __init__(
        self,
        *,
        clock: Clock,
        registry: Registry | None = None,
        uid_source: UidSource | None = None,
        history_max: int = HISTORY_MAX,
        cluster_uid: str = "",
    ) -> None:
        """Create a cluster with its initial objects.

        `uid_source` determines uids and generated names; a seeded source makes a run repeatable.
        `cluster_uid` identifies the cluster; by default it is generated.
        """
        self.clock = clock
        self.registry = registry or Registry()
        self.store = Store(history_max=history_max)
        self.lifecycle = Lifecycle(self.store, clock)
        self._uid_source = uid_source or fresh_uids()
        self._background = BackgroundSteps()
        parts = (self.store, self.lifecycle, self._background)
        self._namespaces = Namespaces(*parts)
        disruption = Disruption(*parts)
        observers = (
            GarbageCollector(*parts).observe,
            self._namespaces.observe,
            Definitions(self.store, self.registry, self._background).observe,
            disruption.observe,
            EventExpiry(self.store, clock, self._background).observe,
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
        create_initial_objects(
            self.store,
            self.registry,
            clock=clock,
            uid_source=self._uid_source,
            cluster_uid=cluster_uid,
        )
        # Registered last: initial objects must not trigger controllers that are half built.
        self.store.listeners.extend(observers)

    @property
    def admission(self) -> Admission | None:
        """The admission webhooks. None admits every write."""
        return self._writer.admission

    @admission.setter
    def admission(self, admission: Admission | None) -> None:
        self._writer.admission = admission

    @property
    def pod_logs(self) -> PodLogs:
        """The log lines of containers, written by the simulated nodes."""
        return self._pods.logs

    def run_controllers(self) -> int:
        """Run all pending steps of the controllers and return their number.

        Inside an event loop they run by themselves.
        """
        return self._background.run()

    def _record(self, resource: Resource, name: str, namespace: str) -> Record:
        key = (namespace if resource.namespaced else "", name)
        record = self.store.find(resource, key)
        if record is None:
            raise not_found(resource, name)
        return record

    def get(self, resource: Resource, *, name: str, namespace: str = "") -> JsonObject:
        """A copy of the current object."""
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
        """A page of objects, sorted by key. A `limit` of 0 returns all objects."""
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
        """Changes after a version. Without one ("" or "0") existing objects come first, as ADDED."""
        selection = select(
            resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
        )
        # A watch list starts with the existing objects even if the request names a version.
        from_start = resource_version in ("", "0") or send_initial_events
        request = WatchRequest(
            version=None if from_start else read_version(resource_version),
            timeout_seconds=timeout_seconds,
            bookmarks=bookmarks,
            mark_initial_end=send_initial_events,
        )
        return watch_events(self.store, resource, selection, request=request)

    def compact(self) -> None:
        """Drop all history: older versions and continue tokens fail with 410 Gone."""
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
        """Create an object and return it as stored."""
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
        """Write the whole object. Its resourceVersion, if set, is a precondition."""
        self._check_subresource(resource, subresource)
        # The API server requires the version for custom resources, but not for built-in kinds.
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
        """Apply a JSON, merge, strategic merge or server-side apply patch; return the object."""
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
        """Delete an object. Return a Status if it was removed, or the object if it is terminating."""
        namespace = namespace if resource.namespaced else ""
        record = self._record(resource, name, namespace)
        delete_options = options or {}
        # Rejected before the webhooks are called, as the NamespaceLifecycle admission does.
        if resource.storage == NAMESPACES.storage:
            self._namespaces.check_deletable(name)
        if self.admission is not None:
            how = WriteOptions(namespace=namespace, name=name, dry_run=dry_run, user=user)
            request = self._writer.request(resource, how, obj=None, old=record.object())
            warn(await self.admission.validate(request))
            # Webhooks were awaited, so the object may have changed or been removed.
            record = self._record(resource, name, namespace)
        if dry_run:
            left = self.lifecycle.after_deletion(resource, record, delete_options)
        else:
            left = self.lifecycle.delete(resource, record, delete_options)
        return served_object(resource, left) if left else _deleted_status(resource, record)

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
    ) -> ObjectPage:
        """Delete all matching objects. Return the list of them as it was before, as served."""
        selection = select(
            resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
        )
        table = self.store.table(resource)
        # Fixed before the first deletion: webhooks are awaited, and the table changes meanwhile.
        chosen = [r for key in table.keys if selection.matches(r := table.records[key])]
        listed = ObjectPage(
            items=[serve(resource, record.raw) for record in chosen],
            resource_version=str(self.store.version),
        )
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
                continue  # the garbage collector removed it with its owner
        return listed

    async def bind(self, *, namespace: str, name: str, binding: JsonObject) -> None:
        """Bind the pod to a node. ConflictError if the uid differs or it is bound or terminating."""
        self._pods.bind(namespace=namespace, name=name, binding=take_body(binding))

    async def evict(self, *, namespace: str, name: str, eviction: JsonObject) -> None:
        """Delete the pod. TooManyRequestsError if a disruption budget does not allow it."""
        self._pods.evict(namespace=namespace, name=name, eviction=take_body(eviction))

    def logs(
        self, *, namespace: str, name: str, container: str = "", tail_lines: int | None = None
    ) -> str:
        """The log of a container. The name is optional if the pod has only one."""
        return self._pods.read_logs(
            namespace=namespace, name=name, container=container, tail_lines=tail_lines
        )


def read_version(text: str) -> int:
    """Parse a resourceVersion. It is opaque to clients, so a bound on its digits is enough."""
    version = read_count(text, most=INT64_MAX)
    if version is None:
        raise bad_request(f'resourceVersion: Invalid value: "{text[:40]}": must be a number')
    return version


def _deleted_status(resource: Resource, record: Record) -> JsonObject:
    details = {"name": record.name, "kind": resource.plural, "uid": record.uid}
    if resource.group:
        details["group"] = resource.group
    return {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": details,
    }  # fmt: skip
