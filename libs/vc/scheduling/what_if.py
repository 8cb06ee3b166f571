"""What-if: run the real scheduling cycle over a changed copy of the cluster until it is stable.

A `Simulation` is a cluster in memory: a cluster cache filled from facts, and sessions whose
decisions take effect at once. The decisions are applied as overlays by the same calls as in the
scheduler service. Victims are deleted before the next session, and no controller creates them
again. So the result shows what the scheduler would do, not what controllers do afterwards. The only
exception are the pods of newly enqueued groups, which `make_pods` supplies. Without them no such
group would ever run.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from vc.messages.sessions import JobReason
from vc.messages.view import Change
from vc.model.api import kinds
from vc.model.api.keys import QUEUE_ALLOCATED
from vc.model.api.kinds import Kind
from vc.model.api.meta import ApiObject, object_key
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup
from vc.scheduling.cache.cluster_cache import KINDS, ClusterCache
from vc.scheduling.cache.overlays.assumed_binds import AssumedBind
from vc.scheduling.cache.pod_groups import read_group
from vc.scheduling.closing.share_report import Figures, figures
from vc.scheduling.conf.model import DEFAULT_SCHEDULER_NAMES, Conf
from vc.scheduling.cycle import run_cycle
from vc.scheduling.model.decisions import Decisions, PodRef
from vc.scheduling.model.rows import INQUEUE, RUNNING, UNKNOWN

SESSIONS_MAX: Final = 20
"""Limit of the sessions of one run. If it is exceeded, the outcome is not stable."""

SESSION_SECONDS: Final = 1.0
"""Simulated time between two sessions, so that delays and time-outs make progress."""

_KIND_OF: Final[dict[type, Kind]] = {kind.type: kind for kind in KINDS}


class Victim(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that would be evicted."""

    pod: str
    group: str
    """The pod group of the pod."""
    node: str
    made_for: str
    """The group it would be evicted for."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a simulation."""

    sessions: int
    """The number of sessions that changed something."""
    stable: bool
    """Whether the simulation ended before the limit of sessions was exceeded."""
    placements: dict[str, dict[str, str]]
    """Nodes of the bound pods: group to pod to node."""
    victims: tuple[Victim, ...]
    released: tuple[str, ...]
    reasons: dict[str, JobReason]
    """The reasons of the groups that would still wait."""
    wake_at: float | None = None
    """The wake-up that the last session registered."""

    def starts(self, group: str) -> bool:
        """Whether pods of the group were bound and it no longer waits for its minimum."""
        return group in self.placements and group not in self.reasons


_ENQUEUED_PHASES: Final = (INQUEUE, RUNNING, UNKNOWN)


