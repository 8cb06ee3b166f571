"""What would happen: facts and changes to them, through the real cycle, until nothing more happens.

A `Trial` is a cluster of its own in memory: columns filled from facts, and sessions whose decisions
come true at once, laid over the columns by the same calls as in the scheduler's shell. Victims are gone
before the next session, and nobody makes them again: what is told is what the scheduler would do, not
what controllers then make of it. Only the pods of groups that are let in are made, as `make_pods` says:
without them nothing would ever run.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from vc_messages.sessions import JobReason
from vc_messages.view import Change
from vc_model import kinds
from vc_model.keys import QUEUE_ALLOCATED
from vc_model.kinds import Kind
from vc_model.meta import ApiObject, object_key
from vc_model.pod import Pod
from vc_model.scheduling import PodGroup
from vc_scheduler.logic.cache.assumed import Assumed
from vc_scheduler.logic.columns import KINDS, Columns
from vc_scheduler.logic.conf import DEFAULT_SCHEDULER_NAMES, Conf
from vc_scheduler.logic.cycle import run_cycle
from vc_scheduler.logic.decisions import Decisions, PodRef
from vc_scheduler.logic.figures import Figures, figures
from vc_scheduler.logic.groups import read_group
from vc_scheduler.logic.rows import INQUEUE, RUNNING, UNKNOWN

SESSIONS_MAX: Final = 20
"""Until nothing more happens; then we stop looking and say so."""

SESSION_SECONDS: Final = 1.0
"""Between two sessions of a trial, so that what depends on time goes on."""

_KIND_OF: Final[dict[type, Kind]] = {kind.type: kind for kind in KINDS}


class Victim(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that would have to make room."""

    pod: str
    group: str
    """Whose it is."""
    node: str
    made_for: str
    """The group it would be evicted for."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What would happen."""

    sessions: int
    """In which something happened."""
    stable: bool
    """Whether then nothing more happened."""
    placements: dict[str, dict[str, str]]
    """Group to pod to node."""
    victims: tuple[Victim, ...]
    released: tuple[str, ...]
    reasons: dict[str, JobReason]
    """Of the groups that would still wait."""
    wake_at: float | None = None
    """When the last session asked for another one."""

    def starts(self, group: str) -> bool:
        """Whether its pods were bound and it no longer waits for its minimum."""
        return group in self.placements and group not in self.reasons


_LET_IN: Final = (INQUEUE, RUNNING, UNKNOWN)


