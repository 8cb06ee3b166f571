"""What a cluster has from its first moment on: namespaces, system priorities, known definitions."""

from vc_clock import Clock
from vc_model.struct import JsonObject
from vc_model.times import format_time
from vc_simcluster.builtin_resources import CRDS, NAMESPACES, PRIORITY_CLASSES
from vc_simcluster.defaults import fill_defaults
from vc_simcluster.definitions import establish
from vc_simcluster.identity import UidSource
from vc_simcluster.metadata import take_body
from vc_simcluster.namespaces import FIRST_NAMESPACES, NAMES_THE_CLUSTER
from vc_simcluster.pod_admission import SYSTEM_PRIORITIES
from vc_simcluster.registry import Registry
from vc_simcluster.resource import Resource
from vc_simcluster.store import Store


def furnish(
    store: Store, registry: Registry, *, clock: Clock, uid_source: UidSource, cluster_uid: str = ""
) -> None:
    """Put it all into an empty store, which nobody observes yet.

    `cluster_uid` is that of `kube-system`, by which clusters are told apart; a new one unless said.
    """
    born = format_time(clock.now())

    def put(resource: Resource, obj: JsonObject, *, uid: str = "") -> None:
        obj |= {"apiVersion": resource.api_version, "kind": resource.kind}
        obj["metadata"] |= {"uid": uid or uid_source(), "creationTimestamp": born}
        fill_defaults(resource, obj)
        store.put(resource, obj)

    for name in FIRST_NAMESPACES:
        uid = cluster_uid if name == NAMES_THE_CLUSTER else ""
        put(NAMESPACES, {"metadata": {"name": name}}, uid=uid)
    for name, value in SYSTEM_PRIORITIES.items():
        put(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
    for crd in list(registry.crds.values()):
        obj = take_body(crd)
        establish(obj, born)
        put(CRDS, obj)
