"""The proof for one world: what is proposed for each waiting job starts it, or nothing single does.

The search simulates with `what_if.Trial`. Here its finding is applied to a `World`, which makes decisions
come true in another way (statuses and bindings as facts, invariants after every session, other times
between sessions), and the job's minimum must be bound in the end.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from tests.proofs.remedies.brute_force import single_remedies
from tests.proofs.remedies.worlds import random_world
from tests.proofs.runner import Outcome
from tests.unit.scheduling.world import World
from vc.messages.sessions import JobReason, Unblock
from vc.model.api.meta import ApiObject
from vc.model.api.scheduling import PodGroup
from vc.scheduling.conf.model import Conf
from vc.scheduling.explain.apply_remedy import apply_remedy
from vc.scheduling.explain.candidates import Candidates
from vc.scheduling.explain.cluster_objects import CannotApplyError
from vc.scheduling.explain.remedy_search import RemedySearch
from vc.scheduling.explain.simulation import Simulated, Snapshot, simulate

SESSIONS_MAX: Final = 40
SESSION_SECONDS: Final = 11.0
"""More than the cooldown between two rounds of evictions for one job."""
STARTS_ANYWAY: Final = "none needed"
NONE_KNOWN: Final = "none known"
OUT_OF_BUDGET: Final = "search came to its bound"
RESTLESS: Final = "cluster does not come to rest"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """About one waiting job."""

    seed: int
    group: str
    stage: str
    kind: str
    """The remedy's actions, or why there is none."""
    wrong: str = ""
    """What is not true; empty when all is."""
    simulations: int = 0
    proposed_at_once: bool = False
    """Whether what the session itself proposed would have done, too."""


def prove(seed: int) -> list[Verdict]:
    """All jobs that wait in the world of this seed."""
    drawn = random_world(seed)
    world = World(*drawn.objects, conf=drawn.conf)
    waiting = _settle(world)
    if waiting is None:
        return []
    snapshot = Snapshot(objects=world.objects(), conf=world.conf, now=world.now)
    unchanged = simulate(snapshot)
    jobs = sorted(waiting.values(), key=lambda found: found.group)
    return [_judge(seed, snapshot, job, unchanged) for job in jobs]


def prove_world(seed: int) -> Outcome:
    """The verdicts about the jobs of one world, counted."""
    return counted(prove(seed))


def counted(verdicts: Sequence[Verdict]) -> Outcome:
    """Jobs and simulations; in detail which remedies, and at which stages the jobs waited."""
    details: dict[str, int] = {}
    for verdict in verdicts:
        for name in (f"remedy: {verdict.kind}", f"waited at stage: {verdict.stage}"):
            details[name] = details.get(name, 0) + 1
    return Outcome(
        counts={
            "waiting jobs": len(verdicts),
            "simulations": sum(verdict.simulations for verdict in verdicts),
            "own proposals of the session": sum(v.proposed_at_once for v in verdicts),
        },
        details=details,
        failures=tuple(
            f"{verdict.group} {verdict.kind}: {verdict.wrong}"
            for verdict in verdicts
            if verdict.wrong
        ),
    )


def _judge(seed: int, snapshot: Snapshot, job: JobReason, unchanged: Simulated) -> Verdict:
    finding = RemedySearch(snapshot, job.group, unchanged=unchanged).find()
    wrong = ""
    if finding.remedy is not None:
        kind = " + ".join(sorted({part.action for part in _parts(finding.remedy)}))
        wrong = _fails(snapshot, job.group, finding.remedy)
    elif finding.starts_anyway:
        kind, wrong = STARTS_ANYWAY, _fails(snapshot, job.group, None)
    elif not finding.exhausted:
        kind, wrong = OUT_OF_BUDGET, "the search gave up"
    else:
        kind = NONE_KNOWN
        wrong = "; ".join(
            (*_single_remedies(snapshot, job.group), *_brute_force(snapshot, job.group))
        )
    return Verdict(
        seed=seed,
        group=job.group,
        stage=job.reason.stage.value,
        kind=kind,
        wrong=wrong,
        simulations=finding.simulations,
        proposed_at_once=finding.remedy is not None and finding.remedy == job.reason.unblock,
    )


def _parts(remedy: Unblock) -> list[Unblock]:
    return [remedy, *remedy.also]


def _fails(snapshot: Snapshot, group: str, remedy: Unblock | None) -> str:
    """Why the job does not start with the remedy; empty when it does."""
    world = _world(snapshot.objects, snapshot.conf, snapshot.now)
    if remedy is not None:
        try:
            apply_remedy(world, remedy, group)
        except CannotApplyError as error:
            return str(error)
    name = group.partition("/")[2]
    waiting: Mapping[str, JobReason] | None = None
    for _ in range(2):
        waiting = _settle(world, until=name)
        if world.bound(name) >= world.group(name).spec.min_member > 0:
            return ""
        world.now += 31.0
    if waiting is None:
        return RESTLESS
    found = waiting.get(group)
    return f"still waits: {found.reason.sentence if found is not None else 'without a reason'}"


def _single_remedies(snapshot: Snapshot, group: str) -> Iterator[str]:
    """Single remedies that do start it: there must be none where none is known."""
    found = (o for o in snapshot.objects if isinstance(o, PodGroup) and o.key == group)
    for kind in Candidates(snapshot, next(found)).kinds():
        for candidate in kind():
            if not _fails(snapshot, group, candidate):
                yield f"{candidate.action} starts it"
                return


def _brute_force(snapshot: Snapshot, group: str) -> Iterator[str]:
    """The same, with remedies that the search does not know of."""
    name = group.partition("/")[2]
    known = _world(snapshot.objects, snapshot.conf, snapshot.now)
    for what, change in single_remedies(known, known.group(name)):
        world = _world(snapshot.objects, snapshot.conf, snapshot.now)
        change(world)
        _settle(world, until=name)
        if world.bound(name) >= world.group(name).spec.min_member > 0:
            yield f"{what} starts it"


def _world(objects: list[ApiObject], conf: Conf, now: float) -> World:
    world = World(*objects, conf=conf)
    world.cache.forget_absent()
    world.now = now
    return world


def _settle(world: World, *, until: str = "") -> dict[str, JobReason] | None:
    """Sessions until one changes nothing, or the job `until` has its minimum: who waits then; None when
    the cluster does not come to rest."""
    for _ in range(SESSIONS_MAX):
        decisions = world.session()
        world.leave()
        world.now += SESSION_SECONDS
        if until and world.bound(until) >= world.group(until).spec.min_member > 0:
            return {job.group: job for job in decisions.reasons}
        acted = decisions.enqueued or decisions.binds or decisions.evictions or decisions.releases
        if not (acted or decisions.takeovers):
            return {job.group: job for job in decisions.reasons}
    return None
