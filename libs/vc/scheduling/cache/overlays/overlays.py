"""All overlays together: our own decisions, kept over the facts until the facts show them.

An entry is removed after an observation (a fact, or a live read), never by a timer alone: between
the write and its fact, the facts are older than what we did, and a session that read them would
decide the same thing twice. Overlays survive a rebuilt view for the same reason.
"""

from collections.abc import Callable, Container, Mapping

from vc.model.api.scheduling import PodGroup
from vc.scheduling.cache.overlays.assumed_binds import AssumedBinds
from vc.scheduling.cache.overlays.bind_backoff import BindBackoff
from vc.scheduling.cache.overlays.enqueued import EnqueuedGroups
from vc.scheduling.cache.overlays.evictions import Evictions
from vc.scheduling.cache.overlays.missing_groups import MissingGroups
from vc.scheduling.cache.overlays.pod_conditions import ConditionOverlay
from vc.scheduling.cache.overlays.pod_group_status import StatusOverlay
from vc.scheduling.cache.overlays.quarantine import Quarantine
from vc.scheduling.cache.overlays.queue_gates import RemovedGates
from vc.scheduling.cache.volumes import VolumeChoices
from vc.scheduling.model.deadlines import Expiring
from vc.scheduling.model.rows import PodRow


class Overlays:
    """One object per sort of decision."""

    def __init__(self, mark_dirty: Callable[[str], None]) -> None:
        """`mark_dirty` is called with the key of a group whose row must be created again."""
        self.assumed = AssumedBinds()
        self.bind_backoff = BindBackoff()
        self.evictions = Evictions()
        self.gates = RemovedGates()
        self.conditions = ConditionOverlay(mark_dirty)
        self.statuses = StatusOverlay()
        self.enqueued = EnqueuedGroups(mark_dirty)
        self.quarantine = Quarantine(mark_dirty)
        self.volume_choices = VolumeChoices()
        self.missing_groups = MissingGroups()

    def pod_deleted(self, uid: str) -> None:
        """Drop all entries of a pod."""
        self.assumed.pop(uid, None)
        self.bind_backoff.drop(uid)
        self.conditions.drop(uid)
        self.evictions.pod_deleted(uid)
        self.gates.pod_deleted(uid)

    def group_deleted(self, key: str, group: PodGroup) -> None:
        """Drop all entries of a pod group; its queue is kept while placed pods are left."""
        self.missing_groups.deleted(group)
        self.quarantine.drop(key)
        self.statuses.drop(key)
        self.enqueued.drop(key)
        self.evictions.nomination_ended(key)

    def over_pod(self, row: PodRow) -> PodRow:
        """The row of a pod with evictions and removed gates laid over it."""
        return self.gates.over(self.evictions.over(row))

    def forget_absent(self, pods: Mapping[str, PodRow], groups: Container[str]) -> None:
        """The view is complete: drop the entries of pods that are not in it, and of groups without pods."""
        self.missing_groups.forget_absent(groups)
        self.assumed.forget_absent(pods)
        self.conditions.forget_absent(pods)

    def timed(self) -> tuple[Expiring, ...]:
        """The overlays with entries that expire, except the choices of volumes, which expire with
        the volumes."""
        return (self.bind_backoff, self.evictions, self.conditions, self.enqueued)
