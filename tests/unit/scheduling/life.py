"""A scheduler whose sessions open only as the shell's do: on a relevant change, or at a registered wake-up.

Its decisions come true as facts and overlays, and each write may be refused. When nothing is left that would open a
session, no session before `wake_at` may decide anything; without a wake-up, no later session may.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from tests.unit.scheduling.world import World
from vc.messages.effects import BindPod
from vc.model.api import kinds
from vc.model.api.keys import SELECTED_NODE
from vc.model.api.meta import ApiObject, object_key
from vc.model.api.scheduling import PodGroup, PodGroupStatus
from vc.scheduling.cache.overlays.assumed_binds import AssumedBind
from vc.scheduling.conf.model import Conf
from vc.scheduling.cycle import run_cycle
from vc.scheduling.model.decisions import Decisions, Eviction, PodRef, WaitingPods
from vc.scheduling.model.volume_rows import ClaimChoice
from vc.scheduling.pod_status.effects import condition_patch

GRANULARITY_SECONDS: Final = 1.0
"""Times in objects are whole seconds: a session may be a second early, and must not be late."""

SESSIONS_MAX: Final = 40
"""Until nothing matters any more, at one moment; more is a loop."""

LATER_SECONDS: Final = (0.5, 3.0, 7.0, 20.0, 61.0, 301.0, 700.0, 4000.0)


class Life(World):
    """A world and its sessions. `refuses` is asked with a verb and a name: `bind a-0`, `release ns/a`."""

    def __init__(
        self,
        *objects: ApiObject | Iterable[ApiObject],
        conf: Conf | None = None,
        refuses: Callable[[str], bool] = lambda _: False,
        surplus_delay: str = "0",
    ) -> None:
        self.wanted = True
        self.wake_at: float | None = None
        self._refuses = refuses
        super().__init__(*objects, conf=conf, surplus_delay=surplus_delay)

    def _publish(self, *change: object) -> None:
        super()._publish(*change)  # type: ignore[arg-type]  # passed on as it came
        self.wanted = self.wanted or self.matters

    def run_until_idle(self) -> None:
        """Sessions, until no news is left."""
        for _ in range(SESSIONS_MAX):
            if not self.wanted:
                return
            self.wanted = False
            decisions = self.decide()
            self.wake_at = decisions.wake_at
            assert self.wake_at is None or self.wake_at > self.now, "asks for the past"
            self._carry_out(decisions)
        raise AssertionError("sessions without end at one moment")

    def _carry_out(self, decisions: Decisions) -> None:
        for gang in decisions.binds:
            self.cache.overlays.evictions.nomination_ended(gang.group)
            for bind in gang.binds:
                self._try_bind(bind)
        for enqueued_groups in decisions.enqueued_groups:
            self.cache.overlays.enqueued.put(
                enqueued_groups.group, enqueued_groups.uid, enqueued_groups.claim, now=self.now
            )
        for change in decisions.statuses:
            key = object_key(change.namespace, change.name)
            self.cache.assume_status(key, change.uid, status=change.status, now=self.now)
            known = self._objects["podgroups", key]
            assert isinstance(known, PodGroup)
            self.put(msgspec.structs.replace(known, status=change.status))
            version = self._objects["podgroups", key].metadata.resource_version
            self.cache.status_written(
                key, change.uid, status=change.status, version=version, now=self.now
            )
        for waiting in decisions.waiting:
            self._say_waiting(waiting)
        for release in decisions.releases:
            self._release(release.group, release.pods)
        for takeover in decisions.takeovers:
            self.cache.overlays.evictions.take_over(takeover, now=self.now)
        for eviction in decisions.evictions:
            self._evict(eviction)
        for choice in decisions.claims:
            self._give_claim(choice)
        for lift in decisions.gates:
            for ref in lift.pods:
                self._try_lift(ref)
        for withdrawal in decisions.withdrawals:
            for ref in withdrawal.pods:
                self._nominate(ref.name, "")

    def _evict(self, eviction: Eviction) -> None:
        evictions = self.cache.overlays.evictions
        evictions.nominate(eviction, now=self.now)
        left = [self._try_evict(ref) for ref in eviction.pods]
        for place in eviction.reserved_nodes if any(left) else ():
            self._nominate(place.name, place.node if place.freed else "")
        if not all(left):
            evictions.evictions_refused(eviction.group, now=self.now)
            evictions.victims_not_evicted(eviction.group, some_evicted=any(left), now=self.now)
            self.wanted = True

    def _give_claim(self, choice: ClaimChoice) -> None:
        self.cache.facts.volumes.choose(choice)
        if self._refuses(f"claim {choice.claim}"):
            self.cache.facts.volumes.refused(choice, now=self.now)
            self.wanted = True
            return
        known = self._objects[kinds.CLAIMS.short, choice.claim]
        annotations = {**known.metadata.annotations, SELECTED_NODE: choice.node}
        metadata = msgspec.structs.replace(known.metadata, annotations=annotations)
        self.put(msgspec.structs.replace(known, metadata=metadata))

    def _try_lift(self, ref: PodRef) -> None:
        key = object_key(ref.namespace, ref.name)
        self.cache.remove_gate(key, ref.uid)
        if self._refuses(f"lift {ref.name}"):
            self.cache.remove_gate(key, ref.uid, failed_at=self.now)
            self.wanted = True
        else:
            self._lift_gate(ref.name)

    def _say_waiting(self, waiting: WaitingPods) -> None:
        self.cache.overlays.conditions.put(waiting, now=self.now)
        for ref in waiting.pods:
            if self._refuses(f"condition {ref.name}"):
                self.cache.overlays.conditions.failed(ref.uid, now=self.now)
                self.wanted = True
                continue
            if condition_patch(self.pod(ref.name), waiting.message, now=self.now) is None:
                self.cache.overlays.conditions.drop(
                    ref.uid
                )  # what was refused since is not wanted any more
                continue
            self.say_waiting(ref.name, waiting.message)
            version = self.pod(ref.name).metadata.resource_version
            self.cache.overlays.conditions.written(ref.uid, version)
            self.put(self.pod(ref.name))

    def _try_bind(self, bind: BindPod) -> None:
        key = object_key(bind.namespace, bind.name)
        self.cache.assume(AssumedBind(key=key, uid=bind.uid, node=bind.node))
        if self._refuses(f"bind {bind.name}"):
            self.cache.unassume(key, bind.uid, now=self.now)
            self.wanted = True
        else:
            self._bind(bind)

    def _try_evict(self, ref: PodRef) -> bool:
        key = object_key(ref.namespace, ref.name)
        self.cache.evict(key, ref.uid)
        if self._refuses(f"evict {ref.name}"):
            self.cache.unevict(key, ref.uid, now=self.now)
            return False
        self._begin_to_leave(ref.name)
        return True

    def _release(self, key: str, pods: tuple[PodRef, ...]) -> None:
        if self._refuses(f"release {key}"):
            self.cache.overlays.evictions.release_refused(key, now=self.now)
            self.wanted = True
            return
        for ref in pods:
            self.delete(kinds.PODS, object_key(ref.namespace, ref.name))

    def rest(self, *, wakes: int = 0) -> None:
        """Sessions until no news is left; then, so many times, the next session that was asked for. None is
        missing in between."""
        self.run_until_idle()
        self.nothing_is_missed()
        for _ in range(wakes):
            if self.wake_at is None:
                return
            self.now, self.wanted = self.wake_at, True
            self.run_until_idle()
            self.nothing_is_missed()

    def nothing_is_missed(self) -> None:
        """Until the session that was asked for nothing is to be decided."""
        times = [self.now + later for later in LATER_SECONDS]
        if self.wake_at is not None:
            last = self.wake_at - GRANULARITY_SECONDS
            times = [*(at for at in times if at < last), *([last] if last > self.now else ())]
        for at in times:
            self.nothing_before(at)

    def nothing_before(self, at: float) -> None:
        """No session at that time decides anything: it would have had to be asked for."""
        snapshot = self.cache.snapshot("session-0", now=at)
        decided = run_cycle(snapshot, self.conf, at)
        for what in ACTS:
            assert not getattr(decided, what), f"{what} {at - self.now} s later, and not asked for"
        for change in decided.statuses:
            known = snapshot.all_groups[object_key(change.namespace, change.name)].status
            assert kinds_of(change.status) == kinds_of(known), f"a status {at - self.now} s later"


ACTS: Final = (
    "enqueued", "binds", "releases", "evictions", "withdrawals", "takeovers", "claims", "gates",
    "waiting",
)  # fmt: skip


def kinds_of(status: PodGroupStatus) -> list[object]:
    """What a status says, without numbers: those may be of the middle of the session that wrote them."""
    return [status.phase, *((c.type, c.status, c.reason) for c in status.conditions)]
