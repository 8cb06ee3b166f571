"""Which partition a fact goes to: the one of the vcjob that owns it.

Everything of a job shares one partition number over all topics, so one member of a consumer group
owns whole jobs and needs no locks. Pods and pod groups of no vcjob go by their own key; kinds that
nobody shares are not split at all.
"""

import zlib

from vc_messages.topics import PARTITIONS, Split, Topic, fact_partitions
from vc_model import kinds
from vc_model.job import Command
from vc_model.meta import ApiObject, OwnerReference, controller_of, object_key


def partition_of_key(key: str) -> int:
    """Stable over processes, machines and hash seeds."""
    return zlib.crc32(key.encode()) % PARTITIONS


def vcjob_owner(obj: ApiObject) -> OwnerReference | None:
    """The vcjob that controls the object, or that a Command is for."""
    owner = obj.target if isinstance(obj, Command) else controller_of(obj.metadata)
    return owner if kinds.JOBS.is_kind_of(owner) else None


def owning_key(obj: ApiObject) -> str:
    """`namespace/name` of the vcjob that owns the object, else the object's own key."""
    owner = vcjob_owner(obj)
    return object_key(obj.metadata.namespace, owner.name) if owner is not None else obj.key


def partition_of(kind: kinds.Kind, obj: ApiObject) -> int:
    """The partition of an object's fact."""
    return partition_of_key(owning_key(obj)) if fact_partitions(kind) > 1 else 0


def partition_on(topic: Topic, key: str) -> int:
    """The partition of a message that is no fact, by its key."""
    return 0 if topic.split is Split.SINGLE else partition_of_key(key)
