"""Storage as the scheduler sees it: claims, volumes, classes, and what nodes can attach.

Kept one fact at a time. Nothing of it reaches a session unless a waiting pod of ours names a claim.
Over the facts lie our *choices* (`decisions.ClaimChoice`): which node, or which volume, a claim was
given before its pods are bound. A choice leaves when a fact shows it, when the claim is gone, or a
while after the API server refused it.
"""

from dataclasses import dataclass, field
from typing import Final

from vc_model.kubernetes import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from vc_model.meta import ApiObject
from vc_scheduler.logic.rows import ON_NODE, PodRow, Task
from vc_scheduler.logic.volume_rows import (
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
"""A choice that could not be written rests so long before another is made."""

BIND_SECONDS_MAX: Final = 600.0
"""How long room is kept for a pod whose claim was given its place and is not bound."""


@dataclass(frozen=True, kw_only=True, eq=False)
class VolumeTable:
    """A copy for one session; empty when no waiting pod names a claim."""

    claims: dict[str, ClaimRow] = field(default_factory=dict)
    volumes: dict[str, VolumeRow] = field(default_factory=dict)
    kept_for: dict[str, str] = field(default_factory=dict)
    """Claim to the volume that names it."""
    classes: dict[str, ClassRow] = field(default_factory=dict)
    limits: dict[str, dict[str, int]] = field(default_factory=dict)
    """Driver to node to how many volumes it takes."""
    users: dict[str, dict[str, int]] = field(default_factory=dict)
    """Claim to node to how many pods with it lie there."""
    chosen: dict[str, ClaimChoice] = field(default_factory=dict)
    """By claim uid: what we chose and have not seen."""
    asked: dict[str, int] = field(default_factory=dict)
    """Claims that waiting pods name, and how many of them."""
    stuck: frozenset[str] = frozenset()
    """Claims that were given their place long ago and are not bound; only asked whether it contains."""


class Choices:
    """Our overlay; outlives a rebuilt view."""

    def __init__(self) -> None:
        self.made: dict[str, ClaimChoice] = {}
        """By claim uid."""
        self._until: dict[str, float] = {}
        """When a choice that was refused may be made anew."""

    def make(self, choice: ClaimChoice) -> None:
        self.made[choice.claim_uid] = choice
        self._until.pop(choice.claim_uid, None)

    def refused(self, choice: ClaimChoice, *, now: float) -> None:
        """The API server did not take it."""
        if choice.claim_uid in self.made:
            self._until[choice.claim_uid] = now + CHOICE_REST_SECONDS

    def drop(self, uid: str) -> bool:
        self._until.pop(uid, None)
        return self.made.pop(uid, None) is not None

    def expire(self, now: float) -> bool:
        """Forget refused choices whose rest is over; whether there were any."""
        over = [uid for uid, until in self._until.items() if until <= now]
        for uid in over:
            self.drop(uid)
        return bool(over)

    def shift(self, seconds: float) -> None:
        self._until = {uid: until + seconds for uid, until in self._until.items()}

    @property
    def rests_until(self) -> tuple[float, ...]:
        """When refused choices may be made anew."""
        return tuple(self._until.values())


class VolumeColumns:
    """All storage, by key or name."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._claims: dict[str, ClaimRow] = {}
        self._volumes: dict[str, VolumeRow] = {}
        self._kept_for: dict[str, str] = {}
        self._classes: dict[str, ClassRow] = {}
        self._limits: dict[str, dict[str, int]] = {}
        self._users: dict[str, dict[str, int]] = {}
        self._asked: dict[str, int] = {}
        """Claims that waiting pods of ours name, and how many of them."""
        self._given_at: dict[str, float] = {}
        """Since when we know that a claim has its place and is not bound; by key."""
        self._table: VolumeTable | None = None

    # -- facts -----------------------------------------------------------------------------------

    def put(self, storage: ApiObject | None, *, gone: bool) -> bool:
        """Take an object in; whether a session could tell the difference."""
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
        """Take a claim in; whether a session could tell the difference."""
        key = claim.key
        before = self._claims.pop(key, None)
        after = None if gone else claim_row(claim)
        if after is not None:
            self._claims[key] = after
        if before is not None and (after is None or after.uid != before.uid):
            self._choices.drop(before.uid)
        if after is not None and (after.bound or after.selected_node):
            self._choices.drop(after.uid)
        self._table = None
        return key in self._asked and before != after

    def put_volume(self, volume: PersistentVolume, *, gone: bool) -> bool:
        """Take a volume in."""
        name = volume.metadata.name
        before = self._volumes.pop(name, None)
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
        return bool(self._asked)

    def put_class(self, storage: StorageClass, *, gone: bool) -> bool:
        """Take a class in."""
        name = storage.metadata.name
        before = self._classes.pop(name, None)
        if not gone:
            self._classes[name] = class_row(storage)
        self._table = None
        return bool(self._asked) and before != self._classes.get(name)

    def put_node(self, drivers: CSINode, *, gone: bool) -> bool:
        """Take the drivers of a node in."""
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
        return bool(self._asked) and before != after

    def replace(self, before: PodRow | None, after: PodRow | None) -> None:
        """A pod that has claims is exchanged."""
        for row, sign in ((before, -1), (after, 1)):
            if row is None or not row.shape.peering.claims:
                continue
            self._table = None
            for key in claims_of(row):
                if row.node and row.status in ON_NODE:
                    _add(self._users.setdefault(key, {}), row.node, sign)
                    if not self._users[key]:
                        del self._users[key]
                elif row.status is Task.PENDING and row.ours:
                    _add(self._asked, key, sign)

    # -- what we did -----------------------------------------------------------------------------

    def choose(self, choice: ClaimChoice) -> None:
        """We are writing this."""
        self._choices.make(choice)
        self._table = None

    def refused(self, choice: ClaimChoice, *, now: float) -> None:
        """It was not written."""
        self._choices.refused(choice, now=now)

    # -- for a session ---------------------------------------------------------------------------

    def table(self, now: float) -> VolumeTable:
        """Shared by sessions until something changes."""
        if self._choices.expire(now):
            self._table = None
        if not self._asked:
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
                asked=dict(self._asked),
                stuck=stuck,
            )
        return self._table

    def _stuck(self, now: float) -> frozenset[str]:
        """Notes who has got a place since the last time, and forgets who is bound."""
        given = {key: None for key in self._asked if self._has_place(key)}
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
        """The clock was set: claims have waited for as long as they have."""
        self._choices.shift(seconds)
        self._given_at = {key: at + seconds for key, at in self._given_at.items()}

    def expiries(self) -> list[float]:
        """When a session is wanted for the sake of claims."""
        due = [at + BIND_SECONDS_MAX for at in self._given_at.values()]
        return [*due, *self._choices.rests_until]


def _add(counts: dict[str, int], key: str, sign: int) -> None:
    left = counts.get(key, 0) + sign
    if left:
        counts[key] = left
    else:
        counts.pop(key, None)
