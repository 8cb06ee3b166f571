"""Totals of the ledger equal a brute-force integration, whatever happens to who keeps it.

A history is a list of pods (bound, finished or deleted at given seconds) and of accidents: the leader
dies and a cold or warm successor takes over, the bus is wiped and read again from its beginning, the
cache is flushed, facts come twice and old ones again. The store is what the shell writes: entries of
closed hours and accounts of gone pods in the API, all accounts in the cache.
"""

from dataclasses import dataclass, field

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vc.messages.usage import HOUR_SECONDS, UsageKey
from vc.model.api.keys import GROUP_NAME, JOB_NAME, QUEUE_NAME
from vc.model.api.kinds import JOBS
from vc.model.api.meta import ObjectMeta, OwnerReference
from vc.model.api.pod import (
    Container,
    ContainerState,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    TerminatedState,
)
from vc.model.values.resources import Resources
from vc.model.values.times import format_time
from vc.usage_ledger.logic.documents import (
    pack_hour,
    pack_parts,
    pack_state,
    unpack_hour,
    unpack_state,
)
from vc.usage_ledger.logic.ledger import UsageLedger
from vc.usage_ledger.logic.rows import Rows, rows_of_hour

EPOCH = 1_800_000_000 // HOUR_SECONDS * HOUR_SECONDS
LENGTH = 4 * HOUR_SECONDS
STEP = 300
"""Between two looks of the keeper, far apart so that examples stay small."""
SETTLED = LENGTH + HOUR_SECONDS + 600


@dataclass(frozen=True)
class Life:
    """A pod's life, in seconds since EPOCH."""

    number: int
    bound: int
    lasts: int
    finishes: bool
    """Says when it ended; else it is deleted while it runs."""
    gone_after: int
    """Seconds from its end to its deletion."""
    cpu: int
    gpu: int
    job: int

    @property
    def end(self) -> int:
        return self.bound + self.lasts

    @property
    def deleted(self) -> int:
        return self.end + (self.gone_after if self.finishes else 0)

    @property
    def key(self) -> UsageKey:
        return UsageKey(f"q{self.job % 2}", "ns", f"job{self.job}")

    def fact(self, at: int) -> Pod | None:
        """What the API server says of it at that second; None when there is no such pod."""
        if not self.bound <= at < self.deleted:
            return None
        return _pod(self, finished=self.finishes and at >= self.end)


def _pod(life: Life, *, finished: bool) -> Pod:
    ended = TerminatedState(finished_at=format_time(EPOCH + life.end))
    return Pod(
        metadata=ObjectMeta(
            name=f"p{life.number}",
            namespace="ns",
            uid=f"uid-{life.number}",
            labels={JOB_NAME: "forged", QUEUE_NAME: "forged"},
            annotations={GROUP_NAME: life.key.job},
            owner_references=[
                OwnerReference(
                    api_version=JOBS.api_version,
                    kind=JOBS.kind,
                    name=life.key.job,
                    uid=f"uid-of-{life.key.job}",
                    controller=True,
                )
            ],
        ),
        spec=PodSpec(
            node_name="n",
            containers=[
                Container(
                    resources=ResourceRequirements(
                        requests={"cpu": life.cpu, "nvidia.com/gpu": life.gpu}
                    )
                )
            ],
        ),
        status=PodStatus(
            phase="Succeeded" if finished else "Running",
            conditions=[
                PodCondition(
                    type="PodScheduled",
                    status="True",
                    last_transition_time=format_time(EPOCH + life.bound),
                )
            ],
            container_statuses=[ContainerStatus(state=ContainerState(terminated=ended))]
            if finished
            else [],
        ),
    )


class Accident(msgspec.Struct, frozen=True):
    """Something goes wrong in one step."""

    kind: str
    at: int


KINDS = ("successor", "wipe", "flush", "twice", "replay")


