"""How a run measures: the same for all its shapes."""

from collections.abc import Callable, Mapping

import msgspec

from bench.cluster.audit_log import AuditLog
from bench.cluster.shapes import PodTemplate
from vc.cluster import Cluster


class MeasureError(Exception):
    """Why nothing could be measured, and what to do about it."""


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster, and what is wanted of it."""

    cluster: Cluster
    namespace: str
    token: str
    """On the namespace: one that another has made is never deleted."""
    template: PodTemplate
    until: str
    """The stage that is waited for."""
    seconds_max: float
    """Of a shape."""
    warm_up_seconds_max: float
    """Before a shape, until the cluster is quiet; 0 measures at once."""
    pids: Mapping[str, int]
    audit_log: AuditLog | None
    say: Callable[[str], None]
