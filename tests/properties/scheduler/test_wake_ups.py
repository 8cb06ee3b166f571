"""A session that waits for time always names it.

Random clusters live as under the shell: a session opens when a change matters or when the last one asked to
be woken, its decisions come true as facts and notes, and evictions and binds may be refused. When nothing
is left that would open a session, none at any time before `wake_at` may decide anything; and when there is
no such time, none at any time at all.
"""

from collections.abc import Callable
from typing import Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.scheduler.test_evictions import PHASES, PRIORITIES
from tests.unit.scheduler.objects import EPOCH, group, node, pod, priority_class, queue
from tests.unit.scheduler.world import World
from vc_messages.effects import BindPod
from vc_model import kinds
from vc_model.keys import SLA_WAITING_TIME
from vc_model.meta import ApiObject, object_key
from vc_model.scheduling import PodGroup, PodGroupStatus
from vc_model.struct import ResourceList
from vc_scheduler.logic.cache.assumed import Assumed
from vc_scheduler.logic.conf import Conf, PluginConf
from vc_scheduler.logic.cycle import run_cycle
from vc_scheduler.logic.decisions import Decisions, PodRef, WaitingPods

GRANULARITY_SECONDS: Final = 1.0
"""Times in objects are whole seconds: a session may be a second early, and must not be late."""

SESSIONS_MAX: Final = 40
"""Until nothing matters any more, at one moment; more is a loop."""

LATER_SECONDS: Final = (0.5, 3.0, 7.0, 20.0, 61.0, 301.0, 700.0, 4000.0)
MINIMUMS: Final[list[ResourceList | None]] = [None, {"cpu": "2"}, {"cpu": "9"}]


class Life(World):
    """A world whose sessions open only as the shell's do."""

    def __init__(self, *objects: ApiObject, conf: Conf, draw: Callable[[], bool]) -> None:
        self.wanted = True
        self.wake_at: float | None = None
        self._refuses = draw
        super().__init__(*objects, conf=conf)

    def _tell(self, *change: object) -> None:
        super()._tell(*change)  # type: ignore[arg-type]  # passed on as it came
        self.wanted = self.wanted or self.matters

    def settle(self) -> None:
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
            self.columns.evictions.settled(gang.group)
            for bind in gang.binds:
                self._try_bind(bind)
        for change in decisions.statuses:
            key = object_key(change.namespace, change.name)
            self.columns.note_status(key, change.uid, status=change.status, now=self.now)
            known = self._objects["podgroups", key]
            assert isinstance(known, PodGroup)
            self.put(msgspec.structs.replace(known, status=change.status))
            version = self._objects["podgroups", key].metadata.resource_version
            self.columns.status_written(
                key, change.uid, status=change.status, version=version, now=self.now
            )
        for waiting in decisions.waiting:
            self._say_waiting(waiting)
        for release in decisions.releases:
            self._release(release.group, release.pods)
        for takeover in decisions.takeovers:
            self.columns.evictions.take_over(takeover, now=self.now)
        for eviction in decisions.evictions:
            self.columns.evictions.nominate(eviction, now=self.now)
            left = [self._try_evict(ref) for ref in eviction.pods]
            for place in eviction.places if any(left) else ():
                self._nominate(place.name, place.node if place.freed else "")
            if not all(left):
                self.columns.evictions.evictions_refused(eviction.group, now=self.now)
                self.columns.evictions.victims_stay(
                    eviction.group, some_left=any(left), now=self.now
                )
                self.wanted = True
        for withdrawal in decisions.withdrawals:
            for ref in withdrawal.pods:
                self._nominate(ref.name, "")

    def _say_waiting(self, waiting: WaitingPods) -> None:
        self.columns.conditions.put(waiting, now=self.now)
        for ref in waiting.pods:
            if self._refuses():
                self.columns.conditions.failed(ref.uid, now=self.now)
                self.wanted = True
                continue
            self.say_waiting(ref.name, waiting.message)
            version = self.pod(ref.name).metadata.resource_version
            self.columns.conditions.written(ref.uid, version)
            self.put(self.pod(ref.name))

    def _try_bind(self, bind: BindPod) -> None:
        key = object_key(bind.namespace, bind.name)
        self.columns.assume(Assumed(key=key, uid=bind.uid, node=bind.node))
        if self._refuses():
            self.columns.unassume(key, bind.uid, now=self.now)
            self.wanted = True
        else:
            self._bind(bind)

    def _try_evict(self, ref: PodRef) -> bool:
        key = object_key(ref.namespace, ref.name)
        self.columns.evict(key, ref.uid)
        if self._refuses():
            self.columns.unevict(key, ref.uid, now=self.now)
            return False
        self._begin_to_leave(ref.name)
        return True

    def _release(self, key: str, pods: tuple[PodRef, ...]) -> None:
        if self._refuses():
            self.columns.evictions.release_refused(key, now=self.now)
            self.wanted = True
            return
        for ref in pods:
            self.delete(kinds.PODS, object_key(ref.namespace, ref.name))

    def nothing_before(self, at: float) -> None:
        """No session at that time decides anything: it would have had to be asked for."""
        decided = run_cycle(self.columns.snapshot("session-0", now=at), self.conf, at)
        for what in ACTS:
            assert not getattr(decided, what), f"{what} {at - self.now} s later, and not asked for"
        for change in decided.statuses:
            known = self.columns.snapshot("session-0", now=at).everybody[f"ns/{change.name}"].status
            assert kinds_of(change.status) == kinds_of(known), f"a status {at - self.now} s later"