@dataclass
class Keeper:
    """The shell's order of things, without the shell."""

    lives: list[Life]
    days: dict[int, bytes] = field(default_factory=dict)
    kept: list[bytes] = field(default_factory=list)
    cache: bytes | None = None
    ledger: UsageLedger = field(default_factory=lambda: UsageLedger(scheduler_names=("volcano",)))
    published: dict[str, Pod] = field(default_factory=dict)
    log: list[tuple[str, Pod | None]] = field(default_factory=list)
    """Every fact that was ever on the bus since it was wiped."""

    def follow(self, at: int) -> None:
        """Facts between two steps come as they happen; the view is looked at all the time."""
        moments = {m for life in self.lives for m in (life.bound, life.end, life.deleted)}
        for second in sorted(m for m in moments if at - STEP < m <= at):
            self.ledger.view_is_complete(now=EPOCH + second - 1)
            for life in self.lives:
                if second in (life.bound, life.end, life.deleted):
                    self._publish(life, second)
        self.ledger.view_is_complete(now=EPOCH + at)

    def _publish(self, life: Life, second: int) -> None:
        pod, uid = life.fact(second), f"uid-{life.number}"
        known = self.published.get(uid)
        if pod is None and known is not None:
            del self.published[uid]
            self.log.append((uid, None))
            self.ledger.observe_deleted(uid, now=EPOCH + second)
        elif pod is not None and pod != known:
            self.published[uid] = pod
            self.log.append((uid, pod))
            self.see(pod, now=EPOCH + second)

    def see(self, pod: Pod, *, now: float) -> None:
        """A pod whose group is known."""
        self.ledger.observe(pod, now=now)
        uid = pod.metadata.uid
        if uid in self.ledger.accounts:
            life = self.lives[int(uid.removeprefix("uid-"))]
            self.ledger.name_queue(uid, life.key.queue)

    def read_again(self, at: int, *, from_log: bool) -> None:
        """A view that is rebuilt: from the whole log, or from the facts that hold now."""
        self.ledger.begin_rebuild()
        facts = self.log if from_log else [(uid, pod) for uid, pod in self.published.items()]
        for uid, pod in facts:
            if pod is None:
                self.ledger.observe_deleted(uid, now=EPOCH + at)
            else:
                self.see(pod, now=EPOCH + at)
        self.ledger.view_is_complete(now=EPOCH + at)

    def lead(self, at: int) -> None:
        """Begin to lead: join what was kept."""
        for packed in ([self.cache] if self.cache else []) + self.kept:
            self.ledger.adopt(unpack_state(packed))
        if self.days:
            self.ledger.close_until(max(self.days) + HOUR_SECONDS)
        self.ledger.start_if_new(now=EPOCH + at)

    def keep(self, at: int) -> None:
        """A period."""
        now = EPOCH + at
        while (hour := self.ledger.closable(now=now)) is not None:
            rows = rows_of_hour(self.ledger.accounts.values(), hour=hour, now=now)
            self.days.setdefault(hour, pack_hour(rows, jobs_max=1000)[1])
            self.ledger.close_until(hour + HOUR_SECONDS)
        self.kept, left_out = pack_parts(self.ledger.state(gone_only=True), accounts_per_part=3)
        assert left_out == 0
        self.cache = pack_state(self.ledger.state())

    def suffer(self, accident: Accident, at: int) -> None:
        match accident.kind:
            case "successor":
                self.ledger = UsageLedger(scheduler_names=("volcano",))
                self.read_again(at, from_log=True)
                self.lead(at)
            case "wipe":
                self.log = [(uid, pod) for uid, pod in self.published.items()]
                self.read_again(at, from_log=False)
            case "flush":
                self.cache = None
            case "twice":
                for pod in self.published.values():
                    self.see(pod, now=EPOCH + at)
            case "replay":
                self.read_again(at, from_log=True)

    def totals(self) -> Rows:
        total: Rows = {}
        for packed in self.days.values():
            _add(total, unpack_hour(packed))
        return total


