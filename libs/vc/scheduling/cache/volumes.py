"""Storage as the scheduler sees it: claims, volumes, storage classes, and attach limits of nodes.

It is updated one fact at a time. A session gets storage only if a waiting pod of ours uses a claim.
Our *choices* (`volume_rows.ClaimChoice`) are an overlay: the node or volume chosen for a claim
before its pods are bound. A choice is removed when a fact shows it, when the claim is deleted, or
some time after the API server refused it.
"""

from dataclasses import dataclass, field
from typing import Final

from vc.model.api.kubernetes import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from vc.model.api.meta import ApiObject
from vc.scheduling.model.rows import ON_NODE, PodRow, TaskStatus
from vc.scheduling.model.volume_rows import (
    ClaimChoice,
    ClaimRow,
    ClassRow,
    VolumeRow,
    claim_row,
    claims_of,
    class_row,
    volume_row,
)

CHOICE_REST_SECONDS: Final = 5.0
"""The backoff after a choice that could not be written."""

BIND_SECONDS_MAX: Final = 600.0
"""How long a reservation lasts for a pod whose claim has a node or volume and is not bound."""


@dataclass(frozen=True, kw_only=True, eq=False)
class VolumeTable:
    """A copy for one session; empty if no waiting pod uses a claim."""

    claims: dict[str, ClaimRow] = field(default_factory=dict)
    volumes: dict[str, VolumeRow] = field(default_factory=dict)
    kept_for: dict[str, str] = field(default_factory=dict)
    """Claim to the volume whose claimRef names it."""
    classes: dict[str, ClassRow] = field(default_factory=dict)
    limits: dict[str, dict[str, int]] = field(default_factory=dict)
    """Driver to node to its attach limit."""
    users: dict[str, dict[str, int]] = field(default_factory=dict)
    """Claim to node to the number of pods there that use it."""
    chosen: dict[str, ClaimChoice] = field(default_factory=dict)
    """By claim uid: choices that are not observed yet."""
    requested: dict[str, int] = field(default_factory=dict)
    """Claims of waiting pods, and the number of these pods."""
    stuck: frozenset[str] = frozenset()
    """Claims that got a node or volume long ago and are not bound. Used for membership tests only."""


class VolumeChoices:
    """The overlay of choices; it survives a rebuilt view."""

    def __init__(self) -> None:
        self.made: dict[str, ClaimChoice] = {}
        """By claim uid."""
        self._until: dict[str, float] = {}
        """When a refused choice expires, so that another one can be made."""

    def make(self, choice: ClaimChoice) -> None:
        self.made[choice.claim_uid] = choice
        self._until.pop(choice.claim_uid, None)

    def refused(self, choice: ClaimChoice, *, now: float) -> None:
        """The API server did not accept the choice."""
        if choice.claim_uid in self.made:
            self._until[choice.claim_uid] = now + CHOICE_REST_SECONDS

    def drop(self, uid: str) -> bool:
        self._until.pop(uid, None)
        return self.made.pop(uid, None) is not None

    def expire(self, now: float) -> bool:
        """Drop refused choices after their backoff, and return whether there were any."""
        over = [uid for uid, until in self._until.items() if until <= now]
        for uid in over:
            self.drop(uid)
        return bool(over)

    def shift(self, seconds: float) -> None:
        self._until = {uid: until + seconds for uid, until in self._until.items()}

    @property
    def rests_until(self) -> tuple[float, ...]:
        """When refused choices expire."""
        return tuple(self._until.values())