class Trial:
    """A cluster in memory, to try things on."""

    def __init__(
        self,
        objects: Iterable[ApiObject],
        conf: Conf,
        *,
        now: float,
        scheduler_names: tuple[str, ...] = DEFAULT_SCHEDULER_NAMES,
        make_pods: Callable[[str], Iterable[ApiObject]] = lambda _: (),
    ) -> None:
        """`make_pods` gives the pods of a group that was let in, as far as they do not exist."""
        self._columns = Columns(scheduler_names)
        self._conf = conf
        self._make_pods = make_pods
        self._facts: dict[tuple[str, str], ApiObject] = {}
        self._sessions = 0
        self.now = now
        self.put(objects)
        self._adopt_inqueue()
        self._columns.forget_absent()  # promises of room that pods tell of hold here too

    def _adopt_inqueue(self) -> None:
        """A trial asks what the running scheduler would do next: what says Inqueue was enqueued by it."""
        for obj in self._facts.values():
            if isinstance(obj, PodGroup) and obj.status.phase in _LET_IN:
                claim = dict(read_group(obj).min_resources or ())
                self._columns.let_in.put(obj.key, obj.metadata.uid, claim, now=self.now)
            elif isinstance(obj, Pod) and obj.metadata.annotations.get(QUEUE_ALLOCATED) == "true":
                self._columns.lift_gate(obj.key, obj.metadata.uid)

    # -- facts -----------------------------------------------------------------------------------

    def put(self, objects: Iterable[ApiObject]) -> None:
        """Objects come or change; those of kinds that no session looks at are passed over."""
        for obj in objects:
            kind = _KIND_OF.get(type(obj))
            if kind is not None:
                before = self._facts.get((kind.short, obj.key))
                self._facts[kind.short, obj.key] = obj
                self._tell(kind, obj.key, before, obj)

    def drop(self, kind: Kind, key: str) -> bool:
        """An object goes; False when there is none."""
        before = self._facts.pop((kind.short, key), None)
        if before is not None:
            self._tell(kind, key, before, None)
        return before is not None

    def drop_group(self, key: str) -> bool:
        """A group goes with its pods; False when there is no such group."""
        members = [row.key for row in self._columns.pods.values() if row.group == key]
        for pod in members:
            self.drop(kinds.PODS, pod)
        return self.drop(kinds.PODGROUPS, key)

    def _tell(
        self, kind: Kind, key: str, before: ApiObject | None, after: ApiObject | None
    ) -> None:
        self._columns.apply(Change(kind=kind, key=key, partition=0, before=before, after=after))

    @property
    def problems(self) -> dict[str, str]:
        """What is wrong with which object, by `kind key`."""
        return self._columns.problems

    # -- sessions --------------------------------------------------------------------------------

    def figures(self) -> Figures:
        """Who has which share now."""
        snapshot = self._columns.snapshot("what-if", now=self.now)
        return figures(snapshot, self._conf, self.now)

    def settle(self, *, until: str = "") -> Outcome:
        """Sessions until one changes nothing, or until the group `until` has its minimum bound."""
        placements: dict[str, dict[str, str]] = {}
        victims: list[Victim] = []
        released: list[str] = []
        leaving: tuple[PodRef, ...] = ()
        busy = 0
        for _ in range(SESSIONS_MAX + 1):
            self._gone(leaving)
            decisions = self._session()
            for gang in decisions.binds:
                known = placements.setdefault(gang.group, {})
                known.update({object_key(b.namespace, b.name): b.node for b in gang.binds})
            victims += self._victims(decisions)
            released += [_key(ref) for release in decisions.releases for ref in release.pods]
            leaving = self._lay_over(decisions)
            for group in decisions.enqueued:
                self._make_missing(group)
            if not (decisions.enqueued or decisions.binds or leaving):
                break
            busy += 1
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
        self._sessions += 1
        self.now += SESSION_SECONDS
        snapshot = self._columns.snapshot(f"what-if-{self._sessions}", now=self.now)
        return run_cycle(snapshot, self._conf, self.now)

    def _victims(self, decisions: Decisions) -> list[Victim]:
        found: list[Victim] = []
        for eviction in decisions.evictions:
            for ref in eviction.pods:
                row = self._columns.pods[_key(ref)]
                victim = Victim(
                    pod=row.key, group=row.group, node=row.node, made_for=eviction.group
                )
                found.append(victim)
        return found

    def _lay_over(self, decisions: Decisions) -> tuple[PodRef, ...]:
        """As the shell does; gives the pods that leave."""
        columns, leaving = self._columns, []
        for gang in decisions.binds:
            for bind in gang.binds:
                key = object_key(bind.namespace, bind.name)
                columns.assume(Assumed(key=key, uid=bind.uid, node=bind.node))
            columns.evictions.settled(gang.group)
        for takeover in decisions.takeovers:
            columns.evictions.take_over(takeover, now=self.now)
        for eviction in decisions.evictions:
            for ref in eviction.pods:
                columns.evict(_key(ref), ref.uid)
                leaving.append(ref)
            columns.evictions.nominate(eviction, now=self.now)
        for let_in in decisions.let_in:
            columns.let_in.put(let_in.group, let_in.uid, let_in.claim, now=self.now)
        for change in decisions.statuses:
            key = object_key(change.namespace, change.name)
            columns.note_status(key, change.uid, status=change.status, now=self.now)
        leaving += [ref for release in decisions.releases for ref in release.pods]
        return tuple(leaving)

    def _make_missing(self, group: str) -> None:
        made = [obj for obj in self._make_pods(group) if obj.key not in self._columns.pods]
        self.put(made)

    def _gone(self, leaving: Sequence[PodRef]) -> None:
        for ref in leaving:
            self.drop(kinds.PODS, _key(ref))


def _key(ref: PodRef) -> str:
    return object_key(ref.namespace, ref.name)
