"""The way of a write: read the body, default it, admit it, validate it, store it.

The order is the API server's: defaults, built-in admission, mutating webhooks, defaults again,
validation, validating webhooks, storage. Only webhooks are awaited; between the last of them and
the store nothing else can happen, and what changed while they were asked is noticed by version.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from vc_clock import Clock
from vc_cluster.errors import ServerError
from vc_model.struct import JsonObject
from vc_model.times import format_time
from vc_simcluster.admission import Admission, AdmissionRequest, warn
from vc_simcluster.builtin_resources import CRDS
from vc_simcluster.builtin_shapes import check_types
from vc_simcluster.builtin_validation import builtin_faults
from vc_simcluster.defaults import fill_defaults
from vc_simcluster.definitions import definition_faults, establish
from vc_simcluster.failures import (
    FieldFault,
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
)
from vc_simcluster.identity import UidSource, generated_name
from vc_simcluster.lifecycle import Lifecycle
from vc_simcluster.managed_fields import track_update
from vc_simcluster.metadata import check_shape, check_type, metadata_faults, take_body
from vc_simcluster.namespaces import Namespaces
from vc_simcluster.pod_admission import BuiltinAdmission
from vc_simcluster.resource import Resource
from vc_simcluster.schema import conform
from vc_simcluster.schema_validation import validate
from vc_simcluster.served import served_object, stored_object
from vc_simcluster.store import Record, Store
from vc_simcluster.updates import (
    bump_generation,
    carry_over,
    check_address,
    check_identity,
    check_namespace,
    drop_status_on_create,
    has_generation,
    update_faults,
)

UPDATE_ATTEMPTS_MAX: Final = 5
"""Of a patch without a version that others keep overtaking."""
NAME_ATTEMPTS_MAX: Final = 8
"""To find a generated name that is free."""


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a write is meant, beside its body."""

    namespace: str = ""
    name: str = ""
    subresource: str = ""
    dry_run: bool = False
    field_manager: str = ""
    user: str = ""
    applies: bool = False
    """Server-side apply keeps the book of field owners itself."""


class Writer:
    """Creates and changes objects."""

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
        if resource.namespaced:
            self._namespaces.check_open(resource, name=name, namespace=options.namespace)
        drop_status_on_create(resource, obj)
        obj = stored_object(resource, obj)
        _complete(resource, obj)
        self._builtin.admit(resource, obj, name=name)
        if self.admission is not None:
            obj = await self._mutate(resource, obj, None, options)
            _complete(resource, obj)
        self._refuse_faults(resource, obj, None)
        await self._ask(resource, obj, None, options)
        if resource.storage == CRDS.storage:
            establish(obj, obj["metadata"]["creationTimestamp"])
        if self._store.find(resource, (options.namespace, name)) is not None:
            raise already_exists(resource, name)
        if not options.dry_run:
            obj = self._store.put(resource, obj).object()
        return served_object(resource, obj)

    def _stamp(self, resource: Resource, obj: JsonObject, options: WriteOptions) -> None:
        """The metadata of a new object: the server's part, and what is left of the client's."""
        meta: JsonObject = obj["metadata"]
        if meta.get("resourceVersion"):
            raise bad_request("resourceVersion should not be set on objects to be created")
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
        meta["uid"] = self._uid_source()
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = self._free_name(resource, options.namespace, meta["generateName"])
        if not meta.get("name"):
            raise invalid(resource, "", metadata_faults(resource, meta))
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
        return name

    async def update(
        self,
        resource: Resource,
        change: Callable[[JsonObject], JsonObject],
        options: WriteOptions,
    ) -> JsonObject:
        """Write what `change` makes of the object as it is.

        Somebody may write while webhooks are asked. Then `change` is asked again; one that names a
        version fails there by itself, since the version has moved.
        """
        for _ in range(UPDATE_ATTEMPTS_MAX):
            record = self._store.find(resource, (options.namespace, options.name))
            if record is None:
                raise not_found(resource, options.name)
            new = read_object(resource, change(served_object(resource, record.object())))
            obj = await self._prepared(resource, record, new, options)
            current = self._store.find(resource, record.key)
            if current is record:
                return self._commit(resource, record, obj, options)
        raise conflict(resource, options.name)

    async def _prepared(
        self, resource: Resource, record: Record, new: JsonObject, options: WriteOptions
    ) -> JsonObject:
        """The object as it will be stored, admitted and valid."""
        old = record.object()
        check_address(resource, new, name=options.name, namespace=options.namespace)
        check_identity(resource, old, new)
        new = stored_object(resource, new)
        obj = carry_over(resource, old, new, subresource=options.subresource)
        _complete(resource, obj)
        if self.admission is not None:
            mutated = await self._mutate(resource, obj, old, options)
            obj = carry_over(resource, old, mutated, subresource=options.subresource)
            _complete(resource, obj)
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
        if obj == old or options.dry_run:
            return served_object(resource, obj)
        written = self._lifecycle.write(resource, obj)
        return served_object(resource, written.object() if written is not None else obj)

    async def _mutate(
        self, resource: Resource, obj: JsonObject, old: JsonObject | None, options: WriteOptions
    ) -> JsonObject:
        assert self.admission is not None
        request = self.request(resource, options, obj=obj, old=old)
        mutated = await self.admission.mutate(request)
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
        """The question for webhooks, with copies: they must not reach into what is being written."""
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
        check_types(resource, obj)


def read_object(resource: Resource, body: JsonObject) -> JsonObject:
    """The request's object as our own copy; Go clients write null where they mean nothing."""
    obj = take_body(body, without_nulls=not resource.custom)
    check_type(resource, obj)
    return obj


def _complete(resource: Resource, obj: JsonObject) -> None:
    """Defaults of the kind, in place."""
    if resource.schema is not None:
        conform(resource.schema, obj)
    elif not resource.custom:
        fill_defaults(resource, obj)


def _copy(obj: JsonObject) -> JsonObject:
    copied: JsonObject = msgspec.json.decode(msgspec.json.encode(obj))
    return copied
