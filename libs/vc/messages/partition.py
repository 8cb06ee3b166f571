"""Chooses the partition of a fact: the one of the vcjob that owns the object.

All objects of a job have the same partition number in all topics, so one member of a consumer group
owns whole jobs and needs no locks. Pods and pod groups without a vcjob are partitioned by their own
key. Kinds that are not shared by a group are not split.
"""

import zlib

from vc.messages.topics import PARTITIONS, Split, Topic, fact_partitions
from vc.model.api import kinds
from vc.model.api.job import Command
from vc.model.api.meta import ApiObject, OwnerReference, controller_of, object_key


def partition_of_key(key: str) -> int:
    """The partition of a key; stable across processes, machines and hash seeds."""
    # Python's `hash` differs between processes; all of them must agree here.
    return zlib.crc32(key.encode()) % PARTITIONS


def vcjob_owner(obj: ApiObject) -> OwnerReference | None:
    """The vcjob that controls the object, or that a Command targets."""
    # A Command is not controlled by its job, but the member that owns the job must read it.
    owner = obj.target if isinstance(obj, Command) else controller_of(obj.metadata)
    return owner if kinds.JOBS.is_kind_of(owner) else None


def owning_key(obj: ApiObject) -> str:
    """`namespace/name` of the vcjob that owns the object, else the object's own key."""
    owner = vcjob_owner(obj)
    # References have no namespace, because an owner is in the namespace of the object.
    return object_key(obj.metadata.namespace, owner.name) if owner is not None else obj.key


def partition_of(kind: kinds.Kind, obj: ApiObject) -> int:
    """The partition of an object's fact."""
    return partition_of_key(owning_key(obj)) if fact_partitions(kind) > 1 else 0


def partition_on(topic: Topic, key: str) -> int:
    """The partition of a message that is no fact, by its key."""
    return 0 if topic.split is Split.SINGLE else partition_of_key(key)
