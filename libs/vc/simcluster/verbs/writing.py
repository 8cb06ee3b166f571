"""The steps of a write: read the body, set defaults, admit, validate, store.

The order is that of the API server: defaults, built-in admission, mutating webhooks, defaults
again, validation, validating webhooks, storage. Only webhooks are awaited. Between the last webhook
and the store nothing else can run, and a change during the webhook calls is detected by version.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from vc.clock import Clock
from vc.cluster.errors import ServerError
from vc.model.api.struct import JsonObject
from vc.model.values.times import format_time
from vc.simcluster.apply.managed_fields import track_update
from vc.simcluster.controllers.lifecycle import Lifecycle
from vc.simcluster.schema.builtin_resources import CRDS
from vc.simcluster.schema.builtin_shapes import check_types
from vc.simcluster.schema.builtin_validation import builtin_faults
from vc.simcluster.schema.defaults import fill_defaults
from vc.simcluster.schema.definitions import definition_faults, establish
from vc.simcluster.schema.metadata import check_shape, check_type, metadata_faults, take_body
from vc.simcluster.schema.structural import conform
from vc.simcluster.schema.updates import (
    bump_generation,
    carry_over,
    check_address,
    check_identity,
    check_namespace,
    drop_status_on_create,
    has_generation,
    update_faults,
)
from vc.simcluster.schema.validation import validate
from vc.simcluster.store.failures import (
    FieldFault,
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
)
from vc.simcluster.store.identity import UidSource, generated_name
from vc.simcluster.store.resource import Resource
from vc.simcluster.store.served import served_object, stored_object
from vc.simcluster.store.store import Record, Store
from vc.simcluster.verbs.admission import Admission, AdmissionRequest, warn
from vc.simcluster.verbs.namespaces import Namespaces
from vc.simcluster.verbs.pod_admission import BuiltinAdmission

UPDATE_ATTEMPTS_MAX: Final = 5
"""Attempts of a patch without a resourceVersion when other writers keep changing the object."""
NAME_ATTEMPTS_MAX: Final = 8
"""Attempts to find an unused generated name."""


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a write, apart from its body."""

    namespace: str = ""
    name: str = ""
    subresource: str = ""
    dry_run: bool = False
    field_manager: str = ""
    user: str = ""
    applies: bool = False
    """Whether the write is a server-side apply, which maintains managedFields itself."""


