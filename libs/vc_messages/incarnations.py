"""Whose topics these are: an incarnation names the cluster whose watcher made it, and its birth.

`<uid of the cluster>.<random id>`; the uid is that of the namespace `kube-system`, which no cluster
shares with another and none can lose. Incarnations without a uid were made by releases before this rule;
nobody can tell whose they are, and the first watcher that finds them makes one of its own.

Epochs are transition counts of a Lease, which are 32-bit numbers: no watcher can have written more.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from vc_messages.codec import CodecError

EPOCH_MAX: Final = 2**31 - 1
SEQUENCE_MAX: Final = 2**53
OFFSET_MAX: Final = 2**62
"""Of progress; more than any log holds."""

_SEPARATOR: Final = "."


class UnknownKindError(CodecError):
    """Progress of a kind that this release does not follow."""

    code = "unknown-kind"


class ForeignClusterError(CodecError):
    """Progress of another cluster's watcher."""

    code = "foreign-cluster"

    def __init__(self, cluster: str) -> None:
        super().__init__(f"progress of another cluster: {cluster[:64]!r}")
        self.cluster = cluster


def new_incarnation(cluster: str, birth: int) -> str:
    """Of topics that begin anew; `birth` is 64 random bits."""
    return f"{cluster}{_SEPARATOR}{birth:016x}"


def cluster_of(incarnation: str) -> str:
    """The uid of the cluster it belongs to; empty when it does not say."""
    cluster, separator, _ = incarnation.rpartition(_SEPARATOR)
    return cluster if separator else ""


def is_foreign(incarnation: str, *, own: str) -> bool:
    """Whether another cluster made it; never while our own uid is not known."""
    return bool(own) and cluster_of(incarnation) not in ("", own)


def foreign_owner(incarnations: Iterable[str], *, own: str) -> str:
    """The other cluster that these topics belong to; empty when they are ours, or nobody's.

    `incarnations` are those of the newest progress of each kind. A watcher tells all kinds within a
    second, so one record of ours among them is enough: somebody forged the others.
    """
    owners = Counter(cluster_of(incarnation) for incarnation in incarnations)
    if not own or own in owners:
        return ""
    del owners[""]
    return max(owners, key=lambda owner: (owners[owner], owner), default="")


def foreign_topics(*, own: str, owner: str) -> str:
    """What is wrong, and what helps."""
    return (
        f"the topics belong to cluster {owner[:64]}, and this is cluster {own}: give this one another "
        f"Kafka or another KAFKA_TOPIC_PREFIX; if that cluster is gone for good, set "
        f"KAFKA_TAKE_OVER_FROM={owner[:64]} on the watcher"
    )


def usable_epoch(epoch: int) -> int:
    """The same; ValueError when no Lease can have counted so far."""
    if not 0 <= epoch <= EPOCH_MAX:
        raise ValueError(f"epoch {str(epoch)[:40]} is not within 0 and {EPOCH_MAX}")
    return epoch