ACTS: Final = (
    "enqueued", "binds", "releases", "evictions", "withdrawals", "takeovers", "claims",
    "waiting",
)  # fmt: skip


def kinds_of(status: PodGroupStatus) -> list[object]:
    """What a status says, without numbers: those may be of the middle of the session that wrote them."""
    return [status.phase, *((c.type, c.status, c.reason) for c in status.conditions)]


@st.composite
def a_job(draw: st.DrawFn, name: str, classes: tuple[str, ...]) -> list[ApiObject]:
    count = draw(st.integers(1, 3))
    cpu = str(draw(st.integers(1, 5)))
    made = draw(st.sampled_from([count] * 6 + [0, 1]))
    born = EPOCH + draw(st.integers(0, 3))
    members: list[ApiObject] = [
        pod(f"{name}-{n}", group=name, requests={"cpu": cpu}, created=born) for n in range(made)
    ]
    head = group(
        name,
        minimum=draw(st.integers(1, count)),
        phase=draw(st.sampled_from(["", "Inqueue", "Inqueue", "Inqueue"])),
        priority_class=draw(st.sampled_from(classes)),
        min_resources=draw(st.sampled_from(MINIMUMS)),
        age=draw(st.integers(0, 3)),
    )
    patience = draw(st.sampled_from(["", "", "5s", "10m"]))
    if patience:
        annotations = {SLA_WAITING_TIME: patience}
        metadata = msgspec.structs.replace(head.metadata, annotations=annotations)
        head = msgspec.structs.replace(head, metadata=metadata)
    return [head, *members]


def a_conf(data: st.DataObject) -> Conf:
    first, second = Conf().tiers
    if data.draw(st.booleans()):
        first = (PluginConf(name="sla"), *first)
    return Conf(tiers=(first, second))


@settings(max_examples=150, deadline=None, phases=PHASES)
@given(data=st.data())
def test_nothing_is_decided_before_the_time_a_session_asked_for(data: st.DataObject) -> None:
    often = data.draw(st.sampled_from([0, 1, 3]))
    life = Life(
        *[priority_class(name, value) for name, value in PRIORITIES.items() if name],
        queue(),
        *[node(f"n{n}", cpu=cpu) for n, cpu in enumerate(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))],
        conf=a_conf(data),
        draw=lambda: often > 0 and data.draw(st.integers(0, 3)) < often,
    )  # fmt: skip
    for turn in range(data.draw(st.integers(1, 4))):
        classes = ("high", "high", "middle", "") if turn else ("low", "")
        for number in range(data.draw(st.integers(1, 2))):
            life.put(*data.draw(a_job(f"j{turn}{number}", classes)))
        if data.draw(st.booleans()):
            life.leave()
        life.settle()
        for later in LATER_SECONDS:
            at = life.now + later
            if life.wake_at is None or at < life.wake_at - GRANULARITY_SECONDS:
                life.nothing_before(at)
        wakes = data.draw(st.integers(0, 3))
        while wakes and life.wake_at is not None:
            life.now, life.wanted = life.wake_at, True
            life.settle()
            wakes -= 1
