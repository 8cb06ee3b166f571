"""The verb of server-side apply: it creates an absent object and merges into an existing one."""

from vc.model.api.struct import Json, JsonObject
from vc.simcluster.apply.server_side_apply import ApplyOptions, apply_config, first_apply
from vc.simcluster.store.failures import bad_request
from vc.simcluster.store.resource import Resource
from vc.simcluster.store.store import Store
from vc.simcluster.verbs.writing import WriteOptions, Writer, read_object


async def apply(
    resource: Resource,
    config: Json,
    options: WriteOptions,
    *,
    force: bool,
    now: str,
    store: Store,
    writer: Writer,
) -> JsonObject:
    """Apply a configuration and return the resulting object.

    `now` is recorded in managedFields next to the field manager.
    """
    # Ownership is recorded per manager, so an apply without one could not be recorded.
    if not options.field_manager:
        raise bad_request("PatchOptions.meta.k8s.io is invalid: fieldManager: Required value")
    wanted = read_object(resource, config)
    # Applied configurations are often exported objects; these two fields belong to the server.
    for one in ("managedFields", "resourceVersion"):
        wanted["metadata"].pop(one, None)
    how = ApplyOptions(
        manager=options.field_manager, now=now, force=force, subresource=options.subresource
    )
    # A subresource cannot create its object, so an absent object fails in `update` with 404.
    absent = store.find(resource, (options.namespace, options.name)) is None
    if absent and not options.subresource:
        wanted["metadata"].setdefault("name", options.name)
        return await writer.create(resource, first_apply(resource, wanted, how), options)

    def change(live: JsonObject) -> JsonObject:
        return apply_config(resource, live, wanted, how)

    return await writer.update(resource, change, options)