class Simulation:
    """A cluster in memory that can be changed and scheduled."""

    def __init__(
        self,
        objects: Iterable[ApiObject],
        conf: Conf,
        *,
        now: float,
        scheduler_names: tuple[str, ...] = DEFAULT_SCHEDULER_NAMES,
        make_pods: Callable[[str], Iterable[ApiObject]] = lambda _: (),
    ) -> None:
        """`make_pods` returns the pods that a controller would create for an enqueued group."""
        self._cache = ClusterCache(scheduler_names)
        self._conf = conf
        self._make_pods = make_pods
        self._facts: dict[tuple[str, str], ApiObject] = {}
        self._sessions = 0
        self.now = now
        self.put(objects)
        self._adopt_inqueue()
        self._cache.forget_absent()  # nominations written on pods apply in the simulation too

    def _adopt_inqueue(self) -> None:
        """Register enqueued groups and lifted gates as decisions of this process.

        The simulation continues where the running scheduler is, so the phase Inqueue and the
        queue-allocation annotation in the facts are trusted.
        """
        for obj in self._facts.values():
            if isinstance(obj, PodGroup) and obj.status.phase in _ENQUEUED_PHASES:
                claim = dict(read_group(obj).min_resources or ())
                self._cache.overlays.enqueued.put(obj.key, obj.metadata.uid, claim, now=self.now)
            elif isinstance(obj, Pod) and obj.metadata.annotations.get(QUEUE_ALLOCATED) == "true":
                self._cache.remove_gate(obj.key, obj.metadata.uid)

    # -- facts -----------------------------------------------------------------------------------

    def put(self, objects: Iterable[ApiObject]) -> None:
        """Add or replace objects. Kinds that the scheduler does not use are ignored."""
        for obj in objects:
            kind = _KIND_OF.get(type(obj))
            if kind is not None:
                before = self._facts.get((kind.short, obj.key))
                self._facts[kind.short, obj.key] = obj
                self._apply(kind, obj.key, before, obj)

    def drop(self, kind: Kind, key: str) -> bool:
        """Delete an object; False if it does not exist."""
        before = self._facts.pop((kind.short, key), None)
        if before is not None:
            self._apply(kind, key, before, None)
        return before is not None

    def drop_group(self, key: str) -> bool:
        """Delete a pod group and its pods; False if the group does not exist."""
        members = [row.key for row in self._cache.pods.values() if row.group == key]
        for pod in members:
            self.drop(kinds.PODS, pod)
        return self.drop(kinds.PODGROUPS, key)

    def _apply(
        self, kind: Kind, key: str, before: ApiObject | None, after: ApiObject | None
    ) -> None:
        """Apply a change of one object to the cluster cache."""
        self._cache.apply(Change(kind=kind, key=key, partition=0, before=before, after=after))

    @property
    def problems(self) -> dict[str, str]:
        """Why objects cannot be processed, by `kind key`."""
        return self._cache.problems

    # -- sessions --------------------------------------------------------------------------------

    def figures(self) -> Figures:
        """The share report of the cluster as it is now in the simulation."""
        snapshot = self._cache.snapshot("what-if", now=self.now)
        return figures(snapshot, self._conf, self.now)

    def run_sessions(self, *, until: str = "") -> Outcome:
        """Run sessions until one changes nothing, or until the group `until` has its minimum bound.

        At most `SESSIONS_MAX` + 1 sessions run.
        """
        placements: dict[str, dict[str, str]] = {}
        victims: list[Victim] = []
        released: list[str] = []
        terminating: tuple[PodRef, ...] = ()
        busy = 0
        for _ in range(SESSIONS_MAX + 1):
            # Victims of the previous session are deleted before this one, so that it can bind the
            # jobs for which they were evicted.
            self._delete(terminating)
            decisions = self._session()
            for gang in decisions.binds:
                known = placements.setdefault(gang.group, {})
                known.update({object_key(b.namespace, b.name): b.node for b in gang.binds})
            victims += self._victims(decisions)
            released += [_key(ref) for release in decisions.releases for ref in release.pods]
            terminating = self._overlay(decisions)
            for group in decisions.enqueued:
                self._make_missing(group)
            if not (decisions.enqueued or decisions.binds or terminating):
                break
            busy += 1
            # A caller that asks about one group does not need the sessions after its start.
            if until in placements and all(job.group != until for job in decisions.reasons):
                break
        return Outcome(
            sessions=busy,
            stable=busy <= SESSIONS_MAX,
            placements=placements,
            victims=tuple(victims),
            released=tuple(released),
            reasons={job.group: job for job in decisions.reasons},
            wake_at=decisions.wake_at,
        )

    def _session(self) -> Decisions:
        """Advance the simulated time and run one session."""
        self._sessions += 1
        self.now += SESSION_SECONDS
        snapshot = self._cache.snapshot(f"what-if-{self._sessions}", now=self.now)
        return run_cycle(snapshot, self._conf, self.now)

    def _victims(self, decisions: Decisions) -> list[Victim]:
        """The victims of the decisions, read before they are deleted."""
        found: list[Victim] = []
        for eviction in decisions.evictions:
            for ref in eviction.pods:
                row = self._cache.pods[_key(ref)]
                victim = Victim(
                    pod=row.key, group=row.group, node=row.node, made_for=eviction.group
                )
                found.append(victim)
        return found

    def _overlay(self, decisions: Decisions) -> tuple[PodRef, ...]:
        """Apply decisions as overlays, as the scheduler service does; return the pods to delete.

        Lifted gates and volume choices are not applied.
        """
        cache, terminating = self._cache, []
        for gang in decisions.binds:
            for bind in gang.binds:
                key = object_key(bind.namespace, bind.name)
                cache.assume(AssumedBind(key=key, uid=bind.uid, node=bind.node))
            cache.overlays.evictions.nomination_ended(gang.group)
        for takeover in decisions.takeovers:
            cache.overlays.evictions.take_over(takeover, now=self.now)
        for eviction in decisions.evictions:
            for ref in eviction.pods:
                cache.evict(_key(ref), ref.uid)
                terminating.append(ref)
            cache.overlays.evictions.nominate(eviction, now=self.now)
        for enqueued_groups in decisions.enqueued_groups:
            cache.overlays.enqueued.put(
                enqueued_groups.group, enqueued_groups.uid, enqueued_groups.claim, now=self.now
            )
        for change in decisions.statuses:
            key = object_key(change.namespace, change.name)
            cache.assume_status(key, change.uid, status=change.status, now=self.now)
        terminating += [ref for release in decisions.releases for ref in release.pods]
        return tuple(terminating)

    def _make_missing(self, group: str) -> None:
        """Create the pods of an enqueued group that do not exist yet."""
        made = [obj for obj in self._make_pods(group) if obj.key not in self._cache.pods]
        self.put(made)

    def _delete(self, terminating: Sequence[PodRef]) -> None:
        """Delete evicted and released pods."""
        for ref in terminating:
            self.drop(kinds.PODS, _key(ref))


def _key(ref: PodRef) -> str:
    return object_key(ref.namespace, ref.name)
