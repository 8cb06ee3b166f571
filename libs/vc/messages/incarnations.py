"""Incarnations of topics: each names the cluster whose watcher created it.

The format is `<uid of the cluster>.<random id>`. The uid is that of the namespace `kube-system`,
which is unique per cluster and permanent. Incarnations without a uid come from releases before this
rule. Their cluster is unknown, and the first watcher that finds them creates a new incarnation.

Epochs are transition counts of a Lease, which are 32-bit numbers, so no watcher can have written a
larger one.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from vc.messages.codec import CodecError

EPOCH_MAX: Final = 2**31 - 1
SEQUENCE_MAX: Final = 2**53
OFFSET_MAX: Final = 2**62
"""Upper limit of offsets in progress; larger than any log."""

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


def new_incarnation(cluster: str, random_bits: int) -> str:
    """The incarnation of newly created topics; `random_bits` is 64 random bits."""
    return f"{cluster}{_SEPARATOR}{random_bits:016x}"


def cluster_of(incarnation: str) -> str:
    """The uid of the cluster of an incarnation; empty if it has none."""
    cluster, separator, _ = incarnation.rpartition(_SEPARATOR)
    return cluster if separator else ""


def is_foreign(incarnation: str, *, own: str) -> bool:
    """Whether another cluster created it; always False while our own uid is unknown."""
    return bool(own) and cluster_of(incarnation) not in ("", own)


def foreign_owner(incarnations: Iterable[str], *, own: str) -> str:
    """The other cluster that owns these topics; empty if they are ours or have no owner.

    `incarnations` are those of the newest progress of each kind. A watcher publishes all kinds
    within a second, so one record of ours among them is enough: the others must be forged.
    """
    owners = Counter(cluster_of(incarnation) for incarnation in incarnations)
    # Without our own uid nothing can be called foreign.
    if not own or own in owners:
        return ""
    # Incarnations without a uid are of older releases and prove no owner. A Counter ignores the
    # deletion of a missing key.
    del owners[""]
    # The name breaks ties, so that all services report the same owner.
    return max(owners, key=lambda owner: (owners[owner], owner), default="")


def foreign_topics(*, own: str, owner: str) -> str:
    """The error message, with the remedy."""
    return (
        f"the topics belong to cluster {owner[:64]}, and this is cluster {own}: give this one another "
        f"Kafka or another KAFKA_TOPIC_PREFIX; if that cluster is gone for good, set "
        f"KAFKA_TAKE_OVER_FROM={owner[:64]} on the watcher"
    )


def usable_epoch(epoch: int) -> int:
    """Returns the epoch; raises ValueError if no Lease can have reached it."""
    if not 0 <= epoch <= EPOCH_MAX:
        raise ValueError(f"epoch {str(epoch)[:40]} is not within 0 and {EPOCH_MAX}")
    return epoch
