"""Every scenario ends as its table says; every reason is true, and its remedy starts the job."""

import msgspec
import pytest

from tests.unit.scheduling.scenarios import gangs, nodes, queues, refusals
from tests.unit.scheduling.scenarios.counting import Count
from tests.unit.scheduling.scenarios.scenario import (
    Played,
    Scenario,
    Wait,
    job_of,
    play,
    run_until_stable,
)
from tests.unit.scheduling.scenarios.unblocking import ACTIONS, unblock
from vc.messages.sessions import JobReason, Stage
from vc.model.api.kinds import Kind
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Toleration
from vc.scheduling.cache.cluster_cache import KINDS
from vc.scheduling.session import reasons
from vc.scheduling.what_if import Outcome, Simulation

TABLE = [*gangs.TABLE, *queues.TABLE, *nodes.TABLE, *refusals.TABLE]
WAITING = [(scenario, job) for scenario in TABLE for job in scenario.waits]
MANY = pytest.mark.parametrize("scenario", TABLE, ids=[scenario.id for scenario in TABLE])
EACH_WAIT = pytest.mark.parametrize(
    ("scenario", "job"), WAITING, ids=[f"{scenario.id}: {job}" for scenario, job in WAITING]
)


@MANY
def test_it_ends_as_the_table_says(scenario: Scenario) -> None:
    played = play(scenario)
    world = played.world
    assert " ".join(played.evicted) == scenario.evicted
    running = [pod for pod in world.pods() if pod.spec.node_name and job_of(pod)]
    jobs = {job_of(pod): None for pod in running}
    if scenario.shares:
        in_queues = [world.group(job_of(pod)).spec.queue for pod in running]
        assert {name: in_queues.count(name) for name in in_queues} == scenario.shares
    else:
        assert {job: world.bound(job) for job in jobs} == scenario.runs
        assert sorted(played.waiting) == sorted(scenario.waits)
    for job, where in scenario.on.items():
        assert " ".join(sorted(p.spec.node_name for p in running if job_of(p) == job)) == where
    for job, wait in scenario.waits.items():
        _says(played.waiting[job], wait)


def _says(job: JobReason, wait: Wait) -> None:
    reason = job.reason
    assert reason.unblock is not None
    assert (reason.stage.value, reason.code, reason.unblock.action) == (
        wait.stage,
        wait.code,
        wait.unblock,
    )
    assert wait.says in reason.sentence


@EACH_WAIT
def test_its_numbers_are_those_of_the_objects(scenario: Scenario, job: str) -> None:
    played = play(scenario)
    Count(played, played.waiting[job]).check(scenario.waits[job])


@EACH_WAIT
def test_what_would_unblock_it_does(scenario: Scenario, job: str) -> None:
    played, wait = play(scenario), scenario.waits[job]
    waiting, world = played.waiting, played.world
    for stage in (wait.stage, *wait.then):
        assert waiting[job].reason.stage.value == stage, waiting[job].reason.sentence
        unblock(world, waiting[job], wait, {found.group: found for found in waiting.values()})
        last, _ = run_until_stable(world, scenario)
        waiting = Played(world, last, ()).waiting
    assert job not in waiting, waiting[job].reason.sentence
    least = world.group(job).spec.min_member
    assert world.bound(job) >= least > 0


class _TrialGround:
    """What `vcctl simulate` tries things on, with the objects it was given."""

    def __init__(self, played: Played) -> None:
        self._objects = {(type(obj), obj.key): obj for obj in played.world.objects()}
        self._simulation = Simulation(
            played.world.objects(), played.world.conf, now=played.world.now
        )
        self.placed: dict[str, int] = {}

    @property
    def now(self) -> float:
        return self._simulation.now

    @now.setter
    def now(self, value: float) -> None:
        self._simulation.now = value

    def objects(self) -> list[ApiObject]:
        return list(self._objects.values())

    def put(self, *objects: ApiObject) -> None:
        self._objects |= {(type(obj), obj.key): obj for obj in objects}
        self._simulation.put(objects)

    def delete(self, kind: Kind, key: str) -> None:
        (made,) = [known.type for known in KINDS if known is kind]
        del self._objects[made, key]
        assert self._simulation.drop(kind, key)

    def run_sessions(self) -> Outcome:
        outcome = self._simulation.run_sessions()
        for group, pods in outcome.placements.items():
            self.placed[group] = self.placed.get(group, 0) + len(pods)
        return outcome


@EACH_WAIT
def test_a_simulation_with_what_would_unblock_it_places_it(scenario: Scenario, job: str) -> None:
    played, wait = play(scenario), scenario.waits[job]
    waiting = played.waiting[job]
    ground = _TrialGround(played)
    found = ground.run_sessions().reasons
    if scenario.not_bound:  # only the scheduler itself knows of a bind that failed
        assert ground.placed[waiting.group] > 0
        return
    assert found[waiting.group].reason == waiting.reason, "a simulation says the same"
    for _ in (wait.stage, *wait.then):
        unblock(ground, found[waiting.group], wait, found)
        found = ground.run_sessions().reasons
    assert waiting.group not in found, found[waiting.group].reason.sentence
    bound = played.world.bound(job) + ground.placed[waiting.group]
    assert bound >= played.world.group(job).spec.min_member


@pytest.mark.parametrize(
    "scenario", [s for s in nodes.TABLE if "taint" in s.id and s.waits], ids=lambda s: str(s.id)
)
def test_a_job_that_tolerates_the_taints_of_its_remedy_runs(scenario: Scenario) -> None:
    played = play(scenario)
    remedy = played.waiting["g"].reason.unblock
    assert remedy is not None
    assert remedy.where is not None
    tolerations = []
    for taint in remedy.where.taints:
        pair, _, effect = taint.partition(":")
        key, _, value = pair.partition("=")
        tolerations.append(Toleration(key=key, value=value, effect=effect))
    for pod in played.world.pods():
        spec = msgspec.structs.replace(pod.spec, tolerations=tolerations)
        played.world.put(msgspec.structs.replace(pod, spec=spec))
    run_until_stable(played.world, scenario)
    assert played.world.bound("g") == 1


def test_there_is_a_scenario_for_every_stage_code_and_proposal() -> None:
    waits = [wait for scenario in TABLE for wait in scenario.waits.values()]
    assert len(TABLE) >= 40
    assert {wait.stage for wait in waits} == {stage.value for stage in Stage}
    codes = {
        value
        for name, value in vars(reasons).items()
        if name.isupper() and not name.startswith("_") and value is not False
    }
    assert {wait.code for wait in waits} == codes
    assert {wait.unblock for wait in waits} == ACTIONS
