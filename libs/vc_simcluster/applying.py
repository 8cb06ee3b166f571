"""The verb of server-side apply: who writes what, and a new object where there is none."""

from vc_model.struct import Json, JsonObject
from vc_simcluster.failures import bad_request
from vc_simcluster.resource import Resource
from vc_simcluster.server_side_apply import ApplyOptions, apply_config, first_apply
from vc_simcluster.store import Store
from vc_simcluster.writing import WriteOptions, Writer, read_object


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
    """The object as it is afterwards; `now` is written down beside the fields' manager."""
    if not options.field_manager:
        raise bad_request("PatchOptions.meta.k8s.io is invalid: fieldManager: Required value")
    wanted = read_object(resource, config)
    for one in ("managedFields", "resourceVersion"):
        wanted["metadata"].pop(one, None)
    how = ApplyOptions(
        manager=options.field_manager, now=now, force=force, subresource=options.subresource
    )
    absent = store.find(resource, (options.namespace, options.name)) is None
    if absent and not options.subresource:
        wanted["metadata"].setdefault("name", options.name)
        return await writer.create(resource, first_apply(resource, wanted, how), options)

    def change(live: JsonObject) -> JsonObject:
        return apply_config(resource, live, wanted, how)

    return await writer.update(resource, change, options)
