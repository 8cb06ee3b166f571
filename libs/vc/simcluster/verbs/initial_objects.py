"""The initial objects of a cluster: namespaces, system priority classes and registered CRDs."""

from vc.clock import Clock
from vc.model.api.struct import JsonObject
from vc.model.values.times import format_time
from vc.simcluster.schema.builtin_resources import CRDS, NAMESPACES, PRIORITY_CLASSES
from vc.simcluster.schema.defaults import fill_defaults
from vc.simcluster.schema.definitions import establish
from vc.simcluster.schema.metadata import take_body
from vc.simcluster.schema.registry import Registry
from vc.simcluster.store.identity import UidSource
from vc.simcluster.store.resource import Resource
from vc.simcluster.store.store import Store
from vc.simcluster.verbs.namespaces import FIRST_NAMESPACES, NAMES_THE_CLUSTER
from vc.simcluster.verbs.pod_admission import SYSTEM_PRIORITIES


def create_initial_objects(
    store: Store, registry: Registry, *, clock: Clock, uid_source: UidSource, cluster_uid: str = ""
) -> None:
    """Store the initial objects in an empty store that has no observers yet.

    `cluster_uid` becomes the uid of `kube-system`, which identifies a cluster. If it is empty, a
    new uid is generated.
    """
    created_at = format_time(clock.now())

    def put(resource: Resource, obj: JsonObject, *, uid: str = "") -> None:
        obj |= {"apiVersion": resource.api_version, "kind": resource.kind}
        obj["metadata"] |= {"uid": uid or uid_source(), "creationTimestamp": created_at}
        fill_defaults(resource, obj)
        store.put(resource, obj)

    for name in FIRST_NAMESPACES:
        # Clients identify a cluster by the uid of kube-system, so a restart can keep the identity.
        uid = cluster_uid if name == NAMES_THE_CLUSTER else ""
        put(NAMESPACES, {"metadata": {"name": name}}, uid=uid)
    for name, value in SYSTEM_PRIORITIES.items():
        put(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
    # CRDs that were loaded at start must also be visible as objects, for kubectl and clients.
    for crd in list(registry.crds.values()):
        obj = take_body(crd)
        establish(obj, created_at)
        put(CRDS, obj)