class VolumeTableBuilder:
    """All storage objects, by key or name."""

    def __init__(self, choices: VolumeChoices) -> None:
        self._choices = choices
        self._claims: dict[str, ClaimRow] = {}
        self._volumes: dict[str, VolumeRow] = {}
        self._kept_for: dict[str, str] = {}
        self._classes: dict[str, ClassRow] = {}
        self._limits: dict[str, dict[str, int]] = {}
        self._users: dict[str, dict[str, int]] = {}
        self._requested: dict[str, int] = {}
        """Claims of waiting pods of ours, and the number of these pods."""
        self._given_at: dict[str, float] = {}
        """By claim key: since when it is known to have a node or volume without being bound."""
        self._table: VolumeTable | None = None

    # -- facts -----------------------------------------------------------------------------------

    def put(self, storage: ApiObject | None, *, gone: bool) -> bool:
        """Apply an object, and return whether a session could decide differently."""
        match storage:
            case PersistentVolumeClaim():
                return self.put_claim(storage, gone=gone)
            case PersistentVolume():
                return self.put_volume(storage, gone=gone)
            case StorageClass():
                return self.put_class(storage, gone=gone)
            case CSINode():
                return self.put_node(storage, gone=gone)
            case _:
                return False

    def put_claim(self, claim: PersistentVolumeClaim, *, gone: bool) -> bool:
        """Apply a claim, and return whether a session could decide differently."""
        key = claim.key
        before = self._claims.pop(key, None)
        after = None if gone else claim_row(claim)
        if after is not None:
            self._claims[key] = after
        # A claim of the same name with another uid must not inherit the choice of its predecessor.
        if before is not None and (after is None or after.uid != before.uid):
            self._choices.drop(before.uid)
        # The fact now shows a node or a volume, so the overlay is no longer needed.
        if after is not None and (after.bound or after.selected_node):
            self._choices.drop(after.uid)
        self._table = None
        return key in self._requested and before != after

    def put_volume(self, volume: PersistentVolume, *, gone: bool) -> bool:
        """Apply a volume, and return whether a session could decide differently."""
        name = volume.metadata.name
        before = self._volumes.pop(name, None)
        # Another volume may name the same claim by now.
        if before is not None and self._kept_for.get(before.claim) == name:
            del self._kept_for[before.claim]
        if not gone:
            after = self._volumes[name] = volume_row(volume)
            if after.claim:
                self._kept_for[after.claim] = name
                kept = self._claims.get(after.claim)
                if kept is not None:
                    self._choices.drop(kept.uid)
        self._table = None
        return bool(self._requested)

    def put_class(self, storage: StorageClass, *, gone: bool) -> bool:
        """Apply a storage class, and return whether a session could decide differently."""
        name = storage.metadata.name
        before = self._classes.pop(name, None)
        if not gone:
            self._classes[name] = class_row(storage)
        self._table = None
        return bool(self._requested) and before != self._classes.get(name)

    def put_node(self, drivers: CSINode, *, gone: bool) -> bool:
        """Apply the CSI drivers of a node, and return whether a session could decide differently."""
        name = drivers.metadata.name
        before = {driver: nodes[name] for driver, nodes in self._limits.items() if name in nodes}
        for nodes in self._limits.values():
            nodes.pop(name, None)
        after: dict[str, int] = {}
        for driver in () if gone else drivers.spec.drivers:
            if driver.allocatable is not None and driver.allocatable.count is not None:
                after[driver.name] = max(0, driver.allocatable.count)
        for driver_name, count in after.items():
            self._limits.setdefault(driver_name, {})[name] = count
        self._table = None
        return bool(self._requested) and before != after

    def replace(self, before: PodRow | None, after: PodRow | None) -> None:
        """Replace the row of a pod, and update the users of its claims."""
        for row, sign in ((before, -1), (after, 1)):
            if row is None or not row.shape.pod_terms.claims:
                continue
            self._table = None
            for key in claims_of(row):
                if row.node and row.status in ON_NODE:
                    _add(self._users.setdefault(key, {}), row.node, sign)
                    if not self._users[key]:
                        del self._users[key]
                elif row.status is TaskStatus.PENDING and row.ours:
                    _add(self._requested, key, sign)

    # -- what we did -----------------------------------------------------------------------------

    def choose(self, choice: ClaimChoice) -> None:
        """Record a choice that is going to be written."""
        self._choices.make(choice)
        self._table = None

    def refused(self, choice: ClaimChoice, *, now: float) -> None:
        """A choice was not written."""
        self._choices.refused(choice, now=now)

    # -- for a session ---------------------------------------------------------------------------

    def table(self, now: float) -> VolumeTable:
        """The table, shared by sessions until something changes."""
        if self._choices.expire(now):
            self._table = None
        # Copying all storage is expensive, and most sessions need none of it.
        if not self._requested:
            self._given_at.clear()
            return VolumeTable()
        stuck = self._stuck(now)
        if self._table is None or self._table.stuck != stuck:
            self._table = VolumeTable(
                claims=dict(self._claims),
                volumes=dict(self._volumes),
                kept_for=dict(self._kept_for),
                classes=dict(self._classes),
                limits={driver: dict(nodes) for driver, nodes in self._limits.items()},
                users={claim: dict(nodes) for claim, nodes in self._users.items()},
                chosen=dict(self._choices.made),
                requested=dict(self._requested),
                stuck=stuck,
            )
        return self._table

    def _stuck(self, now: float) -> frozenset[str]:
        """Record the claims that got a node or volume since the last call, drop those that are
        bound, and return those that wait too long."""
        given = {key: None for key in self._requested if self._has_place(key)}
        self._given_at = {key: self._given_at.get(key, now) for key in given}
        return frozenset(k for k, at in self._given_at.items() if at + BIND_SECONDS_MAX <= now)

    def _has_place(self, key: str) -> bool:
        claim = self._claims.get(key)
        return (
            claim is not None
            and not claim.bound
            and (
                bool(claim.selected_node)
                or claim.uid in self._choices.made
                or key in self._kept_for
            )
        )

    def shift(self, seconds: float) -> None:
        """The clock was changed: the time that claims have waited stays the same."""
        self._choices.shift(seconds)
        self._given_at = {key: at + seconds for key, at in self._given_at.items()}

    def expiries(self) -> list[float]:
        """When a session is needed because of claims."""
        due = [at + BIND_SECONDS_MAX for at in self._given_at.values()]
        return [*due, *self._choices.rests_until]


def _add(counts: dict[str, int], key: str, sign: int) -> None:
    left = counts.get(key, 0) + sign
    if left:
        counts[key] = left
    else:
        counts.pop(key, None)