class Writer:
    """Creates and updates objects."""

    def __init__(  # one collaborator per step of a write
        self,
        *,
        store: Store,
        clock: Clock,
        uid_source: UidSource,
        lifecycle: Lifecycle,
        namespaces: Namespaces,
    ) -> None:
        self.admission: Admission | None = None
        self._store = store
        self._clock = clock
        self._uid_source = uid_source
        self._lifecycle = lifecycle
        self._namespaces = namespaces
        self._builtin = BuiltinAdmission(store)

    async def create(
        self, resource: Resource, body: JsonObject, options: WriteOptions
    ) -> JsonObject:
        obj = read_object(resource, body)
        self._stamp(resource, obj, options)
        name = obj["metadata"]["name"]
        # Like the NamespaceLifecycle admission, which is among the first of Kubernetes: no webhook
        # sees a request for a missing or terminating namespace.
        if resource.namespaced:
            self._namespaces.check_open(resource, name=name, namespace=options.namespace)
        drop_status_on_create(resource, obj)
        obj = stored_object(resource, obj)
        _complete(resource, obj)
        # Before the webhooks, so that they see the priority and the cluster IP that are set here.
        self._builtin.admit(resource, obj, name=name)
        if self.admission is not None:
            obj = await self._mutate(resource, obj, None, options)
            # A webhook may add parts that have defaults of their own.
            _complete(resource, obj)
        # Validation runs after the mutating webhooks, because they may introduce faults or fix
        # them.
        self._refuse_faults(resource, obj, None)
        await self._ask(resource, obj, None, options)
        if resource.storage == CRDS.storage:
            establish(obj, obj["metadata"]["creationTimestamp"])
        # Another client may have created the object while webhooks were called.
        if self._store.find(resource, (options.namespace, name)) is not None:
            raise already_exists(resource, name)
        # A dry run passes all checks above and only leaves out the storage, as in Kubernetes.
        if not options.dry_run:
            obj = self._store.put(resource, obj).object()
        return served_object(resource, obj)

    def _stamp(self, resource: Resource, obj: JsonObject, options: WriteOptions) -> None:
        """Set the server's part of a new object's metadata, and drop what a client may not set."""
        meta: JsonObject = obj["metadata"]
        # A version in a create request is almost always a mistaken update.
        if meta.get("resourceVersion"):
            raise bad_request("resourceVersion should not be set on objects to be created")
        # Exported objects contain these fields; a new object must not inherit them.
        owned = ("uid", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
        for name in owned:
            meta.pop(name, None)
        if resource.namespaced:
            if not options.namespace:
                raise bad_request("an empty namespace may not be set during creation")
            check_namespace(meta.get("namespace", options.namespace), options.namespace)
            meta["namespace"] = options.namespace
        else:
            meta.pop("namespace", None)
        # Set even if the client sent one: a uid identifies one object for ever and must not repeat.
        meta["uid"] = self._uid_source()
        # An explicit name wins over generateName, as in Kubernetes.
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = self._free_name(resource, options.namespace, meta["generateName"])
        if not meta.get("name"):
            raise invalid(resource, "", metadata_faults(resource, meta))
        # The server's clock decides, because clients' clocks differ.
        meta["creationTimestamp"] = format_time(self._clock.now())
        if has_generation(resource):
            meta["generation"] = 1
        if not options.applies:
            meta.pop("managedFields", None)

    def _free_name(self, resource: Resource, namespace: str, prefix: str) -> str:
        name = ""
        for _ in range(NAME_ATTEMPTS_MAX):
            name = generated_name(prefix, self._uid_source())
            if self._store.find(resource, (namespace, name)) is None:
                break
        # After the last attempt the name may be in use: then the creation fails with 409.
        return name

    async def update(
        self,
        resource: Resource,
        change: Callable[[JsonObject], JsonObject],
        options: WriteOptions,
    ) -> JsonObject:
        """Store what `change` returns for the current object.

        Another writer may change the object while webhooks are called. Then `change` is called
        again. A change with a resourceVersion fails there with a conflict, because the version has
        advanced.
        """
        for _ in range(UPDATE_ATTEMPTS_MAX):
            # Read again in each attempt: the change must be computed from the newest object.
            record = self._store.find(resource, (options.namespace, options.name))
            if record is None:
                raise not_found(resource, options.name)
            new = read_object(resource, change(served_object(resource, record.object())))
            obj = await self._prepared(resource, record, new, options)
            # Records are immutable, so identity means that no other write happened meanwhile.
            current = self._store.find(resource, record.key)
            if current is record:
                return self._commit(resource, record, obj, options)
        raise conflict(resource, options.name)

    async def _prepared(
        self, resource: Resource, record: Record, new: JsonObject, options: WriteOptions
    ) -> JsonObject:
        """Return the object as it will be stored: admitted and valid."""
        old = record.object()
        check_address(resource, new, name=options.name, namespace=options.namespace)
        # Before `carry_over`, which replaces uid and version by those of the stored object.
        check_identity(resource, old, new)
        new = stored_object(resource, new)
        obj = carry_over(resource, old, new, subresource=options.subresource)
        _complete(resource, obj)
        if self.admission is not None:
            mutated = await self._mutate(resource, obj, old, options)
            # A webhook must not change what this subresource does not own either.
            obj = carry_over(resource, old, mutated, subresource=options.subresource)
            _complete(resource, obj)
        # After the webhooks, so that the fields which they change get an owner, too.
        if not options.applies:
            track_update(
                resource, old, obj, options.field_manager, options.subresource, self._now()
            )
        self._refuse_faults(resource, obj, old)
        await self._ask(resource, obj, old, options)
        return obj

    def _now(self) -> str:
        return format_time(self._clock.now())

    def _commit(
        self, resource: Resource, record: Record, obj: JsonObject, options: WriteOptions
    ) -> JsonObject:
        old = record.object()
        bump_generation(resource, old, obj)
        if resource.storage == CRDS.storage:
            establish(obj, self._now())
        # A write without an effect has no new version, as on a real server: watchers see nothing.
        if obj == old or options.dry_run:
            return served_object(resource, obj)
        # Not a plain put: a write that removes the last finalizer ends a terminating object.
        written = self._lifecycle.write(resource, obj)
        return served_object(resource, written.object() if written is not None else obj)

    async def _mutate(
        self, resource: Resource, obj: JsonObject, old: JsonObject | None, options: WriteOptions
    ) -> JsonObject:
        assert self.admission is not None
        request = self.request(resource, options, obj=obj, old=old)
        mutated = await self.admission.mutate(request)
        # The patch of a webhook may break the metadata on which all later steps rely.
        check_shape(mutated)
        return mutated

    async def _ask(
        self, resource: Resource, obj: JsonObject, old: JsonObject | None, options: WriteOptions
    ) -> None:
        if self.admission is not None:
            request = self.request(resource, options, obj=obj, old=old)
            warn(await self.admission.validate(request))

    @staticmethod
    def request(
        resource: Resource,
        options: WriteOptions,
        *,
        obj: JsonObject | None,
        old: JsonObject | None,
    ) -> AdmissionRequest:
        """Build an admission request with copies, so that webhooks cannot modify the pending
        write.
        """
        operation = "DELETE" if obj is None else ("CREATE" if old is None else "UPDATE")
        shown = obj or old
        if shown is None:
            raise ServerError("an admission request needs an object")
        return AdmissionRequest(
            operation=operation,
            resource=resource,
            name=shown["metadata"]["name"],
            namespace=options.namespace,
            subresource=options.subresource,
            object=_copy(obj) if obj is not None else None,
            old_object=_copy(old) if old is not None else None,
            dry_run=options.dry_run,
            user=options.user,
        )

    @staticmethod
    def _refuse_faults(resource: Resource, obj: JsonObject, old: JsonObject | None) -> None:
        faults: list[FieldFault] = metadata_faults(resource, obj["metadata"])
        if old is not None:
            faults += update_faults(old, obj)
        if resource.schema is not None:
            faults += validate(resource.schema, obj)
        elif resource.storage == CRDS.storage:
            faults += definition_faults(obj)
        else:
            faults += builtin_faults(resource, obj, old)
        if faults:
            raise invalid(resource, obj["metadata"]["name"], faults)
        # Last, because its messages are less specific than those of the faults above.
        check_types(resource, obj)


def read_object(resource: Resource, body: JsonObject) -> JsonObject:
    """A copy of the request's object. Nulls are dropped for built-in kinds, as Go clients send
    them.
    """
    obj = take_body(body, without_nulls=not resource.custom)
    check_type(resource, obj)
    return obj


def _complete(resource: Resource, obj: JsonObject) -> None:
    """Set the defaults of the kind in place."""
    if resource.schema is not None:
        conform(resource.schema, obj)
    elif not resource.custom:
        fill_defaults(resource, obj)


def _copy(obj: JsonObject) -> JsonObject:
    copied: JsonObject = msgspec.json.decode(msgspec.json.encode(obj))
    return copied