def _add(total: Rows, rows: Rows) -> None:
    for key, held in rows.items():
        total.setdefault(key, Resources()).add(held)


def brute_force(lives: list[Life], until: int) -> Rows:
    """Every pod, every second."""
    total: Rows = {}
    for life in lives:
        seconds = sum(1 for second in range(until) if life.bound <= second < life.end)
        held = Resources(
            {"cpu": life.cpu * 1000 * seconds, "nvidia.com/gpu": life.gpu * 1000 * seconds}
        )
        if seconds:
            _add(total, {life.key: held})
    return total


LIVES = st.lists(
    st.builds(
        Life,
        number=st.just(0),
        bound=st.integers(1, LENGTH - 1),
        lasts=st.integers(1, 2 * HOUR_SECONDS),
        finishes=st.booleans(),
        gone_after=st.integers(1, 2 * HOUR_SECONDS),
        cpu=st.integers(1, 4),
        gpu=st.integers(0, 8),
        job=st.integers(0, 3),
    ),
    max_size=8,
).map(lambda lives: [_numbered(life, n) for n, life in enumerate(lives)])


def _numbered(life: Life, number: int) -> Life:
    return Life(**{**life.__dict__, "number": number})


ACCIDENTS = st.lists(
    st.builds(Accident, st.sampled_from(KINDS), st.integers(1, SETTLED // STEP)), max_size=10
)


@settings(max_examples=60, deadline=None)
@given(lives=LIVES, accidents=ACCIDENTS)
@example(
    lives=[Life(number=0, bound=1, lasts=1, finishes=True, gone_after=3899, cpu=1, gpu=0, job=0)],
    accidents=[Accident("replay", 13)],
)
def test_totals_are_those_of_a_brute_force_integration(
    lives: list[Life], accidents: list[Accident]
) -> None:
    keeper = Keeper(lives)
    keeper.read_again(0, from_log=False)
    keeper.lead(0)
    for step in range(1, SETTLED // STEP + 1):
        at = step * STEP
        keeper.follow(at)
        keeper.keep(at)
        for accident in accidents:
            if accident.at == step:
                keeper.suffer(accident, at)
    closed = max(keeper.days) + HOUR_SECONDS - EPOCH
    assert closed >= LENGTH
    assert keeper.totals() == brute_force(lives, closed)


@settings(max_examples=60, deadline=None)
@given(lives=LIVES, away=st.tuples(st.integers(1, 40), st.integers(1, 20)), flushed=st.booleans())
def test_what_happens_while_no_replica_observes_is_never_charged_too_much(
    lives: list[Life], away: tuple[int, int], flushed: bool
) -> None:
    """Pods that are still there afterwards, or went before, are charged exactly; others at most."""
    keeper = Keeper(lives)
    keeper.read_again(0, from_log=False)
    keeper.lead(0)
    begin, end = away[0], away[0] + away[1]
    for step in range(1, SETTLED // STEP + 1):
        at = step * STEP
        if begin <= step < end:
            continue
        if step == end:
            keeper.ledger = UsageLedger(scheduler_names=("volcano",))
            keeper.cache = None if flushed else keeper.cache
            keeper.published = {
                f"uid-{life.number}": pod for life in lives if (pod := life.fact(at)) is not None
            }
            keeper.log = list(keeper.published.items())
            keeper.read_again(at, from_log=False)
            keeper.lead(at)
        else:
            keeper.follow(at)
        keeper.keep(at)
    closed = max(keeper.days) + HOUR_SECONDS - EPOCH
    truth, kept = brute_force(lives, closed), keeper.totals()
    seen = [life for life in lives if not (begin - 1) * STEP < life.deleted <= end * STEP]
    surely = brute_force(seen, closed)
    for key, held in truth.items():
        for resource, units in held.items():
            charged = kept.get(key, Resources())[resource]
            assert surely.get(key, Resources())[resource] <= charged <= units
    assert set(kept) <= set(truth)
